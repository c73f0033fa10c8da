//! Pages of documentation: all of their main part is text, however much of it are links.

use trawl_metadata::{KindGuess, PageKind};

use crate::blocks::{Page, Region};
use crate::contents;
use crate::lexicon::Hint;
use crate::mains::{main_of, stands_beside};

/// How likely a page must be documentation.
const CONFIDENCE_MIN: f32 = 0.3;
/// Probability of what is in the main part of documentation.
const TRUST: f32 = 0.8;
/// Share of the expected main content in the region that takes the place of `main`, and share of
/// the text of that region that must be expected in the main content.
const TEXT_SHARE: f32 = 0.9;
const TEXT_EXPECTED_MIN: f32 = 0.4;
/// The same of a region that has nearly all of the text of the page: indexes are not expected.
const MOST_EXPECTED_MIN: f32 = 0.2;
const MOST_UNITS: f32 = 0.8;
/// Least share of prose in the text around that region that belongs to it: footnotes. What is
/// expected in the main content belongs to it, too.
const PROSE_SHARE: f32 = 0.5;
/// Largest share of links in such text if it has headings.
const HEADED_LINK_SHARE_MAX: f32 = 0.5;
/// Words of classes of what leads through the pages or stands below them.
const WAYS: [Hint; 5] = [
    Hint::CommentWord,
    Hint::NavWord,
    Hint::CrumbWord,
    Hint::TocWord,
    Hint::FooterWord,
];
/// Least share of links in the text of what stands at a side.
const SIDE_LINK_SHARE: f32 = 0.3;

/// Raises the probabilities of what is in the main part of documentation: signatures, indexes and
/// lists of members are mostly links. Lowers those of its table of contents, whose links lead
/// within the page. Decision D367.
pub(crate) fn adjust(page: &Page<'_>, probabilities: &mut [f32]) {
    let main = main_of(page)
        .or_else(|| main_by_role(page))
        .or_else(|| text_of(page, probabilities));
    let Some(main) = main else {
        return;
    };
    for at in page.regions[main].range() {
        let region = page.blocks[at].region;
        if !stands_beside(&page.regions[region as usize]) && !is_way(page, main, region) {
            probabilities[at] = probabilities[at].max(TRUST);
        }
    }
    contents::lower(page, main, probabilities);
}

/// Whether a page is likely enough documentation.
pub(crate) fn is_guessed(kind: Option<KindGuess>) -> bool {
    kind.is_some_and(|guess| {
        guess.kind == PageKind::Documentation && guess.confidence >= CONFIDENCE_MIN
    })
}

/// The innermost region with nearly all of the expected main content, if enough of its text is or
/// reads like prose: on many pages of documentation it is no `main`. What is around it belongs to
/// it if it is expected, too, reads like prose, or has headings and few links.
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
    let stats = &page.regions[inner].stats;
    let units = stats.units;
    let is_most = units >= page.regions[0].stats.units * MOST_UNITS;
    let least = if is_most {
        MOST_EXPECTED_MIN
    } else {
        TEXT_EXPECTED_MIN
    };
    let is_prose = stats.prose_units >= units * PROSE_SHARE;
    if !is_prose && expected[inner] < units * least {
        return None;
    }
    let mut text = inner;
    for outer in page.around(inner as u32).skip(1) {
        let [own, around] = [text, outer as usize].map(|at| &page.regions[at].stats);
        let added = around.units - own.units;
        let added_expected = expected[outer as usize] - expected[text];
        let is_prose = around.prose_units - own.prose_units >= added * PROSE_SHARE;
        let n_headings = page.regions[outer as usize].n_headings - page.regions[text].n_headings;
        let is_headed =
            n_headings > 0 && around.link_units - own.link_units <= added * HEADED_LINK_SHARE_MAX;
        if is_prose || is_headed || added_expected >= added * TEXT_EXPECTED_MIN {
            text = outer as usize;
        }
    }
    Some(text)
}

/// The one region with text that is `main` by its role.
fn main_by_role(page: &Page<'_>) -> Option<usize> {
    let regions = page.regions.iter().enumerate();
    let mut mains =
        regions.filter(|(_, region)| region.has(Hint::Main) && !region.range().is_empty());
    let (main, _) = mains.next()?;
    mains.next().is_none().then_some(main)
}

/// Whether a region is, or is in, a smaller part of this one that is named after the way through
/// the pages: contents, navigation, breadcrumbs.
pub(crate) fn is_way(page: &Page<'_>, main: usize, region: u32) -> bool {
    let half = page.regions[main].stats.units / 2.0;
    let inside = page.around(region).take_while(|&at| at as usize != main);
    let mut parts = inside.map(|at| &page.regions[at as usize]);
    parts.any(|part| part.stats.units < half && is_named_way(part))
}

fn is_named_way(part: &Region) -> bool {
    // Left and right are names of much else.
    let is_side = part.has(Hint::SideWord) && part.stats.link_share() >= SIDE_LINK_SHARE;
    is_side || WAYS.iter().any(|&way| part.has(way))
}

#[cfg(test)]
mod tests {
    use trawl_sdk::testkit;

    use super::{KindGuess, TRUST, adjust, is_guessed};
    use crate::blocks::Page;

    const HEAD: &str =
        "<title>Dam (Dams 3.1 API)</title><meta name=generator content='javadoc/17'>";

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

    /// How many blocks of a page are raised from this probability, and how many there are.
    fn lifted(html: &str, from: f32) -> (usize, usize) {
        let page = testkit::page(html);
        let document = page.document();
        let page = Page::of(&document).expect("a small page");
        let mut probabilities = vec![from; page.blocks.len()];
        adjust(&page, &mut probabilities);
        let n_lifted = probabilities.iter().filter(|&&own| own >= TRUST).count();
        (n_lifted, probabilities.len())
    }

    /// How many blocks of a page are not raised from this probability.
    fn n_left(html: &str, from: f32) -> usize {
        let (n_lifted, n_all) = lifted(html, from);
        n_all - n_lifted
    }

    #[test]
    fn the_main_part_of_documentation_is_text_but_for_its_contents() {
        let class = class();
        let (head, beside) = (HEAD, "<div><p>A note beside.</p></div>");
        // The note and two lines of the contents stay.
        for main in ["main", "div role=main"] {
            let html = format!("{head}<body>{beside}<{main}>{class}");
            assert_eq!(n_left(&html, 0.1), 3, "{main}");
        }
        // Without a `main`, if most of the text is likely or reads like prose.
        let in_part = format!("{head}<body><div class=page>{class}</div>");
        assert_eq!(n_left(&in_part, 0.7), 2);
        let prose = "<p>The dam holds the water of the river, which is high in spring.</p>";
        let in_part = format!("{head}<body><div class=page>{}</div>", prose.repeat(9));
        assert_eq!(n_left(&in_part, 0.1), 0);
    }

    #[test]
    fn a_main_without_text_is_none() {
        let class = class();
        let html = format!("{HEAD}<body><main id=app></main><div class=page>{class}</div>");
        assert_eq!(n_left(&html, 0.7), 2);
    }

    #[test]
    fn an_index_is_text_if_some_of_it_is_likely() {
        let items = (0..40).map(|number| format!("<li><a href=a{number}.html>get{number}</a>"));
        let index = format!(
            "{HEAD}<body><div><h1>Index</h1><ul>{}</ul></div>",
            items.collect::<String>()
        );
        assert_eq!(n_left(&index, 0.3), 0);
        assert_eq!(lifted(&index, 0.1).0, 0);
        let in_main = index.replace("<div>", "<div role=main>");
        assert_eq!(n_left(&in_main, 0.1), 0);
    }

    #[test]
    fn what_reads_like_the_text_around_it_belongs_to_it() {
        let class = class();
        let note = "<p>It was the first dam of the valley, and it was made of the stone there.</p>";
        let html = format!(
            "{HEAD}<body><div class=chapter><p>Dam</p><div class=section>{class}</div></div>\
             <div class=footnotes><h4>Footnotes</h4>{note}</div>"
        );
        assert_eq!(n_left(&html, 0.1), 2);
    }

    #[test]
    fn a_part_with_headings_belongs_to_the_text_if_it_is_no_links() {
        let class = class();
        let html = |part: &str| {
            format!(
                "{HEAD}<body><div class=page><div class=methods>{class}</div><div class=fields><h2>Fields</h2>{part}"
            )
        };
        let field = "<pre>public Object water</pre>";
        assert_eq!(n_left(&html(field), 0.1), 2);
        let links = "<a href=/a>Dams of the world</a> <a href=/b>Rivers of it</a>";
        assert_eq!(n_left(&html(links), 0.1), 4);
    }

    #[test]
    fn parts_at_a_side_are_left_out_if_they_are_links() {
        let class = class();
        let links = "<a href=/a>Dams</a> <a href=/b>Rivers</a>";
        let html = |part: &str| format!("{HEAD}<body><main>{class}<div class=left>{part}</div>");
        assert_eq!(n_left(&html(links), 0.1), 3);
        assert_eq!(n_left(&html("<p>The left bank of the river."), 0.1), 2);
        for name in ["footer", "comments"] {
            let html = format!("{HEAD}<body><main>{class}<div class={name}>Made by hand</div>");
            assert_eq!(n_left(&html, 0.1), 3, "{name}");
        }
    }

    #[test]
    fn documentation_is_known_by_its_kind() {
        let guessed = |path: &str, html: &str| {
            let page = testkit::page(html).url(&format!("https://example.com/{path}"));
            is_guessed(KindGuess::of(&page.document()))
        };
        assert!(guessed(
            "docs/api/Dam.html",
            &format!("{HEAD}<main>{}", class())
        ));
        let text =
            "<p>The river had been rising for three days when the council met.</p>".repeat(9);
        let html = format!("<title>The flood</title><main><h1>The flood</h1>{text}</main>");
        assert!(!guessed("2026/the-flood", &html));
        assert!(!is_guessed(None));
    }
}
