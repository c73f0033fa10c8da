//! The text of an element as its reader sees it, on one line; and where on a page such text is.
//!
//! What only the source has (comments, white space, scripts) changes neither.

use std::ops::Range;

use super::arrays::{Arrays, kind};
use super::names::Names;
use super::{Element, Kind, Namespace, Node, Step, Tag};

impl<'a> Node<'a> {
    /// Text of this node as its reader sees it, on one line: nothing between inline nodes, a blank
    /// where a block, a table cell, a control or a drawing begins or ends and at `<br>`; ASCII
    /// white space folded and trimmed, other spaces (no-break, ideographic) as they are.
    ///
    /// Scripts, styles, templates and the replacement of media have no text, unless this node is
    /// one of them; nor has the permalink of a heading. Hidden text counts: who names an element
    /// means its text. What browsers add (marks of lists, quotation marks) does not. Decision D350.
    pub fn line_text(self) -> String {
        self.line_text_while(|_| true).unwrap_or_default()
    }

    /// Like [`line_text`](Self::line_text), as long as `goes_on`, which is asked for each node
    /// before it is read; `None` as soon as it says no.
    pub fn line_text_while(self, mut goes_on: impl FnMut(Node<'a>) -> bool) -> Option<String> {
        let mut line = Line::default();
        let mut walk = self.walk();
        while let Some(step) = walk.next() {
            match step {
                Step::Enter(node) => {
                    if !goes_on(node) {
                        return None;
                    }
                    match node.kind() {
                        Kind::Text(text) => line.push(text),
                        Kind::TemplateContents => walk.skip_tree(),
                        Kind::Element(inner)
                            if node != self && (inner.is_unseen() || inner.is_own_permalink()) =>
                        {
                            walk.skip_tree();
                        }
                        Kind::Element(inner) if inner.is_apart() => line.blank(),
                        _ => {}
                    }
                }
                Step::Leave(node) => {
                    if node.as_element().is_some_and(Element::is_apart) {
                        line.blank();
                    }
                }
            }
        }
        Some(line.finish())
    }

    /// The text nodes inside this node that have text for a reader: not blank, not of a script, a
    /// style or a template. A limit on them limits the work, however many comments and blanks the
    /// source has. Whether a style hides them is not asked.
    pub fn shown_texts(self) -> impl Iterator<Item = &'a str> {
        let document = self.document;
        let texts = &document.shown_texts()[self.shown_range()];
        texts
            .iter()
            .filter_map(|&text| Node::new(document, text).as_text())
    }

    /// Where the texts of this node are among those of the page.
    fn shown_range(self) -> Range<usize> {
        let texts = self.document.shown_texts();
        let start = texts.partition_point(|&text| text < self.index);
        let end = texts.partition_point(|&text| text < self.end());
        start..end
    }

    /// Size of the text for a reader inside this node, in bytes without white space.
    pub(super) fn n_shown_bytes(self) -> u32 {
        let (sums, range) = (self.document.shown_sums(), self.shown_range());
        sums[range.end] - sums[range.start]
    }

    /// Whether the main content of the page begins inside this node, as far as it is marked up: an
    /// `h1`, a `main`.
    pub fn has_main_start(self) -> bool {
        let starts = self.document.main_starts();
        let next = starts.partition_point(|&start| start <= self.index);
        starts.get(next).is_some_and(|&start| start < self.end())
    }

    /// Whether this node counts for limits on what is inside another: a text that is not blank, or
    /// an element that says something about its text. Comments, white space, scripts and neutral
    /// elements ([`Element::is_neutral`]) do not count.
    pub fn is_counted(self) -> bool {
        match self.kind() {
            Kind::Text(text) => !is_blank(text),
            Kind::Element(element) => !element.is_unseen() && !element.is_neutral(),
            _ => false,
        }
    }

    /// Whether there is text for a reader inside this node, see
    /// [`shown_texts`](Self::shown_texts).
    pub fn has_shown_text(self) -> bool {
        self.shown_texts().next().is_some()
    }
}

impl Element<'_> {
    /// Whether the element's content is never text for a reader, with or without scripts: code,
    /// metadata of drawings and formulas, what media show where they cannot be played.
    pub fn is_unseen(self) -> bool {
        self.document().names.are_unseen[self.name_entry() as usize]
    }

    /// Whether the element says nothing about the text in it: a `span` without attributes, or a
    /// `wbr`.
    pub fn is_neutral(self) -> bool {
        match self.tag() {
            Tag::Wbr => true,
            Tag::Span => self.attrs().next().is_none(),
            _ => false,
        }
    }

    /// Whether the element is a link with a sign for its text, or none, to a place on a page: what
    /// manuals put beside their headings. White space and characters without width do not count.
    pub fn is_permalink(self) -> bool {
        const SIGNS: [&str; 6] = ["", "#", "§", "¶", "🔗", "⚓"];
        const TEXTS_MAX: usize = 3;
        let is_to_place = || self.attr("href").is_some_and(|href| href.contains('#'));
        if self.tag() != Tag::A || !is_to_place() || self.shown_texts().nth(TEXTS_MAX).is_some() {
            return false;
        }
        let seen = self
            .shown_texts()
            .flat_map(str::chars)
            .filter(|&c| is_seen(c));
        // Two characters are no sign, however many follow.
        let text: String = seen.take(2).collect();
        let mut inside = self.descendants().filter_map(Node::as_element);
        SIGNS.contains(&text.as_str()) && !inside.any(|inner| inner.tag() == Tag::Img)
    }

    /// Whether the element is a permalink of the heading or the term around it.
    fn is_own_permalink(self) -> bool {
        const LEVELS_MAX: usize = 3;
        let is_head =
            |outer: Element<'_>| outer.tag() == Tag::Dt || outer.tag().heading_level().is_some();
        self.tag() == Tag::A
            && self.ancestors().take(LEVELS_MAX).any(is_head)
            && self.is_permalink()
    }

    /// Whether a reader sees the text of this element apart from the text around it, though no
    /// white space may be between them: a block, a table cell, a control, a drawing, an icon, a
    /// line break, an element of XML data.
    pub fn is_apart(self) -> bool {
        let tag = self.tag();
        match tag {
            Tag::Br
            | Tag::Button
            | Tag::Head
            | Tag::Select
            | Tag::Td
            | Tag::Textarea
            | Tag::Th
            | Tag::Title => true,
            Tag::Other if self.namespace() == Namespace::Svg => {
                matches!(self.name(), "svg" | "text")
            }
            Tag::Other if self.namespace() == Namespace::Other => true,
            _ => tag.is_block() || self.is_styled_as_block() || self.is_icon(),
        }
    }
}

/// Whether elements of this name have no text for a reader.
pub(super) fn is_unseen(tag: Tag, namespace: u8, name: &str) -> bool {
    match (tag, namespace) {
        (Tag::Head | Tag::Noscript | Tag::Rp | Tag::Title, _) => false,
        (Tag::Other, 1) => matches!(name, "desc" | "metadata" | "script" | "style" | "title"),
        (Tag::Other, 2) => matches!(name, "annotation" | "annotation-xml"),
        (tag, _) => tag.is_never_shown(),
    }
}

/// The text nodes with text for a reader, in page order. One pass over the page.
pub(super) fn shown_texts(arrays: &Arrays<'_>, names: &Names) -> Box<[u32]> {
    let mut texts = Vec::new();
    let mut at = 0;
    while at < arrays.kinds.len() {
        let is_inside_unseen = match arrays.kinds[at] {
            kind::TEXT => {
                let text = arrays.text_of(arrays.starts[at], arrays.counts[at]);
                if arrays.is_kept(at as u32) && !is_blank(text) {
                    texts.push(at as u32);
                }
                false
            }
            kind::TEMPLATE_CONTENTS => true,
            kind::ELEMENT => names.are_unseen[arrays.names[at] as usize],
            _ => false,
        };
        at = if is_inside_unseen {
            (arrays.ends[at] as usize).max(at + 1)
        } else {
            at + 1
        };
    }
    texts.into_boxed_slice()
}

/// For each number of these texts, the size of the first ones in bytes without white space.
pub(super) fn shown_sums(arrays: &Arrays<'_>, texts: &[u32]) -> Box<[u32]> {
    let mut sum = 0;
    let sizes = texts.iter().map(|&text| {
        let text = arrays.text_of(arrays.starts[text as usize], arrays.counts[text as usize]);
        let words = text.split_ascii_whitespace();
        sum += words.map(str::len).sum::<usize>() as u32;
        sum
    });
    std::iter::once(0).chain(sizes).collect()
}

/// The boundaries of elements between a text and the next one. They keep the texts apart, except a
/// single boundary of a neutral element ([`Element::is_neutral`]) in the middle of a text, which is
/// no more information than a comment is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edges {
    n_neutral: usize,
    has_other: bool,
}

impl Edges {
    /// Passes the start or the end of an element that is not unseen.
    pub fn pass(&mut self, element: Element<'_>) {
        match element.tag() {
            Tag::Wbr => {}
            _ if element.is_neutral() => self.n_neutral += 1,
            _ => self.has_other = true,
        }
    }

    /// Whether the next text is apart from the last one.
    pub fn are_apart(self) -> bool {
        self.has_other || self.n_neutral > 1
    }
}

/// Whether a text is only white space of the source.
fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}

/// Whether a reader sees a character: it is not white space and has a width.
fn is_seen(c: char) -> bool {
    let has_no_width = matches!(
        c,
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{fe0e}' | '\u{fe0f}' | '\u{feff}'
    );
    !has_no_width && !c.is_whitespace()
}

/// A line of text under construction: ASCII white space folded, none at its ends.
#[derive(Clone, Debug, Default)]
pub struct Line {
    text: String,
    /// Whether a blank stands before what follows.
    has_blank: bool,
}

impl Line {
    /// Puts a blank between what was added and what follows.
    pub fn blank(&mut self) {
        self.has_blank = true;
    }

    /// Adds text; white space at its ends and inside becomes one blank.
    pub fn push(&mut self, text: &str) {
        let is_space = |c: char| c.is_ascii_whitespace();
        self.has_blank |= text.starts_with(is_space);
        let mut words = text.split_ascii_whitespace().peekable();
        while let Some(word) = words.next() {
            if self.has_blank && !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(word);
            self.has_blank = words.peek().is_some() || text.ends_with(is_space);
        }
    }

    /// The text so far.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use super::Edges;
    use crate::{Step, testkit};

    #[track_caller]
    fn check(html: &str, expected: &str) {
        let page = testkit::page(html);
        let document = page.document();
        let body = document.body().expect("a body");
        assert_eq!(body.line_text(), expected, "{html}");
    }

    #[test]
    fn nothing_is_between_inline_nodes() {
        check("<p>$<!-- -->19<!-- -->.99</p>", "$19.99");
        check(
            "Micro<b>soft</b>, H<sub>2</sub>O, <a>this</a>.",
            "Microsoft, H2O, this.",
        );
        check(
            "super<wbr>cali 中<b>文</b>字 &lt;<a>T</a>&gt;",
            "supercali 中文字 <T>",
        );
        check("a<b> b</b> <i> c</i>", "a b c");
        check(
            "a<script>x</script>b<style>x</style>c<template>x</template>d",
            "abcd",
        );
    }

    #[test]
    fn blocks_cells_controls_and_line_breaks_are_apart() {
        check("a<div>b</div>c<p>d<p>e", "a b c d e");
        check("<table><tr><td>a<td>b<tr><td>c</table>d", "a b c d");
        check("a<br>b<hr>c", "a b c");
        check(
            "a<button>b</button>c<select><option>d<option>e</select>f",
            "a b c d e f",
        );
        check("a<span style='display:block'>b</span>c", "a b c");
        check("<i class=material-icons>add</i>Add", "add Add");
    }

    #[test]
    fn white_space_is_folded_but_other_spaces_stay() {
        check("<pre> a \n\n\t b </pre>", "a b");
        check("a&nbsp;b&nbsp; c\u{3000}d", "a\u{a0}b\u{a0} c\u{3000}d");
        check("&nbsp;", "\u{a0}");
        check(" \n ", "");
    }

    #[test]
    fn drawings_formulas_and_media_keep_their_notes() {
        check(
            "a<svg><title>x</title><style>x</style><text>b</text></svg>c",
            "a b c",
        );
        check("<math><mi>E</mi><annotation>x</annotation></math>", "E");
        check(
            "a<video>x</video><iframe>x</iframe>b<noscript>c</noscript>",
            "abc",
        );
    }

    #[test]
    fn a_script_that_is_asked_for_has_its_text() {
        let page = testkit::page("<script> var a = 1; </script><svg><style>b</style></svg>");
        let document = page.document();
        let of = |css| {
            document
                .select(css)
                .expect("CSS")
                .next()
                .expect("one")
                .line_text()
        };
        assert_eq!(of("script"), "var a = 1;");
        assert_eq!(of("svg > style"), "b");
    }

    #[test]
    fn permalinks_are_links_with_a_sign_to_a_place() {
        let html = "<h2>a<a href=#a>¶</a><span><a href='b#c'><!-- -->#<!-- --></a></span></h2>b<a href=#b>#</a>";
        check(html, "a b#");
        let page = testkit::page(
            "<a href=#a>¶</a><a href=#a></a><a href=a>#</a><a href=#a>a</a><a href=#a><img></a><b>#</b>",
        );
        let document = page.document();
        let links = document.body().expect("a body").child_elements();
        let found: Vec<bool> = links.map(|link| link.is_permalink()).collect();
        assert_eq!(found, [true, true, false, false, false, false]);
        let is_permalink = |text: &str| {
            let page = testkit::page(&format!("<a href=#a>{text}</a>"));
            let document = page.document();
            let mut links = document.body().expect("a body").child_elements();
            links.next().is_some_and(|link| link.is_permalink())
        };
        for sign in ["\u{200b}", " \u{feff}#", "⚓\u{fe0e}", "🔗\u{fe0f}"] {
            assert!(is_permalink(sign), "{sign:?}");
        }
        for text in ["##", "§ 5", "\u{200b}a"] {
            assert!(!is_permalink(text), "{text:?}");
        }
    }

    #[test]
    fn a_neutral_element_in_a_text_does_not_keep_its_parts_apart() {
        let are_apart = |html: &str| {
            let page = testkit::page(html);
            let document = page.document();
            let mut edges = Edges::default();
            for step in document.body().expect("a body").walk().skip(2) {
                match step {
                    Step::Enter(node) if node.as_text() == Some("b") => return edges.are_apart(),
                    Step::Enter(node) | Step::Leave(node) => {
                        node.as_element()
                            .into_iter()
                            .for_each(|inner| edges.pass(inner));
                    }
                }
            }
            panic!("no second text in {html}");
        };
        assert!(!are_apart("a<span>b</span>"));
        assert!(!are_apart("a<!-- --><wbr>b"));
        assert!(are_apart("a<span></span><span>b</span>"));
        assert!(are_apart("a<span class=x>b</span>"));
        assert!(are_apart("a<br>b"));
    }

    #[test]
    fn reading_stops_when_it_is_told_to() {
        let page = testkit::page("<p>a<p>b");
        let document = page.document();
        let mut n_left = 3;
        let text = document.root().line_text_while(|_| {
            n_left -= 1;
            n_left >= 0
        });
        assert_eq!(text, None);
    }

    #[test]
    fn limits_count_what_a_reader_sees() {
        let html = "<div> <!-- x --> a<span>b <b>c</b></span><script>x</script><wbr></div>";
        let page = testkit::page(html);
        let document = page.document();
        let body = document.body().expect("a body");
        assert_eq!(body.n_shown_bytes(), 3);
        let n_counted = body.descendants().filter(|node| node.is_counted()).count();
        // The div, its three texts, the b, and the text of the script, which callers skip.
        assert_eq!(n_counted, 6);
    }

    #[test]
    fn the_main_content_starts_with_its_heading_or_its_element() {
        let starts = |html: &str| {
            let page = testkit::page(html);
            let document = page.document();
            let mut divs = document.select("div").expect("CSS");
            divs.next().expect("a div").has_main_start()
        };
        assert!(starts("<div><p>a<h1>b</h1></div>"));
        assert!(starts("<div><main>a</main></div>"));
        assert!(starts("<div><p role=main>a</div>"));
        assert!(!starts("<h1>a</h1><div><p>b</div><main>c</main>"));
        assert!(!starts("<div><template><h1>a</h1></template></div>"));
    }

    #[test]
    fn shown_texts_are_those_with_text_for_a_reader() {
        let html = "<p> <!--x--> <b>a</b><script>x</script> <template>x</template>b<p id=x> <style>x</style>";
        let page = testkit::page(html);
        let document = page.document();
        let texts: Vec<_> = document.root().shown_texts().collect();
        assert_eq!(texts, ["a", "b"]);
        let mut paragraphs = document.select("p").expect("CSS");
        assert!(paragraphs.next().expect("one").has_shown_text());
        assert!(!paragraphs.next().expect("two").has_shown_text());
        let page = page.without("b");
        let document = page.document();
        let texts: Vec<_> = document.root().shown_texts().collect();
        assert_eq!(texts, ["b"]);
    }
}
