//! Headings and lists of links that are kept or dropped with the text around them: sections of a
//! page.

use trawl_sdk::Tag;

use crate::blocks::Page;
use crate::companions::SURELY_MAIN;
use crate::stats::share;

/// Raises the probabilities of lists and headings to those of their sections.
pub(crate) fn lift(page: &Page<'_>, probabilities: &mut [f32]) {
    lift_lists(page, probabilities);
    lift_headings(page, probabilities);
}

/// Fewest lists of links in one part of a page that are its text: release notes, indexes. One or
/// two recommend other pages. Decision D367.
const LISTS_MIN: u32 = 3;
/// Smallest share of links in the text of a list of links.
const LIST_LINKS_MIN: f32 = 0.4;
/// Least other text in that part, in units.
const LISTS_TEXT_MIN: f32 = 50.0;
/// Share of the surrounding probability for lists.
const LIST_TRUST: f32 = 0.9;

/// Lists of links between the paragraphs of most of the main content are nearly as likely as those.
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
    let (_, main) = texts[0];
    for (probability, list) in probabilities.iter_mut().zip(lists) {
        let Some(list) = list else { continue };
        let container = container_of(page, list) as usize;
        let (all, in_main) = texts[container];
        let is_text =
            n_lists[container] >= LISTS_MIN && all >= LISTS_TEXT_MIN && in_main * 2.0 >= main;
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
        let following = probabilities.iter().enumerate().take(end).skip(at + 1);
        for (next, probability) in following {
            let is_over = heading_level(page, next).is_some_and(|next| next <= level);
            if is_over || all >= HEADED_UNITS {
                break;
            }
            let units = page.blocks[next].stats.units;
            all += units;
            in_main += units * probability;
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
