//! Parts that are kept or dropped with the text around them, even if they do not read like prose:
//! code, captions, table cells, lists of links between paragraphs, headings.

use trawl_sdk::Tag;

use crate::blocks::{FAR, Page};
use crate::lexicon::Hint;
use crate::stats::share;

/// Raises the probabilities of code, captions, cells, lists and headings to those of their
/// surroundings.
pub(crate) fn lift(page: &Page<'_>, probabilities: &mut [f32]) {
    lift_between(page, probabilities, 1.0, |tag| tag == Tag::Pre);
    lift_between(page, probabilities, CAPTION_TRUST, |tag| {
        tag == Tag::Figcaption
    });
    lift_among(page, probabilities);
    lift_tables(page, probabilities);
    lift_cells(page, probabilities);
    lift_lists(page, probabilities);
    lift_headings(page, probabilities);
}

/// Code and captions are as likely as the text of the innermost element that contains both. This
/// covers the last of them too, which is followed only by boilerplate.
fn lift_among(page: &Page<'_>, probabilities: &mut [f32]) {
    let tag = |at: usize| page.regions[page.blocks[at].region as usize].tag;
    let is_companion = |at: usize| matches!(tag(at), Tag::Pre | Tag::Figcaption);
    if !(0..probabilities.len()).any(is_companion) {
        return;
    }
    // For each region, the text without companions and the expected part of it in the main content.
    let mut texts = vec![(0.0_f32, 0.0_f32); page.regions.len()];
    for at in (0..probabilities.len()).filter(|&at| !is_companion(at)) {
        let units = page.blocks[at].stats.units;
        let (all, in_main) = &mut texts[page.blocks[at].region as usize];
        *all += units;
        *in_main += units * probabilities[at];
    }
    for at in (1..page.regions.len()).rev() {
        let (all, in_main) = texts[at];
        let around = &mut texts[page.regions[at].parent as usize];
        around.0 += all;
        around.1 += in_main;
    }
    for at in (0..probabilities.len()).filter(|&at| is_companion(at)) {
        let mut around = page.around(page.blocks[at].region);
        let text =
            around.find_map(|region| Some(texts[region as usize]).filter(|text| text.0 > 0.0));
        if let Some((all, in_main)) = text {
            let expected = share(in_main, all);
            if expected > SURELY_MAIN {
                probabilities[at] = probabilities[at].max(expected);
            }
        }
    }
}

/// Minimum share of the surrounding text that is expected in the main content before code and
/// captions follow it.
const SURELY_MAIN: f32 = 0.75;

/// Share of the surrounding probability for captions: some pages put credits and advertisements
/// there.
const CAPTION_TRUST: f32 = 0.8;
/// Share of the table's probability for cells.
const CELL_TRUST: f32 = 0.9;

/// A block of this kind is at least as likely as the blocks before it or those after it, whichever
/// is less likely.
fn lift_between(
    page: &Page<'_>,
    probabilities: &mut [f32],
    trust: f32,
    is_companion: fn(Tag) -> bool,
) {
    let tag = |at: usize| page.regions[page.blocks[at].region as usize].tag;
    let mut before = vec![0.0_f32; probabilities.len()];
    let mut last = [0.0_f32; 2];
    for at in 0..probabilities.len() {
        before[at] = last[0].max(last[1]);
        if !is_companion(tag(at)) {
            last = [probabilities[at], last[0]];
        }
    }
    let mut next = [0.0_f32; 2];
    for at in (0..probabilities.len()).rev() {
        if is_companion(tag(at)) {
            let around = before[at].min(next[0].max(next[1]));
            probabilities[at] = probabilities[at].max(around * trust);
        } else {
            next = [probabilities[at], next[0]];
        }
    }
}

/// Fewest cells of a table with data; fewer arrange the parts of a page.
const DATA_CELLS_MIN: u32 = 4;
/// Largest share of links in the text of a table with data.
const DATA_LINKS_MAX: f32 = 0.4;

/// A table with data is nearly as likely as the paragraphs and headings beside it, or beside what
/// contains it. This covers a table at the end of the text, which is followed only by boilerplate.
fn lift_tables(page: &Page<'_>, probabilities: &mut [f32]) {
    let mut n_cells = vec![0_u32; page.regions.len()];
    for (at, region) in page.regions.iter().enumerate() {
        if matches!(region.tag, Tag::Td | Tag::Th)
            && let Some(table) = table_around(page, at as u32)
        {
            n_cells[table as usize] += 1;
        }
    }
    if n_cells.iter().all(|&n_cells| n_cells < DATA_CELLS_MIN) {
        return;
    }
    // For each region, the text that is directly in it or in a child without regions of its own,
    // and the expected part of it in the main content.
    let mut texts = vec![(0.0_f32, 0.0_f32); page.regions.len()];
    for (block, &probability) in page.blocks.iter().zip(&*probabilities) {
        let region = &page.regions[block.region as usize];
        let around = if region.n_children == 0 {
            region.parent
        } else {
            block.region
        };
        let (all, in_main) = &mut texts[around as usize];
        *all += block.stats.units;
        *in_main += block.stats.units * probability;
    }
    let total = page.regions[0].stats.units;
    let expected: Vec<f32> = (0..page.regions.len())
        .map(|at| {
            let stats = &page.regions[at].stats;
            let has_data = n_cells[at] >= DATA_CELLS_MIN
                && stats.units * 2.0 < total
                && stats.link_share() <= DATA_LINKS_MAX;
            if !has_data {
                return 0.0;
            }
            let mut around = page.around(page.regions[at].parent);
            let text = around
                .find_map(|region| Some(texts[region as usize]).filter(|(all, _)| *all > 0.0));
            text.map_or(0.0, |(all, in_main)| share(in_main, all))
        })
        .collect();
    for (probability, block) in probabilities.iter_mut().zip(&page.blocks) {
        let Some(table) = table_around(page, block.region) else {
            continue;
        };
        let expected = expected[table as usize];
        if expected > SURELY_MAIN {
            *probability = probability.max(expected * CELL_TRUST);
        }
    }
}

/// A cell is nearly as likely as its whole table. A table with half of the page or more is a layout
/// table.
fn lift_cells(page: &Page<'_>, probabilities: &mut [f32]) {
    let tables: Vec<Option<u32>> = page
        .blocks
        .iter()
        .map(|block| table_around(page, block.region))
        .collect();
    let mut sums = vec![0.0; page.regions.len()];
    for (at, table) in tables.iter().enumerate() {
        if let Some(table) = table {
            sums[*table as usize] += page.blocks[at].stats.units * probabilities[at];
        }
    }
    let total = page.regions[0].stats.units;
    for (probability, table) in probabilities.iter_mut().zip(tables) {
        let Some(table) = table else { continue };
        let units = page.regions[table as usize].stats.units;
        if units * 2.0 < total {
            *probability = probability.max(share(sums[table as usize], units) * CELL_TRUST);
        }
    }
}

/// The innermost table around a region.
fn table_around(page: &Page<'_>, region: u32) -> Option<u32> {
    let levels = page.regions[region as usize].near[Hint::Table as usize];
    (levels < FAR).then(|| page.around(region).nth(usize::from(levels)))?
}

/// Fewest lists of links in one part of a page that are its text: release notes, indexes. One or
/// two recommend other pages.
const LISTS_MIN: u32 = 3;
/// Smallest share of links in the text of a list of links.
const LIST_LINKS_MIN: f32 = 0.4;
/// Least other text in that part, in units.
const LISTS_TEXT_MIN: f32 = 50.0;
/// Share of the surrounding probability for lists.
const LIST_TRUST: f32 = 0.9;

/// Lists of links between the paragraphs of the largest part of a page are nearly as likely as
/// those.
fn lift_lists(page: &Page<'_>, probabilities: &mut [f32]) {
    let blocks = page.blocks.iter();
    let lists: Vec<Option<u32>> = blocks
        .map(|block| list_around(page, block.region))
        .collect();
    let mut n_lists = vec![0_u32; page.regions.len()];
    let mut last = None;
    for list in lists.iter().flatten() {
        if last.replace(*list) != Some(*list) {
            n_lists[container_of(page, *list) as usize] += 1;
        }
    }
    if n_lists.iter().all(|&n_lists| n_lists < LISTS_MIN) {
        return;
    }
    // For each region, the text outside of such lists and headings, and the expected part of it in
    // the main content.
    let mut texts = vec![(0.0_f32, 0.0_f32); page.regions.len()];
    for (at, block) in page.blocks.iter().enumerate() {
        if lists[at].is_none() && heading_level(page, at).is_none() {
            let (all, in_main) = &mut texts[block.region as usize];
            *all += block.stats.units;
            *in_main += block.stats.units * probabilities[at];
        }
    }
    for at in (1..page.regions.len()).rev() {
        let (all, in_main) = texts[at];
        let around = &mut texts[page.regions[at].parent as usize];
        around.0 += all;
        around.1 += in_main;
    }
    let total = page.regions[0].stats.units;
    for (probability, list) in probabilities.iter_mut().zip(lists) {
        let Some(list) = list else { continue };
        let container = container_of(page, list) as usize;
        let (all, in_main) = texts[container];
        let is_text = n_lists[container] >= LISTS_MIN
            && all >= LISTS_TEXT_MIN
            && page.regions[container].stats.units * 2.0 >= total;
        let expected = share(in_main, all);
        if is_text && expected > SURELY_MAIN {
            *probability = probability.max(expected * LIST_TRUST);
        }
    }
}

/// The outermost list around a region, if it is one of links.
fn list_around(page: &Page<'_>, region: u32) -> Option<u32> {
    let is_list =
        |&at: &u32| matches!(page.regions[at as usize].tag, Tag::Ul | Tag::Ol | Tag::Menu);
    let list = page.around(region).filter(is_list).last()?;
    let links = page.regions[list as usize].stats.link_share();
    (links >= LIST_LINKS_MIN).then_some(list)
}

/// The region whose text a list is part of: that around it, or around its section where many are
/// alike.
fn container_of(page: &Page<'_>, list: u32) -> u32 {
    let section = page.regions[list as usize].parent;
    let region = &page.regions[section as usize];
    if region.n_alike >= LISTS_MIN {
        region.parent
    } else {
        section
    }
}

/// Units of text after a heading that show what it heads.
const HEADED_UNITS: f32 = 150.0;
/// Levels of regions around a heading in which its text is.
const HEADED_LEVELS: usize = 3;
/// Share of the probability of its text for a heading.
const HEADING_TRUST: f32 = 0.9;

/// A heading is nearly as likely as the text up to the next one of its level.
fn lift_headings(page: &Page<'_>, probabilities: &mut [f32]) {
    for at in (0..probabilities.len()).rev() {
        let Some(level) = heading_level(page, at) else {
            continue;
        };
        let Some(end) = headed_until(page, at) else {
            continue;
        };
        let (mut all, mut in_main) = (0.0, 0.0);
        for next in at + 1..end {
            let is_over = heading_level(page, next).is_some_and(|next| next <= level);
            if is_over || all >= HEADED_UNITS {
                break;
            }
            let units = page.blocks[next].stats.units;
            all += units;
            in_main += units * probabilities[next];
        }
        let expected = share(in_main, all);
        if all > 0.0 && expected > SURELY_MAIN {
            probabilities[at] = probabilities[at].max(expected * HEADING_TRUST);
        }
    }
}

/// The level of the heading that a block is in.
fn heading_level(page: &Page<'_>, at: usize) -> Option<u8> {
    let mut around = page.around(page.blocks[at].region).take(2);
    around.find_map(|region| page.regions[region as usize].tag.heading_level())
}

/// End of the innermost region around a heading that has more text after it; `None` if it is too
/// far out, or beyond what stands around the text of a page.
fn headed_until(page: &Page<'_>, at: usize) -> Option<usize> {
    let around = page.around(page.blocks[at].region).skip(1);
    let mut around = around.take(HEADED_LEVELS);
    let mut is_furniture = false;
    let outer = around.find(|&region| {
        let region = &page.regions[region as usize];
        let goes_on = region.blocks.1 as usize > at + 1;
        is_furniture |= !goes_on
            && matches!(
                region.tag,
                Tag::Header | Tag::Nav | Tag::Footer | Tag::Aside
            );
        goes_on
    })?;
    (!is_furniture).then_some(page.regions[outer as usize].blocks.1 as usize)
}
