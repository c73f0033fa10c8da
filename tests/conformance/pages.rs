//! Pages that are drawn: trees that a parser of HTML and one of XML read alike.

use crate::draw::Draw;
use crate::parsed::Parsed;

/// An element with all that is in it.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) name: &'static str,
    pub(crate) attributes: Vec<(&'static str, String)>,
    pub(crate) children: Vec<Piece>,
}

/// A part of an element.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Element(Element),
    Text(String),
    Comment(String),
    /// Source as it is.
    Source(&'static str),
}

/// A page.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) head: Element,
    pub(crate) body: Element,
}

/// Elements that have no content and no end tag.
const VOID: [&str; 5] = ["br", "img", "meta", "hr", "link"];
/// Elements that hold others of any kind.
const BLOCKS: [&str; 8] = [
    "div",
    "div",
    "section",
    "article",
    "blockquote",
    "main",
    "aside",
    "figure",
];
/// Elements that hold a text.
const LINES: [&str; 7] = ["p", "p", "h1", "h2", "h3", "pre", "address"];
/// Elements inside a text.
const INLINES: [&str; 12] = [
    "span", "span", "b", "i", "em", "strong", "code", "small", "sup", "u", "cite", "label",
];
pub(crate) const CLASSES: [&str; 5] = ["a", "b", "c", "note", "Price"];
const WORDS: [&str; 24] = [
    "tide",
    "harbour",
    "Kettle",
    "of",
    "the",
    "42",
    "19.99",
    "$",
    "é",
    "日本",
    "naïve",
    "x_y",
    "*",
    "a&b",
    "<b>",
    "\"q\"",
    "it's",
    "no\u{a0}break",
    "end.",
    "Why?",
    "#1",
    "[x]",
    "`c`",
    "😀",
];
/// White space between words. Of a carriage return parsers make different things.
const BLANKS: [&str; 7] = [" ", " ", " ", "\n", "  ", "\t", " \n  "];

impl Page {
    /// Draws a page. Each of its elements has an id of its own.
    pub(crate) fn draw(draw: &mut Draw) -> Self {
        let mut maker = Maker {
            draw,
            n_elements: 0,
            n_left: 0,
        };
        maker.n_left = maker.draw.between(3, 40);
        let mut head = maker.element("head");
        let mut title = maker.element("title");
        title.children.push(Piece::Text(maker.words()));
        head.children.push(Piece::Element(title));
        let mut body = maker.element("body");
        body.children = maker.flow(0);
        Self { head, body }
    }

    /// The page as HTML.
    pub(crate) fn html(&self) -> String {
        format!("<!DOCTYPE html>{}", self.xml())
    }

    /// The page as XML.
    pub(crate) fn xml(&self) -> String {
        let mut text = "<html id=\"top\">".to_owned();
        self.head.write(&mut text);
        self.body.write(&mut text);
        text + "</html>"
    }

    /// All its elements, in order.
    pub(crate) fn elements(&self) -> Vec<&Element> {
        let mut elements = Vec::new();
        self.head.collect(&mut elements);
        self.body.collect(&mut elements);
        elements
    }
}

impl Element {
    /// Its id, which every element of a drawn page has.
    pub(crate) fn id(&self) -> &str {
        let id = self.attributes.iter().find(|(name, _)| *name == "id");
        id.map_or("", |(_, value)| value)
    }

    pub(crate) fn is_void(&self) -> bool {
        VOID.contains(&self.name)
    }

    fn collect<'a>(&'a self, into: &mut Vec<&'a Self>) {
        into.push(self);
        for child in &self.children {
            if let Piece::Element(element) = child {
                element.collect(into);
            }
        }
    }

    fn write(&self, text: &mut String) {
        *text += "<";
        *text += self.name;
        for (name, value) in &self.attributes {
            *text += &format!(" {name}=\"{}\"", escaped(value));
        }
        if self.is_void() {
            *text += "/>";
            return;
        }
        *text += ">";
        for child in &self.children {
            match child {
                Piece::Element(element) => element.write(text),
                Piece::Text(content) => *text += &escaped(content),
                Piece::Comment(content) => *text += &format!("<!--{content}-->"),
                Piece::Source(source) => *text += source,
            }
        }
        *text += &format!("</{}>", self.name);
    }
}

/// Text or the value of an attribute in HTML and XML.
pub(crate) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Makes the elements of one page.
struct Maker<'a> {
    draw: &'a mut Draw,
    n_elements: usize,
    n_left: usize,
}

impl Maker<'_> {
    /// An element with attributes and without content.
    fn element(&mut self, name: &'static str) -> Element {
        let id = format!("n{}", self.n_elements);
        self.n_elements += 1;
        self.n_left = self.n_left.saturating_sub(1);
        let mut attributes = vec![("id", id)];
        if self.draw.often(50) {
            let n_classes = self.draw.between(1, 3);
            let classes = (0..n_classes).map(|_| self.draw.one(&CLASSES));
            attributes.push(("class", classes.collect::<Vec<_>>().join(" ")));
        }
        for other in ["title", "lang", "data-x"] {
            if self.draw.often(12) {
                let value = self
                    .draw
                    .one(&["a", "de-DE", "de", "Price", "a b", "", "x\"y"]);
                attributes.push((other, value.to_owned()));
            }
        }
        if self.draw.often(50) {
            attributes.reverse();
        }
        Element {
            name,
            attributes,
            children: Vec::new(),
        }
    }

    /// Blocks and texts, so deep in the page.
    fn flow(&mut self, depth: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for _ in 0..self.draw.between(1, 5) {
            if self.n_left == 0 || depth > 8 {
                pieces.push(Piece::Text(self.words()));
                break;
            }
            let piece = match self.draw.below(12) {
                0..3 => {
                    let name = self.draw.one(&BLOCKS);
                    self.holding(name, |maker| maker.flow(depth + 1))
                }
                3..6 => {
                    let name = self.draw.one(&LINES);
                    self.holding(name, Self::line)
                }
                6 => self.list(depth),
                7 => self.table(depth),
                8 => Piece::Text(self.draw.one(&BLANKS).to_owned()),
                9 => Piece::Comment(self.draw.one(&[" ", "note", " a <b> c "]).to_owned()),
                10 => self.inline(0),
                _ => Piece::Text(self.words()),
            };
            pieces.push(piece);
        }
        pieces
    }

    fn holding(
        &mut self,
        name: &'static str,
        content: impl FnOnce(&mut Self) -> Vec<Piece>,
    ) -> Piece {
        let mut element = self.element(name);
        element.children = content(self);
        Piece::Element(element)
    }

    /// Texts and elements inside a text.
    fn line(&mut self) -> Vec<Piece> {
        // A line feed at the beginning of a `pre` is none, so it begins with a word.
        let mut pieces = vec![Piece::Text(self.draw.one(&WORDS).to_owned())];
        for _ in 0..self.draw.below(4) {
            pieces.push(self.inline(0));
        }
        pieces
    }

    fn inline(&mut self, depth: usize) -> Piece {
        if depth > 3 || self.draw.often(40) {
            return Piece::Text(self.words());
        }
        match self.draw.below(10) {
            0 => Piece::Comment("c".to_owned()),
            1 => Piece::Element(self.element("br")),
            2 => {
                let mut link = self.element("a");
                let n_parts = self.draw.between(1, 3);
                let href = self
                    .draw
                    .several(n_parts, &["/", "x", "?q=1", "../", "é", "#f"]);
                link.attributes.push(("href", href));
                // A link in a link ends the outer one.
                link.children.push(Piece::Text(self.words()));
                Piece::Element(link)
            }
            _ => {
                let name = self.draw.one(&INLINES);
                self.holding(name, |maker| {
                    let n_pieces = maker.draw.between(1, 3);
                    (0..n_pieces).map(|_| maker.inline(depth + 1)).collect()
                })
            }
        }
    }

    fn list(&mut self, depth: usize) -> Piece {
        let (list, items): (_, [&'static str; 2]) = match self.draw.below(3) {
            0 => ("ul", ["li", "li"]),
            1 => ("ol", ["li", "li"]),
            _ => ("dl", ["dt", "dd"]),
        };
        self.holding(list, |maker| {
            let mut pieces = Vec::new();
            for at in 0..maker.draw.between(1, 4) {
                let item = match items[at % 2] {
                    "dt" => maker.holding("dt", Self::line),
                    name => maker.holding(name, |maker| maker.flow(depth + 2)),
                };
                pieces.push(item);
            }
            pieces
        })
    }

    fn table(&mut self, depth: usize) -> Piece {
        let n_columns = self.draw.between(1, 3);
        self.holding("table", |maker| {
            vec![maker.holding("tbody", |maker| {
                let mut rows = Vec::new();
                for _ in 0..maker.draw.between(1, 3) {
                    rows.push(maker.holding("tr", |maker| {
                        let mut cells = Vec::new();
                        for _ in 0..n_columns {
                            let name = maker.draw.one(&["td", "td", "td", "th"]);
                            cells.push(maker.holding(name, |maker| maker.flow(depth + 3)));
                        }
                        cells
                    }));
                }
                rows
            })]
        })
    }

    /// Words with white space between them, perhaps around them.
    fn words(&mut self) -> String {
        let mut text = String::new();
        if self.draw.often(30) {
            text += self.draw.one(&BLANKS);
        }
        for at in 0..self.draw.between(1, 6) {
            if at > 0 {
                text += self.draw.one(&BLANKS);
            }
            text += self.draw.one(&WORDS);
        }
        if self.draw.often(30) {
            text += self.draw.one(&BLANKS);
        }
        text
    }
}

#[test]
fn a_drawn_page_is_read_as_it_was_made() {
    for seed in 0..200 {
        let page = Page::draw(&mut Draw::of(seed));
        let html = page.html();
        let parsed = Parsed::of(&html);
        let document = parsed.document();
        let made: Vec<(&str, &str)> = page
            .elements()
            .iter()
            .map(|it| (it.name, it.id()))
            .collect();
        let read: Vec<(&str, &str)> = document
            .elements()
            .skip(1)
            .map(|it| (it.name(), it.id().unwrap_or_default()))
            .collect();
        assert_eq!(made, read, "{html}");
    }
}
