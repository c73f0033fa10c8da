//! The heading that repeats the title of the page: it heads the text that is kept.

use std::collections::{HashMap, HashSet};

use crate::blocks::{Mark, Page, Region};
use crate::documentation::is_way;
use crate::mains::{main_of, stands_beside};
use crate::sections::{HEADING_BLOCKS_MAX, is_kept};

/// Least share of the words of a heading that are in the title of the page.
const TITLE_SHARE: f32 = 0.6;
/// Most headings that are compared on each side: those nearest to the beginning of the text.
const HEADINGS_MAX: usize = 12;

/// Keeps the heading before the text that is kept that repeats the title of the page, unless a
/// kept heading does: of several the one with the most words of it, an `h1` before others, and the
/// last of those.
pub(crate) fn keep(page: &Page<'_>, is_chosen: &mut [bool]) {
    let Some(first) = is_chosen.iter().position(|&is_chosen| is_chosen) else {
        return;
    };
    let title = words_of(&page.document.title().unwrap_or_default());
    if title.is_empty() {
        return;
    }
    let main = main_of(page).unwrap_or_default();
    let inside = page.regions[main].range();
    let headings = page.headings().filter(|heading| {
        let own = heading.range();
        own.len() <= HEADING_BLOCKS_MAX
            && inside.contains(&own.start)
            && !stands_beside(heading)
            && !is_way(page, main, heading.parent)
    });
    let (before, behind): (Vec<&Region>, Vec<&Region>) =
        headings.partition(|heading| heading.range().start < first);
    let before = before.into_iter().rev().take(HEADINGS_MAX);
    let kept = behind
        .into_iter()
        .filter(|heading| is_kept(heading, is_chosen));
    let compared: Vec<&Region> = before.chain(kept.take(HEADINGS_MAX)).collect();
    let texts = texts_of(page, &compared);
    let repeating = compared.into_iter().filter_map(|heading| {
        let words = words_of(
            &heading
                .range()
                .map(|at| texts[&at].as_str())
                .collect::<Vec<_>>()
                .join(" "),
        );
        let n_known = words.intersection(&title).count();
        let repeats = n_known > 0 && n_known as f32 >= words.len() as f32 * TITLE_SHARE;
        let is_first = heading.tag.heading_level() == Some(1);
        repeats.then_some((heading, (n_known, is_first, heading.range().start)))
    });
    let repeating: Vec<_> = repeating.collect();
    if repeating
        .iter()
        .any(|(heading, _)| is_kept(heading, is_chosen))
    {
        return;
    }
    if let Some((heading, _)) = repeating.iter().max_by_key(|(_, rank)| rank) {
        is_chosen[heading.range()].fill(true);
    }
}

/// The text of each block of these headings.
fn texts_of(page: &Page<'_>, headings: &[&Region]) -> HashMap<usize, String> {
    let blocks = headings.iter().flat_map(|heading| heading.range());
    let mut texts: HashMap<usize, String> = blocks.map(|at| (at, String::new())).collect();
    for (node, mark) in page.document.descendants().zip(&page.marks) {
        if let Mark::Text(block) = *mark
            && let Some(text) = texts.get_mut(&(block as usize))
        {
            text.push_str(node.as_text().unwrap_or_default());
        }
    }
    texts
}

/// The words of a text, in small letters.
fn words_of(text: &str) -> HashSet<String> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    text.split(|character| !is_word(character))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use trawl_sdk::testkit;

    use super::keep;
    use crate::blocks::Page;

    /// The numbers of the blocks that are kept of a page whose last block is.
    fn kept(title: &str, body: &str) -> Vec<usize> {
        let page = testkit::page(&format!(
            "<title>{title}</title>{body}<p>It holds water.</p>"
        ));
        let document = page.document();
        let page = Page::of(&document).expect("a small page");
        let mut is_chosen = vec![false; page.blocks.len()];
        if let Some(last) = is_chosen.last_mut() {
            *last = true;
        }
        keep(&page, &mut is_chosen);
        (0..is_chosen.len()).filter(|&at| is_chosen[at]).collect()
    }

    #[test]
    fn the_heading_that_repeats_the_title_heads_the_text() {
        let bar = "<div class=topbar><h1>3 The <b>dam</b></h1></div>";
        assert_eq!(kept("Rivers -- The dam", bar), [0, 1]);
        let second = "<h2>Rivers</h2><h2>The dam</h2>";
        assert_eq!(kept("The dam", second), [1, 2]);
        let parts = "<div class=topbar><h1>The <b>d</b>am</h1></div>";
        assert_eq!(kept("The dam", parts), [0, 1]);
        // Of several that with the most words, an `h1` before others, and the nearest.
        assert_eq!(kept("The dam", "<h1>The dam</h1><h2>The dam</h2>"), [0, 2]);
        assert_eq!(kept("The dam", "<h1>The dam</h1><h1>Dam</h1>"), [0, 2]);
        assert_eq!(kept("The dam", "<h1>Dam</h1><h1>Dam</h1>"), [1, 2]);
    }

    #[test]
    fn a_kept_heading_that_repeats_the_title_is_enough() {
        let html = "<title>The flood | Valley News</title><h1>Valley News</h1><p>News</p>\
            <h2>The flood</h2><p>It rained.</p>";
        let page = testkit::page(html);
        let document = page.document();
        let page = Page::of(&document).expect("a small page");
        for kept in [[false, true, true, true], [false, false, true, true]] {
            let mut is_chosen = kept;
            keep(&page, &mut is_chosen);
            assert_eq!(is_chosen, kept);
        }
    }

    #[test]
    fn other_headings_are_left_to_the_model() {
        assert_eq!(kept("The dam", "<h1>The river and its mills</h1>"), [1]);
        assert_eq!(kept("", "<h1>The dam</h1>"), [1]);
        assert_eq!(kept("The dam", "<p>The dam</p>"), [1]);
        for beside in ["nav", "div class=menu-bar", "aside"] {
            let html = format!("<{beside}><h1>The dam</h1></{beside}>");
            assert_eq!(kept("The dam", &html), [1], "{beside}");
        }
        let outside = "<h1>Dams</h1><main><p>It is old.</p></main>";
        assert_eq!(kept("Dams", outside), [2]);
    }
}
