//! The links of a page, found in its source without building a tree: what a crawl follows, whatever formats were asked for.
//!
//! Followed are `a`, `area`, `iframe` and `frame`, `link` with `rel` next, prev, canonical or alternate (of HTML), and a `meta`
//! refresh. What stands in comments, in elements that hold only text, or in a `template` is no link.

mod resolve;

use std::borrow::Cow;
use std::collections::HashMap;

use rustc_hash::FxBuildHasher;
use url::Url;

use super::parse::normalise;
use super::tag::{self, is_space};
use super::{raw, reference};
use crate::model::Discovered;
use resolve::Base;

/// Links taken from one page. The longest lists people publish have some ten thousand.
pub const LINKS_MAX: usize = 50_000;

/// Finds the links of a page. Time is linear in the length of `text`, whatever it holds.
pub fn scan(text: &str, url: &Url) -> Discovered {
    let text = normalise(text);
    let mut scan = Scan {
        text: &text,
        links: Vec::new(),
        places: HashMap::default(),
        base: None,
        is_nofollow: false,
        n_templates: 0,
        n_dropped: 0,
    };
    scan.run();
    let page = url;
    let base = scan.base.as_deref().and_then(|base| page.join(base).ok());
    let base = Base::new(base.as_ref().filter(|base| is_web(base)).unwrap_or(page));
    let mut found = Discovered::default();
    found.n_dropped = scan.n_dropped;
    // Different texts may be the same address.
    let mut seen =
        std::collections::HashSet::with_capacity_and_hasher(scan.links.len(), FxBuildHasher);
    let mut hidden = Vec::new();
    for link in &scan.links {
        let Some(url) = base.resolve(&link.written) else {
            continue;
        };
        // A link that says `nofollow` comes last: another one to the same address counts.
        if link.is_nofollow || scan.is_nofollow {
            hidden.push(url);
        } else if !seen.contains(url.as_str()) {
            found.push(&url, false);
            seen.insert(url);
        }
    }
    for url in hidden {
        if !seen.contains(url.as_str()) {
            found.push(&url, true);
            seen.insert(url);
        }
    }
    found
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

struct Link<'a> {
    written: Cow<'a, str>,
    is_nofollow: bool,
}

struct Scan<'a> {
    text: &'a str,
    links: Vec<Link<'a>>,
    /// Where a link stands in `links`, by its text as written.
    places: HashMap<&'a str, u32, FxBuildHasher>,
    /// The first `<base href>`.
    base: Option<Cow<'a, str>>,
    /// Whether a robots `meta` says `nofollow` for the whole page.
    is_nofollow: bool,
    n_templates: u32,
    n_dropped: u32,
}

/// An attribute that links are read from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Href,
    Src,
    Rel,
    Type,
    HttpEquiv,
    Subject,
    Content,
}

/// The value of each such attribute as written; the first of a name counts.
#[derive(Default)]
struct Values<'a>([Option<&'a str>; 7]);

impl<'a> Values<'a> {
    fn get(&self, name: Name) -> Option<Cow<'a, str>> {
        self.0[name as usize].map(
            |value| match memchr::memchr2(b'&', b'\0', value.as_bytes()) {
                None => Cow::Borrowed(value),
                Some(_) => Cow::Owned(reference::replace_all(value)),
            },
        )
    }

    fn has_word(&self, name: Name, wanted: &[&str]) -> bool {
        self.get(name).is_some_and(|value| {
            value
                .split([' ', '\n', '\t', '\x0c', ','])
                .any(|word| wanted.iter().any(|one| word.eq_ignore_ascii_case(one)))
        })
    }
}

fn attribute(name: &[u8]) -> Option<Name> {
    let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
    match name.len() {
        3 if is("src") => Some(Name::Src),
        3 if is("rel") => Some(Name::Rel),
        4 if is("href") => Some(Name::Href),
        4 if is("type") => Some(Name::Type),
        4 if is("name") => Some(Name::Subject),
        7 if is("content") => Some(Name::Content),
        10 if is("http-equiv") => Some(Name::HttpEquiv),
        _ => None,
    }
}

impl<'a> Scan<'a> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(open) = memchr::memchr(b'<', &bytes[at..]) {
            at += open;
            at = match bytes.get(at + 1) {
                Some(first) if first.is_ascii_alphabetic() => self.start_tag(at),
                Some(b'/') => self.end_tag(at),
                Some(b'!') if bytes[at + 2..].starts_with(b"--") => comment_end(bytes, at + 4),
                Some(b'!' | b'?') => past(bytes, at + 1, b'>'),
                Some(_) => at + 1,
                None => return,
            };
            if at >= bytes.len() {
                return;
            }
        }
    }

    fn start_tag(&mut self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        let name_end = tag::name_end(self.text, at + 1);
        let name = &bytes[at + 1..name_end];
        match name.len() {
            1 if is_name(name, "a") => self.link(name_end, Self::anchor),
            4 if is_name(name, "area") => self.link(name_end, Self::anchor),
            4 if is_name(name, "base") => self.link(name_end, Self::base),
            4 if is_name(name, "link") => self.link(name_end, Self::head_link),
            4 if is_name(name, "meta") => self.link(name_end, Self::meta),
            5 if is_name(name, "frame") => self.link(name_end, Self::frame),
            6 if is_name(name, "iframe") => {
                let end = self.link(name_end, Self::frame);
                raw::text_end(bytes, end, "iframe")
            }
            6 if is_name(name, "script") => raw::script_end(bytes, tag_end(bytes, name_end)),
            8 if is_name(name, "template") => {
                self.n_templates += 1;
                tag_end(bytes, name_end)
            }
            9 if is_name(name, "plaintext") => bytes.len(),
            _ => {
                let end = tag_end(bytes, name_end);
                match TEXT_ONLY.iter().find(|text| is_name(name, text)) {
                    Some(name) => raw::text_end(bytes, end, name),
                    None => end,
                }
            }
        }
    }

    fn end_tag(&mut self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        if !bytes.get(at + 2).is_some_and(u8::is_ascii_alphabetic) {
            return past(bytes, at + 2, b'>');
        }
        let name_end = tag::name_end(self.text, at + 2);
        if is_name(&bytes[at + 2..name_end], "template") {
            self.n_templates = self.n_templates.saturating_sub(1);
        }
        tag_end(bytes, name_end)
    }

    /// Reads the attributes of a tag and hands them on; where the tag ends.
    fn link(&mut self, name_end: usize, found: fn(&mut Self, &Values<'a>)) -> usize {
        let text = self.text;
        let mut values = Values::default();
        let extent = tag::attributes(text, name_end, |name, value| {
            if let Some(name) = attribute(&text.as_bytes()[name.0..name.1]) {
                values.0[name as usize].get_or_insert(&text[value.0..value.1]);
            }
        });
        let Some(extent) = extent else {
            // A tag that the source ends in is no tag.
            return text.len();
        };
        if self.n_templates == 0 {
            found(self, &values);
        }
        extent.end
    }

    fn anchor(&mut self, values: &Values<'a>) {
        let is_nofollow = values.has_word(Name::Rel, &["nofollow"]);
        self.add(values, Name::Href, is_nofollow);
    }

    fn frame(&mut self, values: &Values<'a>) {
        self.add(values, Name::Src, false);
    }

    fn head_link(&mut self, values: &Values<'a>) {
        let is_page = match values.get(Name::Type) {
            None => true,
            Some(media_type) => media_type.trim().eq_ignore_ascii_case("text/html"),
        };
        if values.has_word(Name::Rel, &["next", "prev", "canonical"])
            || is_page
                && values.has_word(Name::Rel, &["alternate"])
                && !values.has_word(Name::Rel, &["stylesheet"])
        {
            self.add(values, Name::Href, false);
        }
    }

    fn base(&mut self, values: &Values<'a>) {
        if self.base.is_none() {
            self.base = values.get(Name::Href);
        }
    }

    fn meta(&mut self, values: &Values<'a>) {
        let Some(content) = values.get(Name::Content) else {
            return;
        };
        if values.has_word(Name::Subject, &["robots", "trawl"]) {
            self.is_nofollow |= values.has_word(Name::Content, &["nofollow", "none"]);
        }
        if values.has_word(Name::HttpEquiv, &["refresh"])
            && let Some(url) = refresh_target(&content)
        {
            self.links.push(Link {
                written: Cow::Owned(url.to_owned()),
                is_nofollow: false,
            });
        }
    }

    fn add(&mut self, values: &Values<'a>, name: Name, is_nofollow: bool) {
        let Some(written) = values.0[name as usize] else {
            return;
        };
        if let Some(place) = self.places.get(written) {
            self.links[*place as usize].is_nofollow &= is_nofollow;
            return;
        }
        if self.links.len() >= LINKS_MAX {
            self.n_dropped += 1;
            return;
        }
        // Fits: there are fewer than `LINKS_MAX`.
        self.places.insert(written, self.links.len() as u32);
        let written = values.get(name).unwrap_or_default();
        self.links.push(Link {
            written,
            is_nofollow,
        });
    }
}

/// Elements that hold only text, but for those that are named above.
const TEXT_ONLY: [&str; 6] = ["style", "title", "textarea", "xmp", "noembed", "noframes"];

fn is_name(name: &[u8], wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted.as_bytes())
}

/// Offset one past the next `end`, or the end of the source.
fn past(bytes: &[u8], from: usize, end: u8) -> usize {
    let from = from.min(bytes.len());
    memchr::memchr(end, &bytes[from..]).map_or(bytes.len(), |at| from + at + 1)
}

/// Offset one past the comment whose text begins at `from`.
fn comment_end(bytes: &[u8], from: usize) -> usize {
    let rest = &bytes[from..];
    if rest.starts_with(b">") {
        return from + 1;
    }
    if rest.starts_with(b"->") {
        return from + 2;
    }
    for dashes in memchr::memchr_iter(b'-', rest) {
        match &rest[dashes..] {
            [b'-', b'-', b'>', ..] => return from + dashes + 3,
            [b'-', b'-', b'!', b'>', ..] => return from + dashes + 4,
            _ => {}
        }
    }
    bytes.len()
}

/// Offset one past the tag whose attributes begin at `from`. A quote opens a value only after an equals sign.
fn tag_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = memchr::memchr3(b'>', b'"', b'\'', &bytes[at..]) {
        at += found;
        if bytes[at] == b'>' {
            return at + 1;
        }
        let before = bytes[from..at].iter().rev().find(|byte| !is_space(**byte));
        at = match before {
            Some(b'=') => past(bytes, at + 1, bytes[at]),
            _ => at + 1,
        };
    }
    bytes.len()
}

/// The address in the content of a `meta` refresh: `5; url=/next`. Source: WHATWG HTML, "shared declarative refresh steps".
fn refresh_target(content: &str) -> Option<&str> {
    let rest = content.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ';' || c == ',');
    let named = rest
        .get(..3)
        .is_some_and(|name| name.eq_ignore_ascii_case("url"));
    let url = match named.then(|| rest[3..].trim_start().strip_prefix('=')) {
        Some(Some(url)) => url.trim_start(),
        _ => rest,
    };
    let url = match url.chars().next() {
        Some(quote @ ('"' | '\'')) => url[1..].split(quote).next().unwrap_or_default(),
        _ => url,
    };
    (!url.trim().is_empty()).then_some(url)
}

#[cfg(test)]
mod tests;
