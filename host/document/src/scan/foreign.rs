//! Whether markup is SVG or MathML, where no element contains raw text. Source: WHATWG
//! HTML, "The rules for parsing tokens in foreign content".

/// HTML elements that end foreign content where they begin.
const BREAKING: [&str; 44] = [
    "b",
    "big",
    "blockquote",
    "body",
    "br",
    "center",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "embed",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "hr",
    "i",
    "img",
    "li",
    "listing",
    "menu",
    "meta",
    "nobr",
    "ol",
    "p",
    "pre",
    "ruby",
    "s",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "table",
    "tt",
    "u",
    "ul",
    "var",
];
/// Elements of SVG that contain HTML.
const IN_SVG: [&str; 3] = ["desc", "foreignobject", "title"];
/// Elements of MathML that contain HTML.
const IN_MATH: [&str; 6] = ["annotation-xml", "mi", "mn", "mo", "ms", "mtext"];

/// A kind of markup inside foreign content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Markup {
    Svg,
    Math,
    /// HTML inside one of [`IN_SVG`] or [`IN_MATH`], which this is the index of.
    Html(u8),
}

/// The open elements that change the kind of markup, from the outermost.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    open: Vec<Markup>,
    /// The last of them. Every tag of a page asks for it.
    last: Option<Markup>,
    /// How many of them are of each kind, so that an end tag without a start is passed at once.
    counts: [usize; 2 + IN_SVG.len() + IN_MATH.len()],
}

impl Foreign {
    /// Whether the markup here is not HTML.
    pub(super) fn is_here(&self) -> bool {
        matches!(self.last, Some(Markup::Svg | Markup::Math))
    }

    /// Whether the markup here is SVG.
    pub(super) fn is_svg(&self) -> bool {
        self.last == Some(Markup::Svg)
    }

    /// A start tag begins, whatever its element.
    pub(super) fn start(&mut self, name: &[u8]) {
        if self.is_here() && names(&BREAKING, name).is_some() {
            while self.is_here() {
                self.pop();
            }
        }
    }

    /// A start tag ended.
    pub(super) fn enter(&mut self, name: &[u8]) {
        let markup = match self.last {
            None | Some(Markup::Html(_)) if name.eq_ignore_ascii_case(b"svg") => Markup::Svg,
            None | Some(Markup::Html(_)) if name.eq_ignore_ascii_case(b"math") => Markup::Math,
            Some(Markup::Svg) => match names(&IN_SVG, name) {
                Some(index) => Markup::Html(index),
                None if name.eq_ignore_ascii_case(b"svg") => Markup::Svg,
                None => return,
            },
            Some(Markup::Math) => match names(&IN_MATH, name) {
                Some(index) => Markup::Html(index + IN_SVG.len() as u8),
                None if name.eq_ignore_ascii_case(b"math") => Markup::Math,
                None => return,
            },
            _ => return,
        };
        self.counts[slot(markup)] += 1;
        self.open.push(markup);
        self.last = Some(markup);
    }

    /// An end tag.
    pub(super) fn leave(&mut self, name: &[u8]) {
        if self.last.is_none() {
            return;
        }
        if names(&["br", "p"], name).is_some() {
            return self.start(name);
        }
        let markup = if name.eq_ignore_ascii_case(b"svg") {
            Markup::Svg
        } else if name.eq_ignore_ascii_case(b"math") {
            Markup::Math
        } else if let Some(index) = names(&IN_SVG, name) {
            Markup::Html(index)
        } else if let Some(index) = names(&IN_MATH, name) {
            Markup::Html(index + IN_SVG.len() as u8)
        } else {
            return;
        };
        while self.counts[slot(markup)] > 0 && self.pop() != Some(markup) {}
    }

    fn pop(&mut self) -> Option<Markup> {
        let markup = self.open.pop()?;
        self.last = self.open.last().copied();
        self.counts[slot(markup)] -= 1;
        Some(markup)
    }
}

fn slot(markup: Markup) -> usize {
    match markup {
        Markup::Svg => 0,
        Markup::Math => 1,
        Markup::Html(index) => 2 + usize::from(index),
    }
}

/// The index of a name, in any case.
fn names(known: &[&str], name: &[u8]) -> Option<u8> {
    let index = known
        .iter()
        .position(|known| name.eq_ignore_ascii_case(known.as_bytes()));
    index.and_then(|index| u8::try_from(index).ok())
}
