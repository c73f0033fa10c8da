//! Finds the links of a page in its source, without a tree: for crawls that need no parsed pages.
//!
//! Only relevant tags are parsed; all others are skipped to their end. Text that the tree builder
//! would never see as markup (scripts, comments, titles) is skipped by the tokenizer's own rules.
//! Links inside `template` are inert and ignored; those inside `noscript` count.

mod join;
mod links;
mod meta;
mod tag_name;

use std::borrow::Cow;

use url::Url;

use trawl_model::Discovered;

use self::join::Joiner;
use self::links::Links;
use self::tag_name::{Element, element};
use super::view::base_of;
use super::{raw, reference, tag};

/// Links of one page. HTML site maps have some thousands; the longest lists on the web some ten
/// thousand.
pub const LINKS_MAX: usize = 20_000;

/// The crawler's product token in `meta name`.
const TOKEN: &str = "trawl";

/// Finds the links of a page: `a` and `area`, frames, `link` to the next, previous, alternate and
/// canonical page, and a `meta` refresh. `text` is the decoded source, `url` the page's URL after
/// redirects.
///
/// Links that are only a fragment, or not `http` or `https`, are left out; user names and passwords
/// in links are removed. A link is `nofollow` if each of its occurrences on the page is, or the
/// page as a whole.
///
/// The time is linear in the length of `text`, whatever it contains.
pub fn scan(text: &str, url: &Url) -> Discovered {
    let mut scan = Scan::new(text, url, None);
    if let Some(late) = scan.run() {
        // A base after the first link applies to the links before it, too.
        scan = Scan::new(text, url, Some(late));
        scan.run();
    }
    scan.links.into_discovered()
}

/// A page's source during the scan.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    url: &'a Url,
    links: Links,
    /// Whether the first `base` with an `href` was found.
    has_base: bool,
    /// Open `template` elements.
    templates: usize,
    /// Open `svg` and `math` elements: inside them, tags may be self-closing and CDATA sections are
    /// text.
    foreign: usize,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, url: &'a Url, base: Option<Url>) -> Self {
        let has_base = base.is_some();
        Self {
            text,
            at: 0,
            url,
            links: Links::new(Joiner::new(base.unwrap_or_else(|| url.clone()))),
            has_base,
            templates: 0,
            foreign: 0,
        }
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// Scans to the end of the source, or to a base that comes after links.
    fn run(&mut self) -> Option<Url> {
        loop {
            let rest = &self.bytes()[self.at..];
            // Tags are often adjacent: then no search is needed.
            if rest.first() != Some(&b'<') {
                self.at += memchr::memchr(b'<', rest)?;
            }
            let late = self.markup();
            if late.is_some() {
                return late;
            }
        }
    }

    /// Skips or parses the markup that starts at a `<`.
    fn markup(&mut self) -> Option<Url> {
        match &self.bytes()[self.at + 1..] {
            [first, ..] if first.is_ascii_alphabetic() => return self.start_tag(),
            [b'/', first, ..] if first.is_ascii_alphabetic() => self.end_tag(),
            [b'!', b'-', b'-', ..] => {
                let start = self.at + "<!--".len();
                self.continue_at(raw::comment_end(self.bytes(), start).map(|comment| comment.next));
            }
            [b'!', rest @ ..] if self.foreign > 0 && rest.starts_with(b"[CDATA[") => {
                let end = memchr::memmem::find(&self.bytes()[self.at..], b"]]>");
                self.continue_at(end.map(|end| self.at + end + "]]>".len()));
            }
            [b'!' | b'?' | b'/', ..] => {
                let end = memchr::memchr(b'>', &self.bytes()[self.at..]);
                self.continue_at(end.map(|end| self.at + end + 1));
            }
            _ => self.at += 1,
        }
        None
    }

    /// Continues at `next`, or at the end when the source ends inside the markup.
    fn continue_at(&mut self, next: Option<usize>) {
        self.at = next.unwrap_or(self.text.len());
    }

    fn end_tag(&mut self) {
        let name_end = tag::name_end(self.text, self.at + 2);
        match element(&self.bytes()[self.at + 2..name_end]) {
            Element::Template if self.foreign == 0 => {
                self.templates = self.templates.saturating_sub(1);
            }
            Element::Foreign => self.foreign = self.foreign.saturating_sub(1),
            _ => {}
        }
        self.skip_attributes(name_end);
    }

    fn start_tag(&mut self) -> Option<Url> {
        let name_end = tag::name_end(self.text, self.at + 1);
        let element = element(&self.bytes()[self.at + 1..name_end]);
        match element {
            Element::Other => {
                self.skip_attributes(name_end);
            }
            Element::Template => {
                self.templates += usize::from(self.foreign == 0);
                self.skip_attributes(name_end);
            }
            Element::Foreign => {
                let is_open = !self.skip_attributes(name_end);
                self.foreign += usize::from(is_open);
            }
            Element::Raw(name) => {
                let is_empty = self.skip_attributes(name_end) && self.foreign > 0;
                self.raw_text(name, is_empty);
            }
            Element::Frame { is_inline } => {
                let [src] = self.attributes(name_end, ["src"])?;
                self.take(src, false);
                if is_inline {
                    self.raw_text("iframe", false);
                }
            }
            Element::Anchor => {
                let [href, rel] = self.attributes(name_end, ["href", "rel"])?;
                let nofollow = rel.is_some_and(|rel| meta::has_token(&rel, "nofollow"));
                self.take(href, nofollow);
            }
            Element::Link => {
                let [href, rel, media_type] = self.attributes(name_end, ["href", "rel", "type"])?;
                if rel.is_some_and(|rel| meta::is_page_link(&rel, media_type.as_deref())) {
                    self.take(href, false);
                }
            }
            Element::Meta => self.meta(name_end),
            Element::Base => return self.base(name_end),
        }
        None
    }

    /// Skips a tag's attributes. Returns whether the tag is self-closing.
    fn skip_attributes(&mut self, name_end: usize) -> bool {
        if self.bytes().get(name_end) == Some(&b'>') {
            self.at = name_end + 1;
            return false;
        }
        let extent = tag::attributes(self.text, name_end, |_, _| {});
        self.continue_at(extent.as_ref().map(|extent| extent.end));
        extent.is_some_and(|extent| extent.is_self_closing)
    }

    /// Parses a tag and returns the values of these attributes; `None` when the source ends inside
    /// the tag, which drops it.
    fn attributes<const N: usize>(
        &mut self,
        name_end: usize,
        wanted: [&str; N],
    ) -> Option<[Option<Cow<'a, str>>; N]> {
        let text = self.text;
        let mut found = [None; N];
        let extent = tag::attributes(text, name_end, |name, value| {
            let written = &text.as_bytes()[name.0..name.1];
            let index = wanted
                .iter()
                .position(|wanted| written.eq_ignore_ascii_case(wanted.as_bytes()));
            if let Some(index) = index {
                found[index].get_or_insert(value);
            }
        });
        self.continue_at(extent.as_ref().map(|extent| extent.end));
        extent.map(|_| found.map(|value| value.map(|(start, end)| read(&text[start..end]))))
    }

    fn take(&mut self, href: Option<Cow<'a, str>>, nofollow: bool) {
        if let Some(href) = href
            && self.templates == 0
        {
            self.links.take(&href, nofollow);
        }
    }

    fn meta(&mut self, name_end: usize) {
        let Some([name, event, content]) =
            self.attributes(name_end, ["name", "http-equiv", "content"])
        else {
            return;
        };
        let Some(content) = content else { return };
        if self.templates > 0 {
            return;
        }
        let is = |value: &Option<Cow<str>>, word: &str| {
            value
                .as_ref()
                .is_some_and(|value| value.trim_ascii().eq_ignore_ascii_case(word))
        };
        if (is(&name, "robots") || is(&name, TOKEN)) && meta::forbids_following(&content) {
            self.links.nofollow_all();
        }
        if is(&event, "refresh")
            && let Some(href) = meta::refresh(&content)
        {
            self.links.take(href, false);
        }
    }

    /// The first `base` with an `href` applies to every link. Returns it when links were found
    /// before.
    fn base(&mut self, name_end: usize) -> Option<Url> {
        let [href] = self.attributes(name_end, ["href"])?;
        if self.has_base || self.templates > 0 {
            return None;
        }
        let base = base_of(self.url, &href?);
        self.has_base = true;
        match base {
            Some(base) if self.links.is_unused() => {
                self.links = Links::with_nofollow(Joiner::new(base), self.links.is_nofollow());
                None
            }
            late => late,
        }
    }

    /// Skips the text of a raw text element.
    fn raw_text(&mut self, name: &str, is_empty: bool) {
        if is_empty {
            return;
        }
        self.at = match name {
            "plaintext" => self.text.len(),
            "script" => raw::script_end(self.bytes(), self.at),
            _ => raw::text_end(self.bytes(), self.at, name),
        };
    }
}

/// An attribute's value with its references decoded.
fn read(written: &str) -> Cow<'_, str> {
    match memchr::memchr2(b'&', b'\0', written.as_bytes()) {
        None => Cow::Borrowed(written),
        Some(_) => Cow::Owned(reference::replace_all(written)),
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
