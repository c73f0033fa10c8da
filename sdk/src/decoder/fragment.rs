//! Makes markup inside a document safe to insert into HTML.

use super::markup::{VOID, escaped};

/// Elements that are kept; of all others the content is.
#[rustfmt::skip]
const KEPT: [&str; 70] = [
    "a", "abbr", "address", "article", "aside", "b", "bdi", "bdo", "blockquote", "br", "caption",
    "cite", "code", "col", "colgroup", "dd", "del", "details", "dfn", "div", "dl", "dt", "em",
    "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "i",
    "img", "ins", "kbd", "li", "mark", "ol", "p", "picture", "pre", "q", "rp", "rt", "ruby", "s",
    "samp", "section", "small", "source", "span", "strong", "sub", "summary", "sup", "table",
    "tbody", "td", "tfoot", "th", "thead", "time", "tr", "u", "ul", "var", "wbr",
];
/// Elements that are dropped with their content.
const DROPPED: [&str; 14] = [
    "script", "style", "template", "iframe", "object", "noembed", "noframes", "noscript", "svg",
    "math", "select", "textarea", "title", "xmp",
];
/// Elements whose end tag may be left out: that of what contains them ends them, too.
const ENDED_BY_PARENT: [&str; 13] = [
    "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "rp", "rt", "colgroup",
];
/// Attributes that are kept.
const ATTRIBUTES: [&str; 14] = [
    "alt", "cite", "class", "colspan", "datetime", "dir", "headers", "href", "id", "lang",
    "rowspan", "scope", "src", "start",
];
/// Levels of nesting; tags of deeper elements are dropped.
const DEPTH_MAX: usize = 64;

/// Markup that can stand inside an element of an HTML document without affecting what follows: its
/// elements are closed, scripts, styles and comments are gone, unknown elements are replaced by
/// their content, and of the attributes those with content are left.
pub fn fragment(html: &str) -> String {
    let mut cleaner = Cleaner {
        out: String::with_capacity(html.len()),
        open: Vec::new(),
    };
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        cleaner.out.push_str(&rest[..at]);
        rest = cleaner.markup(&rest[at..]);
    }
    cleaner.out.push_str(rest);
    cleaner.close_to(0);
    cleaner.out
}

struct Cleaner {
    out: String,
    open: Vec<&'static str>,
}

/// A tag and what follows it.
struct Tag<'a> {
    name: String,
    attributes: Vec<(String, &'a str)>,
    rest: &'a str,
}

impl Cleaner {
    /// Reads what begins with `<`, and returns what follows it.
    fn markup<'a>(&mut self, text: &'a str) -> &'a str {
        if let Some(comment) = text.strip_prefix("<!--") {
            return after(comment, "-->");
        }
        if text.starts_with("<!") || text.starts_with("<?") {
            return after(text, ">");
        }
        let (body, is_end) = match text.strip_prefix("</") {
            Some(body) => (body, true),
            None => (&text[1..], false),
        };
        if !body.starts_with(|first: char| first.is_ascii_alphabetic()) {
            self.out.push_str("&lt;");
            return &text[1..];
        }
        let Some(tag) = tag(body) else {
            return "";
        };
        if is_end {
            self.end(&tag.name);
            return tag.rest;
        }
        if DROPPED.contains(&tag.name.as_str()) {
            return after_element(tag.rest, &tag.name);
        }
        self.start(&tag);
        tag.rest
    }

    fn start(&mut self, tag: &Tag<'_>) {
        let Some(&name) = KEPT.iter().find(|name| **name == tag.name) else {
            return;
        };
        let is_void = VOID.contains(&name);
        if !is_void && self.open.len() >= DEPTH_MAX {
            return;
        }
        self.out.push('<');
        self.out.push_str(name);
        for (attribute, value) in &tag.attributes {
            if ATTRIBUTES.contains(&attribute.as_str()) {
                self.out.push(' ');
                self.out.push_str(attribute);
                self.out.push_str("=\"");
                // The value is markup already: its references stay.
                self.out.push_str(&value.replace('"', "&quot;"));
                self.out.push('"');
            }
        }
        self.out.push('>');
        if !is_void {
            self.open.push(name);
        }
    }

    fn end(&mut self, name: &str) {
        if let Some(at) = self.open.iter().rposition(|open| *open == name) {
            self.close_to(at + 1);
            self.open.pop();
            self.out.push_str("</");
            self.out.push_str(&escaped(name));
            self.out.push('>');
        }
    }

    /// Closes the elements above this level.
    fn close_to(&mut self, level: usize) {
        while self.open.len() > level {
            let Some(name) = self.open.pop() else { return };
            if !ENDED_BY_PARENT.contains(&name) {
                self.out.push_str("</");
                self.out.push_str(name);
                self.out.push('>');
            }
        }
    }
}

/// Reads a tag from its name on; `None` if it does not end.
fn tag(text: &str) -> Option<Tag<'_>> {
    let ends_name = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>');
    let end = text.find(ends_name)?;
    let mut tag = Tag {
        name: text[..end].to_ascii_lowercase(),
        attributes: Vec::new(),
        rest: &text[end..],
    };
    loop {
        let between = |c: char| c.is_ascii_whitespace() || c == '/';
        tag.rest = tag.rest.trim_start_matches(between);
        if let Some(rest) = tag.rest.strip_prefix('>') {
            tag.rest = rest;
            return Some(tag);
        }
        // A name may begin with `=`.
        let first = tag.rest.chars().next()?.len_utf8();
        let ends = |c: char| ends_name(c) || c == '=';
        let end = first + tag.rest[first..].find(ends)?;
        let name = tag.rest[..end].to_ascii_lowercase();
        tag.rest = tag.rest[end..].trim_ascii_start();
        let mut value = "";
        if let Some(rest) = tag.rest.strip_prefix('=') {
            let rest = rest.trim_ascii_start();
            let quote = rest.chars().next()?;
            if matches!(quote, '"' | '\'') {
                let (quoted, rest) = rest[1..].split_once(quote)?;
                (value, tag.rest) = (quoted, rest);
            } else {
                let end = rest.find(|c: char| c.is_ascii_whitespace() || c == '>')?;
                (value, tag.rest) = rest.split_at(end);
            }
        }
        tag.attributes.push((name, value));
    }
}

/// What follows the end tag of an element whose content is dropped.
fn after_element<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        let tail = &rest[at + 2..];
        let is_it = tail
            .get(..name.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(name));
        if is_it {
            return after(tail, ">");
        }
        rest = tail;
    }
    ""
}

/// What follows a text; nothing if it is not there.
fn after<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}
