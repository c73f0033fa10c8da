//! What the one `main` of a page says about the page: its title, its sections that open and close,
//! and that what is outside of it is less likely the main content.

use std::ops::Range;

use trawl_sdk::Tag;

use crate::blocks::{FAR, Page, Region};
use crate::lexicon::Hint;

/// Adjusts the probabilities of a page with one `main`.
pub(crate) fn adjust(page: &Page<'_>, probabilities: &mut [f32]) {
    let Some(main) = main_of(page).map(|main| page.regions[main].range()) else {
        return;
    };
    lift_title(page, &main, probabilities);
    lift_details(page, &main, probabilities);
    if stands_out(page, &main) {
        for (at, probability) in probabilities.iter_mut().enumerate() {
            if !main.contains(&at) {
                *probability *= OUTSIDE_TRUST;
            }
        }
    }
}

/// For each block whether it is in the one `main`; `None` if there is none that stands out.
pub(crate) fn choice(page: &Page<'_>) -> Option<Vec<bool>> {
    let main = page.regions[main_of(page)?].range();
    if !stands_out(page, &main) {
        return None;
    }
    Some(
        (0..page.blocks.len())
            .map(|at| main.contains(&at))
            .collect(),
    )
}

/// Factor on the probability of what is outside of a `main` that stands out: pop-ups and notices
/// read like prose, and are longer than a short `main`.
const OUTSIDE_TRUST: f32 = 0.3;

/// The one `main` of a page, if it has text.
pub(crate) fn main_of(page: &Page<'_>) -> Option<usize> {
    let mains = page.regions.iter().enumerate();
    let mut mains = mains.filter(|(_, region)| region.tag == Tag::Main);
    let (main, _) = mains.next().filter(|(_, main)| has_text(main))?;
    mains.next().is_none().then_some(main)
}

fn has_text(region: &Region) -> bool {
    region.blocks.1 > region.blocks.0
}

fn is_in(main: &Range<usize>, region: &Region) -> bool {
    let (start, end) = region.blocks;
    has_text(region) && main.start <= start as usize && end as usize <= main.end
}

/// Whether `main` holds a heading, or most of the text that is not in the margins.
fn stands_out(page: &Page<'_>, main: &Range<usize>) -> bool {
    let blocks = &page.blocks[main.clone()];
    let units: f32 = blocks.iter().map(|block| block.stats.units).sum();
    let is_heading = |region: &Region| region.tag.heading_level().is_some() && is_in(main, region);
    page.regions.iter().any(is_heading) || units * 2.0 >= page.regions[0].stats.units
}

/// The first `h1` of `main` is as likely as the likeliest text behind it there: it is the title of
/// that text, however short it is and whatever surrounds it.
fn lift_title(page: &Page<'_>, main: &Range<usize>, probabilities: &mut [f32]) {
    let mut titles = page.regions.iter();
    let Some(title) = titles.find(|region| region.tag == Tag::H1 && is_in(main, region)) else {
        return;
    };
    let (first, behind) = (title.blocks.0 as usize, title.blocks.1 as usize);
    let most = most_of(&probabilities[behind..main.end]);
    for probability in &mut probabilities[first..behind] {
        *probability = probability.max(most);
    }
}

/// Smallest probability of the likeliest text of `main` before its sections follow it.
const SECTIONS_MIN: f32 = 0.5;
/// Share of that probability for the sections.
const SECTION_TRUST: f32 = 0.9;
/// Largest share of links in a text of such a section that follows.
const SECTION_LINKS_MAX: f32 = 0.6;

/// A `details` under a heading is a section of `main`: its text is nearly as likely as the
/// likeliest there, however far down it is and whether it is open or not.
fn lift_details(page: &Page<'_>, main: &Range<usize>, probabilities: &mut [f32]) {
    let most = most_of(&probabilities[main.clone()]);
    if most < SECTIONS_MIN {
        return;
    }
    let is_section = sections(page);
    for at in main.clone() {
        let block = &page.blocks[at];
        let is_text =
            block.stats.link_share() <= SECTION_LINKS_MAX || page.heading_level(block) > 0;
        if is_text && is_section[block.region as usize] {
            probabilities[at] = probabilities[at].max(most * SECTION_TRUST);
        }
    }
}

/// Whether a region is in navigation, an aside, a footer or a form.
pub(crate) fn stands_beside(region: &Region) -> bool {
    let hints = [Hint::Nav, Hint::Aside, Hint::Footer, Hint::Form];
    hints.iter().any(|&hint| region.near[hint as usize] < FAR)
}

/// For each region whether it is in a `details` that has a heading in its summary, outside of
/// navigation, asides, footers and forms.
fn sections(page: &Page<'_>) -> Vec<bool> {
    let mut is_section = vec![false; page.regions.len()];
    for region in &page.regions {
        if region.tag.heading_level().is_none() || !has_text(region) {
            continue;
        }
        let mut around = page.around(region.parent);
        let inner =
            around.find(|&at| matches!(page.regions[at as usize].tag, Tag::Summary | Tag::Details));
        if let Some(summary) = inner
            && page.regions[summary as usize].tag == Tag::Summary
        {
            is_section[page.regions[summary as usize].parent as usize] = true;
        }
    }
    for (at, region) in page.regions.iter().enumerate() {
        is_section[at] =
            !stands_beside(region) && (is_section[at] || is_section[region.parent as usize]);
    }
    is_section
}

fn most_of(probabilities: &[f32]) -> f32 {
    probabilities.iter().copied().fold(0.0, f32::max)
}
