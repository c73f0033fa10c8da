//! Reads a page that a browser serialised from its tree: every element has both of its tags, so the
//! tree is what they say, and the parser has nothing to repair. Scripts build trees that no source
//! has (a block in a paragraph, a row right in a table, a link in a link), and a parser would take
//! them apart. Source: WHATWG HTML, "Serializing HTML fragments". Decision D340.
//!
//! A page whose tags do not match is parsed like any other.

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, LocalName, Namespace, QualName, local_name, ns};

use super::limits::{LimitCheck, ParseError};
use super::names::Spellings;
use super::sink::{Handle, Sink};
use super::{kind, raw, reference, tag};

/// Elements without an end tag.
const VOID: [&str; 18] = [
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input",
    "keygen", "link", "meta", "param", "source", "track", "wbr",
];
/// Elements whose text is written as it is.
const RAW: [&str; 7] = [
    "iframe",
    "noembed",
    "noframes",
    "plaintext",
    "script",
    "style",
    "xmp",
];
/// Elements of SVG that contain HTML.
const IN_SVG: [&str; 3] = ["desc", "foreignObject", "title"];
/// Elements of MathML that contain HTML.
const IN_MATH: [&str; 6] = ["annotation-xml", "mi", "mn", "mo", "ms", "mtext"];

/// What kind of markup an element belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Markup {
    Html,
    Svg,
    Math,
}

/// A part of the source.
#[derive(Debug)]
enum Token<'a> {
    Start {
        name: &'a str,
        markup: Markup,
        /// Where its attributes begin.
        attributes: usize,
        /// Whether it has no end tag.
        is_void: bool,
    },
    End,
    /// Text without references.
    Raw(&'a str),
    /// Text with references.
    Text(&'a str),
    Comment(&'a str),
    /// The tags do not match, or no browser writes this.
    Malformed,
}

/// A page as a browser serialised it, from its root on.
pub(super) struct Serialised<'a> {
    text: &'a str,
    /// Where the root element begins.
    root: usize,
}

impl<'a> Serialised<'a> {
    /// `None` if the tags of the page do not match, or nest deeper than `depth_max` levels.
    pub(super) fn of(text: &'a str, depth_max: usize) -> Option<Self> {
        let root = root_of(text)?;
        let (mut level, mut n_roots) = (0_usize, 0);
        for token in Reader::new(text, root) {
            let is_valid = match token {
                Token::Start { name, is_void, .. } => {
                    let is_root = level == 0;
                    n_roots += usize::from(is_root);
                    level += usize::from(!is_void);
                    n_roots == 1 && level <= depth_max && (!is_root || name == "html")
                }
                Token::End => {
                    level -= 1;
                    true
                }
                Token::Raw(text) | Token::Text(text) => level > 0 || text.trim_ascii().is_empty(),
                Token::Comment(_) => true,
                Token::Malformed => false,
            };
            if !is_valid {
                return None;
            }
        }
        (level == 0 && n_roots == 1).then_some(Self { text, root })
    }

    /// What precedes the root: the doctype, and comments.
    pub(super) fn prologue(&self) -> &'a str {
        &self.text[..self.root]
    }

    /// Adds the tree to the prologue's.
    ///
    /// # Errors
    /// A limit is reached.
    pub(super) fn build(
        &self,
        sink: &Sink,
        spellings: &mut Spellings,
        attributes_max: usize,
        limits: &mut LimitCheck<'_>,
    ) -> Result<(), ParseError> {
        let has_doctype = {
            let arena = sink.arena.borrow();
            arena.nodes.iter().any(|node| node.kind == kind::DOCTYPE)
        };
        if !has_doctype {
            sink.set_quirks_mode(QuirksMode::Quirks);
        }
        let mut builder = Builder {
            text: self.text,
            sink,
            spellings,
            attributes_max,
            open: Vec::new(),
        };
        for token in Reader::new(self.text, self.root) {
            limits.tick(sink)?;
            builder.add(&token);
        }
        Ok(())
    }
}

/// Where the root element begins, behind the doctype and comments.
fn root_of(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        at += memchr::memchr(b'<', &bytes[at..])?;
        let rest = &bytes[at..];
        at = if rest.starts_with(b"<!--") {
            raw::comment_end(bytes, at + "<!--".len())?.next
        } else if rest.starts_with(b"<!") {
            at + memchr::memchr(b'>', rest)? + 1
        } else {
            return rest.starts_with(b"<html").then_some(at);
        };
    }
}

/// Reads the tokens of a page.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    open: Vec<(&'a str, Markup)>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, at: usize) -> Self {
        Self {
            text,
            at,
            open: Vec::new(),
        }
    }

    /// The name of the element whose text is written as it is, if the text here belongs to one.
    fn raw_element(&self) -> Option<&'a str> {
        let (name, markup) = self.open.last()?;
        (*markup == Markup::Html && RAW.contains(name)).then_some(*name)
    }

    fn take(&mut self, end: usize) -> &'a str {
        let taken = &self.text[self.at..end];
        self.at = end;
        taken
    }

    fn markup(&mut self) -> Token<'a> {
        match &self.text.as_bytes()[self.at + 1..] {
            [first, ..] if first.is_ascii_alphabetic() => self.start_tag(),
            [b'/', first, ..] if first.is_ascii_alphabetic() => self.end_tag(),
            [b'!', b'-', b'-', ..] => {
                let start = self.at + "<!--".len();
                match raw::comment_end(self.text.as_bytes(), start) {
                    None => Token::Malformed,
                    Some(comment) => {
                        self.at = comment.next;
                        Token::Comment(&self.text[start..comment.text_end])
                    }
                }
            }
            _ => Token::Malformed,
        }
    }

    fn start_tag(&mut self) -> Token<'a> {
        let attributes = tag::name_end(self.text, self.at + 1);
        let name = &self.text[self.at + 1..attributes];
        let Some(extent) = tag::attributes(self.text, attributes, |_, _| {}) else {
            return Token::Malformed;
        };
        let markup = self.markup_of(name);
        let is_void = markup == Markup::Html && VOID.contains(&name);
        if !is_void {
            self.open.push((name, markup));
        }
        self.at = extent.end;
        Token::Start {
            name,
            markup,
            attributes,
            is_void,
        }
    }

    /// What an element of this name is inside the element that is open.
    fn markup_of(&self, name: &str) -> Markup {
        let (outer, markup) = self.open.last().copied().unwrap_or(("", Markup::Html));
        let holds_html = match markup {
            Markup::Html => true,
            Markup::Svg => IN_SVG.contains(&outer),
            Markup::Math => IN_MATH.contains(&outer) && name != "mglyph" && name != "malignmark",
        };
        match name {
            "svg" if holds_html => Markup::Svg,
            "math" if holds_html => Markup::Math,
            _ if holds_html => Markup::Html,
            _ => markup,
        }
    }

    fn end_tag(&mut self) -> Token<'a> {
        let name_end = tag::name_end(self.text, self.at + 2);
        let name = &self.text[self.at + 2..name_end];
        let Some(extent) = tag::attributes(self.text, name_end, |_, _| {}) else {
            return Token::Malformed;
        };
        self.at = extent.end;
        if self.open.pop_if(|open| open.0 == name).is_some() {
            Token::End
        } else if VOID.contains(&name) || RAW.contains(&name) {
            // Some are written with an end tag, and a script's text may hold its own.
            Token::Text("")
        } else {
            Token::Malformed
        }
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = &self.text.as_bytes()[self.at..];
        if rest.is_empty() {
            return None;
        }
        if let Some(name) = self.raw_element() {
            let end = raw::text_end(self.text.as_bytes(), self.at, name);
            if end > self.at {
                return Some(Token::Raw(self.take(end)));
            }
        }
        match memchr::memchr(b'<', rest) {
            Some(0) => Some(self.markup()),
            length => {
                let end = self.at + length.unwrap_or(rest.len());
                Some(Token::Text(self.take(end)))
            }
        }
    }
}

/// A page's tree up to the current token.
struct Builder<'b> {
    text: &'b str,
    sink: &'b Sink,
    spellings: &'b mut Spellings,
    attributes_max: usize,
    open: Vec<Handle>,
}

impl Builder<'_> {
    fn add(&mut self, token: &Token<'_>) {
        match *token {
            Token::Start {
                name,
                markup,
                attributes,
                is_void,
            } => self.start(name, markup, attributes, is_void),
            Token::End => {
                self.open.pop();
            }
            Token::Raw(text) => self.add_text(StrTendril::from(text)),
            Token::Text(text) => self.add_text(expanded(text)),
            Token::Comment(text) => {
                let comment = self.sink.create_comment(StrTendril::from(text));
                self.append(NodeOrText::AppendNode(comment));
            }
            // The page was read to its end before.
            Token::Malformed => {}
        }
    }

    fn append(&self, child: NodeOrText<Handle>) {
        let document = self.sink.get_document();
        let parent = self.open.last().unwrap_or(&document);
        self.sink.append(parent, child);
    }

    fn add_text(&self, text: StrTendril) {
        if !self.open.is_empty() && !text.is_empty() {
            self.append(NodeOrText::AppendText(text));
        }
    }

    fn start(&mut self, name: &str, markup: Markup, attributes: usize, is_void: bool) {
        let attributes = self.attributes(attributes, markup != Markup::Html);
        let name = match markup {
            Markup::Html => QualName::new(None, ns!(html), self.spellings.atom(name)),
            Markup::Svg => QualName::new(None, ns!(svg), LocalName::from(name)),
            Markup::Math => QualName::new(None, ns!(mathml), LocalName::from(name)),
        };
        let is_template = name.ns == ns!(html) && name.local == local_name!("template");
        let mut flags = ElementFlags::default();
        flags.template = is_template;
        let element = self.sink.create_element(name, attributes, flags);
        self.append(NodeOrText::AppendNode(element));
        if is_template {
            self.open.push(self.sink.get_template_contents(&element));
        } else if !is_void {
            self.open.push(element);
        }
    }

    /// The attributes of the tag whose name ends at `from`. In SVG and MathML they keep the
    /// case of their names, and a prefix there is a namespace.
    fn attributes(&mut self, from: usize, is_foreign: bool) -> Vec<Attribute> {
        let mut list: Vec<Attribute> = self.sink.spare.take();
        let text = self.text;
        tag::attributes(text, from, |name, value| {
            if list.len() >= self.attributes_max {
                return;
            }
            let name = &text[name.0..name.1];
            let prefix = name.split_once(':').filter(|_| is_foreign);
            let local = if is_foreign {
                LocalName::from(name)
            } else {
                self.spellings.atom(name)
            };
            if list.iter().any(|known| known.name.local == local) {
                return;
            }
            let space = prefix.map_or(ns!(), |(prefix, _)| Namespace::from(prefix));
            let value = &text[value.0..value.1];
            list.push(Attribute {
                name: QualName::new(None, space, local),
                value: expanded(value),
            });
        });
        list
    }
}

/// A text with its references expanded.
fn expanded(text: &str) -> StrTendril {
    match memchr::memchr(b'&', text.as_bytes()) {
        None => StrTendril::from(text),
        Some(_) => StrTendril::from(reference::replace_all(text)),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::super::tests::{check_consistent, page_url};
    use super::super::{Document, Page, ParseLimits, namespace, parse, scan};
    use super::*;

    fn parsed(html: &str, is_serialised: bool) -> Document {
        let url = page_url();
        let page = Page {
            is_serialised,
            ..Page::html(html, &url)
        };
        let document = parse(&page, &ParseLimits::default()).expect("within limits");
        check_consistent(&document);
        document
    }

    /// The HTML that a browser writes for this tree.
    fn written(document: &Document) -> String {
        let mut html = String::new();
        write_children(document, 0, &mut html);
        html
    }

    fn write_children(document: &Document, parent: usize, html: &mut String) {
        let escape = |text: &str| {
            let text = text.replace('&', "&amp;").replace('\u{a0}', "&nbsp;");
            text.replace('<', "&lt;").replace('>', "&gt;")
        };
        let mut node = parent + 1;
        while node < document.ends[parent] as usize {
            let name = document.name(node);
            let is_html = document.name_spaces[document.names[node] as usize] == namespace::HTML;
            match document.kinds[node] {
                kind::DOCTYPE => write!(html, "<!DOCTYPE {name}>").expect("a string"),
                kind::COMMENT => {
                    write!(html, "<!--{}-->", document.node_text(node)).expect("a string")
                }
                kind::TEXT => {
                    let text = document.node_text(node);
                    let is_raw = RAW.contains(&document.name(parent));
                    html.push_str(&if is_raw {
                        text.to_owned()
                    } else {
                        escape(text)
                    });
                }
                kind::ELEMENT => {
                    write!(html, "<{name}").expect("a string");
                    for (name, value) in document.attributes(node) {
                        let value = escape(value).replace('"', "&quot;");
                        write!(html, " {name}=\"{value}\"").expect("a string");
                    }
                    html.push('>');
                    if !(is_html && VOID.contains(&name)) {
                        write_children(document, node, html);
                        write!(html, "</{name}>").expect("a string");
                    }
                }
                _ => write_children(document, node, html),
            }
            node = document.ends[node] as usize;
        }
    }

    /// The tree of a page's body: names with their content in brackets.
    fn body(document: &Document) -> String {
        fn write(document: &Document, parent: usize, out: &mut String) {
            let mut node = parent + 1;
            while node < document.ends[parent] as usize {
                match document.kinds[node] {
                    kind::TEXT => out.push_str(document.node_text(node)),
                    kind::ELEMENT => {
                        out.push_str(document.name(node));
                        out.push('(');
                        write(document, node, out);
                        out.push(')');
                    }
                    _ => {}
                }
                node = document.ends[node] as usize;
            }
        }
        let mut out = String::new();
        let body = document.elements_named("body").next().expect("a body");
        write(document, body, &mut out);
        out
    }

    #[track_caller]
    fn check(written: &str, expected: &str) {
        let html = format!("<!DOCTYPE html><html><head></head><body>{written}</body></html>");
        assert_eq!(body(&parsed(&html, true)), expected, "{written}");
    }

    #[test]
    fn trees_that_no_source_has_stay_whole() {
        for (written, expected) in [
            (
                "<p>a<div>b</div><ul><li>c</li></ul>d</p>",
                "p(adiv(b)ul(li(c))d)",
            ),
            ("<table><tr><td>5</td></tr></table>", "table(tr(td(5)))"),
            ("<a>a<a>b</a>c</a>", "a(aa(b)c)"),
            ("<button><button>b</button></button>", "button(button(b))"),
            ("<h1>a<h2>b</h2></h1>", "h1(ah2(b))"),
            ("<td>a</td><li>b</li><body>c</body>", "td(a)li(b)body(c)"),
            ("<pre>\n\na &lt;b&gt;&amp;amp;</pre>", "pre(\n\na <b>&amp;)"),
            (
                "<p>a<br>b<img src=\"x\"><param></param>c</p>",
                "p(abr()bimg()param()c)",
            ),
        ] {
            check(written, expected);
        }
    }

    #[test]
    fn raw_text_ends_with_its_own_tag() {
        check(
            "<script>a<!--<script>b</script><p>c</p>",
            "script(a<!--<script>b)p(c)",
        );
        check("<style>a &gt; b</style>", "style(a &gt; b)");
        check("<script>'</script>'</script>c", "script(')'c");
        check("<svg><style>a &gt; b</style></svg>", "svg(style(a > b))");
        check(
            "<textarea>&lt;p&gt;</textarea><script></script>",
            "textarea(<p>)script()",
        );
    }

    #[test]
    fn elements_of_drawings_and_templates_are_what_they_were() {
        let html = "<html><body><svg viewBox=\"0\"><linearGradient xlink:href=\"#a\"></linearGradient>\
                    <foreignObject><p>x<svg></svg></p></foreignObject></svg><math><mi><b>y</b></mi><link></link></math>\
                    <template><td>z</td></template></body></html>";
        let document = parsed(html, true);
        let space_of = |name: &str| {
            let node = (1..document.kinds.len()).find(|&node| document.name(node) == name);
            document.name_spaces[document.names[node.expect("an element")] as usize]
        };
        assert_eq!(space_of("linearGradient"), namespace::SVG);
        assert_eq!(space_of("foreignObject"), namespace::SVG);
        assert_eq!(space_of("p"), namespace::HTML);
        assert_eq!(space_of("link"), namespace::MATHML);
        assert_eq!(space_of("b"), namespace::HTML);
        let svg = (1..document.kinds.len()).find(|&node| document.name(node) == "svg");
        let attributes: Vec<_> = document.attributes(svg.expect("an svg")).collect();
        assert_eq!(attributes, [("viewBox", "0")]);
        assert!(document.kinds.contains(&kind::TEMPLATE_CONTENTS));
        assert!(document.quirks);
        assert!(!parsed("<!DOCTYPE html><html></html>", true).quirks);
    }

    #[test]
    fn what_no_browser_writes_is_parsed() {
        for html in [
            "<p>a<p>b",
            "<html><body><p>a</div></body></html>",
            "<html><body><p>a</body></html>",
            "<html></html><html></html>",
            "<html></html>x",
            "<html><body>a < b</body></html>",
            "<html><body><!-- a</body></html>",
            "<div></div>",
            "<?xml version='1.0'?><html></html>",
            "",
        ] {
            assert_eq!(parsed(html, true), parsed(html, false), "{html}");
        }
        let deep = format!("<html>{}{}</html>", "<p>".repeat(600), "</p>".repeat(600));
        assert_eq!(parsed(&deep, true), parsed(&deep, false));
    }

    #[test]
    fn a_parsed_page_that_is_written_again_is_the_same() {
        for html in [
            "<!doctype html><title>a &amp; b</title><p class=x>a<p>b<table><td>c<!-- d --></table><b><i>e</b>f</i>",
            "<svg viewBox=0><a xlink:href=/x>a</a></svg><math><mi>b</math><template><tr><td>c</template>",
            "<script>if (a < b && c) {}</script><style>a > b {}</style><select><option>a<option>b</select>",
        ] {
            let document = parsed(html, false);
            let again = parsed(&written(&document), true);
            assert_eq!(written(&again), written(&document), "{html}");
            assert_eq!(again.kinds, document.kinds, "{html}");
            assert_eq!(again.parents, document.parents, "{html}");
            assert_eq!(again.quirks, document.quirks, "{html}");
        }
    }

    #[test]
    fn links_behind_a_script_are_found() {
        let url = page_url();
        let html = "<html><body><script>a<!--<script>b</script><a href=\"/x\">c</a></body></html>";
        let page = Page {
            is_serialised: true,
            ..Page::html(html, &url)
        };
        assert_eq!(scan(&page).iter().count(), 1);
    }
}
