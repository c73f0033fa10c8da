//! What a page marks up as navigation or aside and is mostly links, and the footer of the page:
//! they are left out before the features are computed, so that they change nothing about the rest.

use trawl_sdk::Tag;

use crate::blocks::{FAR, Mark, Page, Region};
use crate::lexicon::Hint;
use crate::stats::Stats;

/// Removes the margins of a page with other text: their blocks, their regions and their nodes.
pub(crate) fn remove(page: &mut Page<'_>) {
    let is_margin = margins(page);
    let is_left = |region: u32| !is_margin[region as usize];
    if page.blocks.iter().any(|block| is_left(block.region)) {
        let places = remove_regions(page, &is_margin);
        remove_blocks(page, &places);
    }
}

/// For each region whether it is a margin, or inside one.
fn margins(page: &Page<'_>) -> Vec<bool> {
    let mut texts = vec![Stats::default(); page.regions.len()];
    for block in &page.blocks {
        texts[block.region as usize].add(&block.stats);
    }
    for at in (1..page.regions.len()).rev() {
        let inner = texts[at];
        texts[page.regions[at].parent as usize].add(&inner);
    }
    let mut is_margin: Vec<bool> = Vec::with_capacity(page.regions.len());
    for (region, text) in page.regions.iter().zip(&texts) {
        let is_inside = is_margin.get(region.parent as usize).copied();
        let is_own = is_margin_of(region, text, &texts[0]);
        is_margin.push(is_inside.unwrap_or(false) || is_own);
    }
    is_margin
}

/// Smallest share of links in the text of a margin.
const LINK_SHARE_MIN: f32 = 0.5;
/// Largest share of a page's text in a footer with less links.
const FOOTER_SHARE_MAX: f32 = 0.5;

/// Whether a region with this text is a margin. Of the text in such regions less than a hundredth
/// is main content.
fn is_margin_of(region: &Region, text: &Stats, page: &Stats) -> bool {
    let has = |hint: Hint| region.tag != Tag::Menu && region.has(hint);
    let is_in = |hint: Hint| region.near[hint as usize] < FAR;
    let is_in_part = is_in(Hint::Article) || is_in(Hint::Main) || is_in(Hint::Section);
    let is_footer = has(Hint::Footer) && !is_in_part;
    let has_links = text.link_share() >= LINK_SHARE_MIN;
    has_links && (has(Hint::Nav) || has(Hint::Aside) || is_footer)
        || is_footer && text.units <= page.units * FOOTER_SHARE_MAX
}

/// Removes the regions of the margins. For each region of before its place, if it is left.
fn remove_regions(page: &mut Page<'_>, is_margin: &[bool]) -> Vec<Option<u32>> {
    let mut places: Vec<Option<u32>> = Vec::with_capacity(is_margin.len());
    let mut regions: Vec<Region> = Vec::with_capacity(is_margin.len());
    for (mut region, &is_margin) in page.regions.drain(..).zip(is_margin) {
        if is_margin {
            places.push(None);
            continue;
        }
        region.n_children = 0;
        if let Some(&Some(parent)) = places.get(region.parent as usize) {
            let around = &mut regions[parent as usize];
            (region.parent, region.index) = (parent, around.n_children);
            around.n_children += 1;
        }
        places.push(Some(regions.len() as u32));
        regions.push(region);
    }
    page.regions = regions;
    places
}

/// Removes the blocks of removed regions, and gives the rest their places.
fn remove_blocks(page: &mut Page<'_>, places: &[Option<u32>]) {
    let mut block_places: Vec<Option<u32>> = Vec::with_capacity(page.blocks.len());
    let mut n_left = 0;
    page.blocks.retain_mut(|block| {
        let place = places[block.region as usize];
        block_places.push(place.map(|_| n_left));
        let Some(region) = place else { return false };
        block.region = region;
        n_left += 1;
        true
    });
    for mark in &mut page.marks {
        let place = |region: u32| places[region as usize];
        let moved = match *mark {
            Mark::Text(block) => block_places[block as usize].map(Mark::Text),
            Mark::Media(region) => place(region).map(Mark::Media),
            Mark::Element(region) => place(region).map(Mark::Element),
            Mark::Cover(region) => place(region).map(Mark::Cover),
            other => Some(other),
        };
        *mark = moved.unwrap_or(Mark::Unseen);
    }
}
