//! Headings and lists of links that are kept or dropped with the text around them: sections of a
//! page.

use std::collections::HashMap;
use std::ops::Range;

use trawl_sdk::Tag;

use crate::blocks::{Page, Region};
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

/// Fewest headings of a kind that are kept, or head a text that is kept, before the others of the
/// kind may follow them.
const ALIKE_MIN: usize = 3;
/// Share of the headings of a kind that head a text that is kept, before they all are headings of
/// it.
const HEADING_SHARE: f32 = 0.6;
/// Share of the text below a heading that is kept before the heading follows it.
const KEPT_SHARE: f32 = 0.75;
/// Most blocks of a heading that is kept whole: one that is not closed holds all that follows.
pub(crate) const HEADING_BLOCKS_MAX: usize = 4;
/// Levels of regions around a heading that it may be the beginning of.
const BEGUN_LEVELS: usize = 5;

/// What is known of the headings of a kind, those with the same signature.
#[derive(Clone, Copy, Default)]
struct Headings {
    n_kept: usize,
    n_left_out: usize,
    /// Those of both that head a text that is kept.
    n_heads: usize,
}

impl Headings {
    /// Whether the headings of the kind are those of the main content: at least half are kept, or
    /// most head what is kept, as those of a reference do, which look like code or links.
    fn are_of_main(self) -> bool {
        let n_all = self.n_kept + self.n_left_out;
        let most = self.n_heads as f32 >= n_all as f32 * HEADING_SHARE;
        self.n_kept >= ALIKE_MIN.max(self.n_left_out) || self.n_heads >= ALIKE_MIN && most
    }
}

/// Keeps a heading of which a part is kept, and one whose kind is that of the main content, if the
/// text below it is kept: in a long document, a section without its heading reads like a part of
/// the one before. A heading without text is left to the model: in a row of others it mostly
/// recommends another page. Decision D367.
pub(crate) fn keep_headings(page: &Page<'_>, is_chosen: &mut [bool]) {
    let headings: Vec<&Region> = page.headings().collect();
    let mut kinds: HashMap<u32, Headings> = HashMap::new();
    for heading in &headings {
        let kind = kinds.entry(heading.signature).or_default();
        if is_kept(heading, is_chosen) {
            kind.n_kept += 1;
        } else {
            kind.n_left_out += 1;
        }
        kind.n_heads += usize::from(heads_kept(page, heading, is_chosen));
    }
    for heading in headings.iter().rev() {
        let follows = if is_kept(heading, is_chosen) {
            heading.range().len() <= HEADING_BLOCKS_MAX
        } else {
            kinds[&heading.signature].are_of_main() && heads_kept(page, heading, is_chosen)
        };
        if follows {
            is_chosen[heading.range()].fill(true);
        }
    }
}

/// Whether a block of the heading is kept.
pub(crate) fn is_kept(heading: &Region, is_chosen: &[bool]) -> bool {
    is_chosen[heading.range()].contains(&true)
}

/// Whether the text below a heading, up to the next one of its level, is kept.
fn heads_kept(page: &Page<'_>, heading: &Region, is_chosen: &[bool]) -> bool {
    let Some(text) = text_below(page, heading) else {
        return false;
    };
    let own = heading.tag.heading_level();
    let (mut all, mut kept) = (0.0_f32, 0.0_f32);
    for at in text {
        let is_over = heading_level(page, at).is_some_and(|level| Some(level) <= own);
        if is_over || all >= HEADED_UNITS {
            break;
        }
        let units = page.blocks[at].stats.units;
        all += units;
        kept += if is_chosen[at] { units } else { 0.0 };
    }
    share(kept, all) >= KEPT_SHARE
}

/// The blocks after a heading in the region that it stands in, or in one that begins with it;
/// `None` if it is alone, or in what stands around the text of a page.
fn text_below(page: &Page<'_>, heading: &Region) -> Option<Range<usize>> {
    let own = heading.range();
    let around = page.around(heading.parent).take(BEGUN_LEVELS);
    for (n_wrappers, region) in around.enumerate() {
        let outer = &page.regions[region as usize];
        let blocks = outer.range();
        if blocks.end > own.end {
            let is_its_text = n_wrappers == 0 || blocks.start == own.start;
            return is_its_text.then_some(own.end..blocks.end);
        }
        if matches!(outer.tag, Tag::Nav | Tag::Footer | Tag::Aside) {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use trawl_sdk::testkit;

    use super::keep_headings;
    use crate::blocks::Page;

    /// The blocks that are not kept of five sections, each a heading and a text, if these blocks
    /// are not chosen.
    fn left_out(section: &str, not_chosen: &[usize]) -> Vec<usize> {
        let page = testkit::page(&format!("<main>{}</main>", section.repeat(5)));
        let document = page.document();
        let page = Page::of(&document).expect("a small page");
        let blocks = 0..page.blocks.len();
        let mut is_chosen: Vec<bool> = blocks.map(|at| !not_chosen.contains(&at)).collect();
        assert_eq!(is_chosen.len(), 10, "{section}");
        keep_headings(&page, &mut is_chosen);
        (0..10).filter(|&at| !is_chosen[at]).collect()
    }

    #[test]
    fn a_heading_follows_its_text_where_most_of_its_kind_are_kept() {
        for section in [
            "<h2>The dam</h2><p>It holds the water back.</p>",
            "<section><div class=title><h2>The dam</h2></div><p>It holds the water back.</p></section>",
        ] {
            assert!(left_out(section, &[4]).is_empty(), "{section}");
            assert!(left_out(section, &[2, 4]).is_empty(), "{section}");
            // Without its text, or where most headings are left out.
            assert_eq!(left_out(section, &[4, 5]), [4, 5], "{section}");
            let most = [0, 2, 3, 4, 5, 6, 7];
            assert_eq!(left_out(section, &most), most, "{section}");
            // Most head a text that is kept, whatever they look like.
            assert!(left_out(section, &[2, 4, 6]).is_empty(), "{section}");
        }
    }

    #[test]
    fn a_heading_is_kept_whole() {
        let section = "<h3>put(Key)<div>since 2.1</div></h3>";
        assert!(left_out(section, &[1, 2]).is_empty());
        assert_eq!(left_out(section, &[4, 5]), [4, 5]);
        let open = format!(
            "<h1>The dam{}</h1>",
            "<div>It holds the water.</div>".repeat(9)
        );
        let page = testkit::page(&open);
        let document = page.document();
        let page = Page::of(&document).expect("a small page");
        let mut is_chosen = vec![false; page.blocks.len()];
        is_chosen[1] = true;
        keep_headings(&page, &mut is_chosen);
        assert_eq!(is_chosen.iter().filter(|&&is_chosen| is_chosen).count(), 1);
    }

    #[test]
    fn an_open_heading_of_the_main_kind_is_not_kept_whole() {
        let whole = "<h2>The dam</h2><p>It holds the water back.</p>".repeat(4);
        let rest = "<div>It is old.</div>".repeat(9);
        let page = testkit::page(&format!(
            "<main>{whole}<h2>The lock{rest}</h2><p>It lifts the ships.</p></main>"
        ));
        let document = page.document();
        let page = Page::of(&document).expect("a small page");
        let mut is_chosen = vec![true; page.blocks.len()];
        let rest = 9..is_chosen.len() - 1;
        is_chosen[rest.clone()].fill(false);
        keep_headings(&page, &mut is_chosen);
        assert!(!is_chosen[rest].contains(&true));
    }

    #[test]
    fn a_heading_without_text_is_left_to_the_model() {
        let section = "<div><h3>Water for Dam</h3></div><div><h3>Stone for Dam</h3></div>";
        assert_eq!(left_out(section, &[3, 6]), [3, 6]);
    }
}
