//! Parts that are kept or dropped with the text around them, even if they do not read like prose:
//! code, captions, table cells.

use trawl_sdk::Tag;

use crate::blocks::{FAR, Page};
use crate::lexicon::Hint;
use crate::stats::share;

/// Raises the probabilities of code, captions and cells to those of their surroundings.
pub(crate) fn lift(page: &Page<'_>, probabilities: &mut [f32]) {
    lift_between(page, probabilities, 1.0, |tag| tag == Tag::Pre);
    lift_between(page, probabilities, CAPTION_TRUST, |tag| {
        tag == Tag::Figcaption
    });
    lift_among(page, probabilities);
    lift_tables(page, probabilities);
    lift_cells(page, probabilities);
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
pub(crate) const SURELY_MAIN: f32 = 0.75;

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
