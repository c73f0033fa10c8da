//! The heading that repeats the title of the page: it heads the text that is kept.

use std::collections::HashSet;
use std::ops::Range;

use crate::blocks::{Mark, Page, Region};
use crate::documentation::is_way;
use crate::mains::{main_of, stands_beside};

/// Least share of the words of a heading that are in the title of the page.
const TITLE_SHARE: f32 = 0.6;
/// Most blocks of a heading that is compared.
const BLOCKS_MAX: usize = 4;

/// Keeps the heading before the text that is kept that repeats the title of the page, unless a
/// kept heading does: of several the last `h1`, or the last if none is one.
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
    let before = page.regions.iter().filter(|heading| {
        let own = heading.range();
        heading.tag.heading_level().is_some()
            && (1..=BLOCKS_MAX).contains(&own.len())
            && inside.contains(&own.start)
            && own.start <= first
            && !stands_beside(heading)
            && !is_way(page, main, heading.parent)
    });
    let before: Vec<&Region> = before.collect();
    let repeats = |heading: &&&Region| repeats(page, heading.range(), &title);
    let best = before.iter().filter(repeats).max_by_key(|heading| {
        let level = heading.tag.heading_level();
        (level == Some(1), heading.range().start)
    });
    if let Some(heading) = best {
        is_chosen[heading.range()].fill(true);
    }
}

/// Whether most words of these blocks are in the title.
fn repeats(page: &Page<'_>, blocks: Range<usize>, title: &HashSet<String>) -> bool {
    let mut text = String::new();
    for (node, mark) in page.document.descendants().zip(&page.marks) {
        if let Mark::Text(block) = *mark
            && blocks.contains(&(block as usize))
        {
            text.push_str(node.as_text().unwrap_or_default());
            text.push(' ');
        }
    }
    let words = words_of(&text);
    let n_known = words.intersection(title).count();
    !words.is_empty() && n_known as f32 >= words.len() as f32 * TITLE_SHARE
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
        // Of several the nearest, and an `h1` before others.
        assert_eq!(kept("The dam", "<h1>The dam</h1><h2>The dam</h2>"), [0, 2]);
        assert_eq!(kept("The dam", "<h1>The dam</h1><h1>Dam</h1>"), [1, 2]);
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
