//! The heading that repeats the title of the page: it heads the text that is kept.

use std::collections::HashSet;
use std::ops::Range;

use crate::blocks::{Mark, Page, Region};
use crate::documentation::is_way;
use crate::mains::{main_of, stands_beside};
use crate::sections::HEADING_BLOCKS_MAX;

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
    let headings = page.regions.iter().filter(|heading| {
        let own = heading.range();
        heading.tag.heading_level().is_some()
            && (1..=HEADING_BLOCKS_MAX).contains(&own.len())
            && inside.contains(&own.start)
            && !stands_beside(heading)
            && !is_way(page, main, heading.parent)
    });
    let (before, behind): (Vec<&Region>, Vec<&Region>) =
        headings.partition(|heading| heading.range().start < first);
    let is_kept = |heading: &&&Region| is_chosen[heading.range()].contains(&true);
    let mut kept = behind.iter().filter(is_kept).take(HEADINGS_MAX);
    if kept.any(|heading| n_repeated(page, heading.range(), &title).is_some()) {
        return;
    }
    let nearest = before.iter().rev().take(HEADINGS_MAX);
    let repeating = nearest.filter_map(|heading| {
        let n_words = n_repeated(page, heading.range(), &title)?;
        let is_first = heading.tag.heading_level() == Some(1);
        Some((n_words, is_first, heading.range().start, heading.range()))
    });
    let best = repeating.max_by_key(|&(n_words, is_first, start, _)| (n_words, is_first, start));
    if let Some((.., blocks)) = best {
        is_chosen[blocks].fill(true);
    }
}

/// How many words of the title these blocks have, if they have few others.
fn n_repeated(page: &Page<'_>, blocks: Range<usize>, title: &HashSet<String>) -> Option<usize> {
    let (mut text, mut last) = (String::new(), None);
    for (node, mark) in page.document.descendants().zip(&page.marks) {
        if let Mark::Text(block) = *mark
            && blocks.contains(&(block as usize))
        {
            if last.replace(block) != Some(block) {
                text.push(' ');
            }
            text.push_str(node.as_text().unwrap_or_default());
        }
    }
    let words = words_of(&text);
    let n_known = words.intersection(title).count();
    let repeats = n_known > 0 && n_known as f32 >= words.len() as f32 * TITLE_SHARE;
    repeats.then_some(n_known)
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
