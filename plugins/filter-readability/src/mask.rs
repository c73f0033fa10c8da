//! From selected blocks to the nodes to keep.

use trawl_sdk::Mask;

use crate::blocks::{Mark, Page};

/// Keeps the nodes of the selected blocks, their ancestors, and content without text among them:
/// images, rules, empty cells. Elements that would hide selected text are replaced by their
/// content.
pub(crate) fn of(page: &Page<'_>, chosen: &[bool]) -> Mask {
    let is_kept = kept_nodes(page, chosen);
    let mut mask = Mask::of(page.document);
    for (at, node) in page.document.descendants().enumerate() {
        match (is_kept[at], page.marks[at]) {
            (false, _) | (true, Mark::Cover(_)) => mask.drop_node(node),
            (true, _) => {}
        }
    }
    mask
}

fn kept_nodes(page: &Page<'_>, chosen: &[bool]) -> Vec<bool> {
    let n_nodes = page.marks.len();
    let mut is_kept = vec![false; n_nodes];
    let mut has_text = vec![false; n_nodes];
    for at in (0..n_nodes).rev() {
        if let Mark::Text(block) = page.marks[at] {
            has_text[at] = true;
            is_kept[at] = chosen[block as usize];
        }
        if let Some(parent) = page.parent(at) {
            has_text[parent] |= has_text[at];
            is_kept[parent] |= is_kept[at];
        }
    }
    let is_main = main_regions(page, chosen);
    for at in 0..n_nodes {
        let around = page.parent(at).is_none_or(|parent| is_kept[parent]);
        is_kept[at] |= match page.marks[at] {
            Mark::Data => true,
            Mark::Blank => around,
            Mark::Media(region) | Mark::Element(region) => {
                around && !has_text[at] && is_main[region as usize]
            }
            Mark::Text(_) | Mark::Unseen | Mark::Cover(_) => false,
        };
    }
    is_kept
}

/// For each region whether at least half of its text is selected; a region without text follows its
/// parent.
fn main_regions(page: &Page<'_>, chosen: &[bool]) -> Vec<bool> {
    let mut chosen_units = vec![0.0; page.regions.len()];
    for (block, _) in page
        .blocks
        .iter()
        .zip(chosen)
        .filter(|&(_, &is_chosen)| is_chosen)
    {
        chosen_units[block.region as usize] += block.stats.units;
    }
    for at in (1..page.regions.len()).rev() {
        chosen_units[page.regions[at].parent as usize] += chosen_units[at];
    }
    let mut is_main: Vec<bool> = Vec::with_capacity(page.regions.len());
    for (region, units) in page.regions.iter().zip(chosen_units) {
        is_main.push(if region.stats.units > 0.0 {
            units * 2.0 >= region.stats.units
        } else {
            is_main
                .get(region.parent as usize)
                .is_some_and(|&is_main| is_main)
        });
    }
    is_main
}
