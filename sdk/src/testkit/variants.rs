//! The same page in other source: for tests that nothing but the page's text counts.

use std::fs;
use std::path::Path;

use super::{Page, page};

/// Pages of the repository, in `tests/fixtures`.
const FIXTURES: [&str; 5] = [
    "pages/article.html",
    "xpath/pages/guide.html",
    "xpath/pages/manual.html",
    "xpath/pages/shop.html",
    "xpath/pages/tables.html",
];

/// Elements whose source is left alone: their white space or their markup is content.
#[rustfmt::skip]
const KEPT: [&str; 16] = [
    "code", "head", "iframe", "listing", "math", "noscript", "plaintext", "pre", "script",
    "select", "style", "svg", "template", "textarea", "title", "xmp",
];

/// Elements between which white space and scripts are no content.
#[rustfmt::skip]
const BLOCKS: [&str; 26] = [
    "article", "aside", "blockquote", "dd", "div", "dl", "dt", "footer", "form", "h1", "h2", "h3",
    "header", "li", "main", "nav", "ol", "p", "section", "table", "tbody", "td", "th", "thead",
    "tr", "ul",
];

/// Blocks that something may stand after.
#[rustfmt::skip]
const ENDS: [&str; 14] = [
    "article", "aside", "blockquote", "div", "dl", "h1", "h2", "h3", "li", "ol", "p", "section",
    "table", "ul",
];

/// A way to write a page differently without a difference for its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceVariant {
    /// A comment in the middle of each text.
    CommentsInTexts,
    /// A comment after each tag.
    CommentsAfterTags,
    /// A `span` without attributes around a part of each text.
    Spans,
    /// White space around the tags of blocks.
    Blanks,
    /// A script and a style after each block.
    Scripts,
}

impl SourceVariant {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::CommentsInTexts,
        Self::CommentsAfterTags,
        Self::Spans,
        Self::Blanks,
        Self::Scripts,
    ];

    /// Checks that the output of a plugin of this repository is the same for every variant of each
    /// page in `tests/fixtures`.
    ///
    /// # Panics
    /// The outputs differ.
    #[doc(hidden)]
    #[track_caller]
    pub fn check_fixtures(output: impl Fn(&Page) -> String) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
        for name in FIXTURES {
            let html = fs::read_to_string(folder.join(name)).expect("a fixture");
            Self::check_all(name, &html, |html| {
                output(&page(html).url("https://example.com/a/"))
            });
        }
    }

    /// Checks that a plugin's output is the same for every variant of a page.
    ///
    /// # Panics
    /// The outputs differ.
    #[track_caller]
    pub fn check_all(name: &str, html: &str, output: impl Fn(&str) -> String) {
        let expected = output(html);
        for variant in Self::ALL {
            let found = output(&variant.of(html));
            let mut lines = expected.lines().zip(found.lines());
            let different = lines.find(|(expected, found)| expected != found);
            assert!(found == expected, "{name} with {variant:?}: {different:#?}");
        }
    }

    /// This variant of a page. `html` is written with quoted attributes and without `>` in them.
    pub fn of(self, html: &str) -> String {
        let mut out = String::with_capacity(html.len() * 2);
        let mut kept: Option<(&str, usize)> = None;
        let mut rest = html;
        while !rest.is_empty() {
            let (part, after) = split_part(rest);
            rest = after;
            let tag = Tag::of(part);
            match (kept, tag) {
                (Some((name, depth)), Some(tag)) if tag.name == name => {
                    let depth = if tag.is_end { depth - 1 } else { depth + 1 };
                    kept = (depth > 0).then_some((name, depth));
                    out.push_str(part);
                }
                (Some(_), _) => out.push_str(part),
                (None, Some(tag)) if !tag.is_end && KEPT.contains(&tag.name) => {
                    kept = Some((tag.name, 1));
                    out.push_str(part);
                }
                (None, Some(tag)) => self.write_tag(&mut out, part, tag),
                // Comments, the document type, and what HTML reads as a comment.
                (None, None) if part.starts_with("<!") || part.starts_with("<?") => {
                    out.push_str(part)
                }
                (None, None) => self.write_text(&mut out, part),
            }
        }
        out
    }

    fn write_tag(self, out: &mut String, part: &str, tag: Tag<'_>) {
        let is_block = BLOCKS.contains(&tag.name);
        let blank = if self == Self::Blanks && is_block {
            "\n            "
        } else {
            ""
        };
        out.push_str(blank);
        out.push_str(part);
        out.push_str(blank);
        if self == Self::CommentsAfterTags && tag.name != "html" {
            out.push_str("<!-- x -->");
        }
        if self == Self::Scripts && tag.is_end && ENDS.contains(&tag.name) {
            out.push_str("<script>void 0;</script><style>.x { color: red }</style>");
        }
    }

    fn write_text(self, out: &mut String, text: &str) {
        let words = text.trim_ascii();
        let n_chars = words.chars().count();
        if n_chars < 3 || words.contains('&') {
            return out.push_str(text);
        }
        let start = text.len() - text.trim_ascii_start().len();
        let at = |n: usize| {
            let place = words.char_indices().nth(n);
            start + place.map_or(words.len(), |(at, _)| at)
        };
        let (first, second) = (at(n_chars / 3), at(2 * n_chars / 3));
        match self {
            Self::CommentsInTexts => {
                let (head, tail) = text.split_at(second);
                out.extend([head, "<!-- x -->", tail]);
            }
            Self::Spans => {
                let (head, middle, tail) = (&text[..first], &text[first..second], &text[second..]);
                if middle.trim_ascii().is_empty() {
                    return out.push_str(text);
                }
                out.extend([head, "<span>", middle, "</span>", tail]);
            }
            _ => out.push_str(text),
        }
    }
}

#[derive(Clone, Copy)]
struct Tag<'a> {
    name: &'a str,
    is_end: bool,
}

impl<'a> Tag<'a> {
    fn of(part: &'a str) -> Option<Self> {
        let inside = part.strip_prefix('<')?;
        let name = inside.strip_prefix('/').unwrap_or(inside);
        let end = name.find(|c: char| !c.is_ascii_alphanumeric())?;
        (end > 0).then_some(Self {
            name: &name[..end],
            is_end: inside.starts_with('/'),
        })
    }
}

/// The first comment, tag, declaration or text, and what follows it.
fn split_part(html: &str) -> (&str, &str) {
    let is_tag = |at: usize| {
        let next = html.as_bytes().get(at + 1);
        next.is_some_and(|&next| next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?'))
    };
    let end = if html.starts_with("<!--") {
        html.find("-->").map(|at| at + 3)
    } else if html.starts_with('<') && is_tag(0) {
        html.find('>').map(|at| at + 1)
    } else {
        let mut places = html.match_indices('<').map(|(at, _)| at);
        places.find(|&at| at > 0 && is_tag(at))
    };
    html.split_at(end.unwrap_or(html.len()))
}

#[cfg(test)]
mod tests {
    use super::SourceVariant;

    #[test]
    fn only_the_source_changes() {
        let html = "<title>abc</title><div class=\"x\">one <b>two</b></div><pre>a b c</pre>";
        for (variant, expected) in [
            (
                SourceVariant::CommentsInTexts,
                "<div class=\"x\">on<!-- x -->e <b>tw<!-- x -->o</b></div>",
            ),
            (
                SourceVariant::CommentsAfterTags,
                "<div class=\"x\"><!-- x -->one <b><!-- x -->two</b><!-- x --></div><!-- x -->",
            ),
            (
                SourceVariant::Spans,
                "<div class=\"x\">o<span>n</span>e <b>t<span>w</span>o</b></div>",
            ),
            (
                SourceVariant::Blanks,
                "\n            <div class=\"x\">\n            one <b>two</b>\n            </div>\n            ",
            ),
            (
                SourceVariant::Scripts,
                "<div class=\"x\">one <b>two</b></div><script>void 0;</script><style>.x { color: red }</style>",
            ),
        ] {
            let expected = format!("<title>abc</title>{expected}<pre>a b c</pre>");
            assert_eq!(variant.of(html), expected);
        }
    }
}
