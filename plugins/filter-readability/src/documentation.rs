//! Pages of documentation: all of their main part is text, however much of it are links.

use trawl_metadata::{KindGuess, PageKind};

use crate::blocks::Page;
use crate::lexicon::Hint;
use crate::mains::{main_of, stands_beside};

/// How likely a page must be documentation.
const CONFIDENCE_MIN: f32 = 0.5;
/// Probability of what is in the main part of documentation.
const TRUST: f32 = 0.8;
/// Share of the expected main content in the region that takes the place of `main`, and share of
/// the text of that region that must be expected in the main content.
const TEXT_SHARE: f32 = 0.9;
const TEXT_EXPECTED_MIN: f32 = 0.6;
/// Words of classes of what leads through the pages.
const WAYS: [Hint; 4] = [
    Hint::NavWord,
    Hint::CrumbWord,
    Hint::SideWord,
    Hint::TocWord,
];

/// Raises the probabilities of what is in the main part of documentation: signatures, indexes and
/// lists of members are mostly links. Tables of contents and navigation are left to the model.
/// Decision D367.
pub(crate) fn lift(page: &Page<'_>, probabilities: &mut [f32]) {
    let main = main_of(page).or_else(|| text_of(page, probabilities));
    let Some(main) = main.filter(|_| is_documentation(page)) else {
        return;
    };
    for at in page.regions[main].range() {
        let region = page.blocks[at].region;
        if !stands_beside(&page.regions[region as usize]) && !is_way(page, main, region) {
            probabilities[at] = probabilities[at].max(TRUST);
        }
    }
}

fn is_documentation(page: &Page<'_>) -> bool {
    KindGuess::of(page.document).is_some_and(|guess| {
        guess.kind == PageKind::Documentation && guess.confidence >= CONFIDENCE_MIN
    })
}

/// The innermost region with nearly all of the expected main content, if most of its text is: on
/// many pages of documentation it is no `main`.
fn text_of(page: &Page<'_>, probabilities: &[f32]) -> Option<usize> {
    let mut expected = vec![0.0_f32; page.regions.len()];
    for (block, probability) in page.blocks.iter().zip(probabilities) {
        expected[block.region as usize] += block.stats.units * probability;
    }
    for at in (1..page.regions.len()).rev() {
        expected[page.regions[at].parent as usize] += expected[at];
    }
    let least = expected[0] * TEXT_SHARE;
    // Regions are in document order: the last one with enough is the innermost.
    let inner = expected.iter().rposition(|&own| own >= least)?;
    let is_text = expected[inner] >= page.regions[inner].stats.units * TEXT_EXPECTED_MIN;
    is_text.then_some(inner)
}

/// Whether a region of the main part is, or is in, a smaller part that is named after the way
/// through the pages: contents, navigation, breadcrumbs.
fn is_way(page: &Page<'_>, main: usize, region: u32) -> bool {
    let half = page.regions[main].stats.units / 2.0;
    let inside = page.around(region).take_while(|&at| at as usize != main);
    let mut parts = inside.map(|at| &page.regions[at as usize]);
    parts
        .any(|part| part.stats.units < half && WAYS.iter().any(|&way| part.near[way as usize] == 0))
}

#[cfg(test)]
mod tests {
    use trawl_sdk::testkit;

    use super::{TRUST, lift};
    use crate::blocks::Page;

    const HEAD: &str =
        "<title>Dam (Dams 3.1 API)</title><meta name=generator content='javadoc/17'>";

    const PATH: &str = "docs/api/Dam.html";

    /// The body of a class: contents, many members with their text, and a list of links.
    fn class() -> String {
        let members: String = (0..12)
            .map(|number| {
                format!(
                    "<h3>get{number}</h3><pre><code>public Object get{number}()</code></pre><p>It returns <code>null</code> or what the dam \
                     holds, or nothing once the river is dry and the gates are open.</p>"
                )
            })
            .collect();
        format!(
            "<h1>Class Dam</h1><ul class=toc><li><a href=#a>Way one</a><li><a href=#b>Way two</a></ul>\
             {members}<div class=list><a href=/o>clone</a>, <a href=/p>equals</a></div>"
        )
    }

    /// How many blocks of the page at this path are raised from this probability, and how many
    /// there are.
    fn lifted(path: &str, html: &str, from: f32) -> (usize, usize) {
        let page = testkit::page(html).url(&format!("https://example.com/{path}"));
        let document = page.document();
        let page = Page::of(&document).expect("a small page");
        let mut probabilities = vec![from; page.blocks.len()];
        lift(&page, &mut probabilities);
        let n_lifted = probabilities.iter().filter(|&&own| own >= TRUST).count();
        (n_lifted, probabilities.len())
    }

    #[test]
    fn the_main_part_of_documentation_is_text_but_for_its_contents() {
        let class = class();
        let (head, beside) = (HEAD, "<div><p>A note beside.</p></div>");
        let in_main = format!("{head}<body>{beside}<main>{class}</main>");
        // The note and two lines of the contents stay.
        let (n_lifted, n_all) = lifted(PATH, &in_main, 0.1);
        assert_eq!(n_all - n_lifted, 3, "{n_lifted} of {n_all}");
        // Without a `main`, if most of the text is likely.
        let in_part = format!("{head}<body><div class=page>{class}</div>");
        let (n_lifted, n_all) = lifted(PATH, &in_part, 0.7);
        assert_eq!(n_all - n_lifted, 2, "{n_lifted} of {n_all}");
        assert_eq!(lifted(PATH, &in_part, 0.1).0, 0);
    }

    #[test]
    fn other_pages_are_left_to_the_model() {
        let text =
            "<p>The river had been rising for three days when the council met.</p>".repeat(9);
        let html = format!("<title>The flood</title><main><h1>The flood</h1>{text}</main>");
        assert_eq!(lifted("2026/the-flood", &html, 0.1).0, 0);
    }
}
