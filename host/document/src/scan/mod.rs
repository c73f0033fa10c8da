//! The links of a page from its source, without a tree: for crawls whose pages nobody wants parsed.
//!
//! Only tags that may matter are read; of all others no more is looked at than it takes to find where they end. Text that the
//! tree builder would never see as markup (scripts, comments, titles) is stepped over by the tokenizer's own rules. What is
//! inside `template` is inert and does not count; what is inside `noscript` does.

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

/// Links taken from one page. Site maps for people have some thousands; the longest lists on the web some ten thousand.
pub const LINKS_MAX: usize = 20_000;

/// Our own name where sites speak to robots.
const TOKEN: &str = "trawl";

/// Finds where a page leads: `a` and `area`, frames, `link` to the next, previous, alternate and canonical page, and a refresh
/// by `meta`. `text` is the decoded source, `url` the page's address after redirects.
///
/// A link that is nothing but a fragment leads to no other page and is left out, as is what is not `http` or `https`; names and passwords in links are dropped. A link
/// says `nofollow` when each of its places on the page does, or the page as a whole.
///
/// The time is linear in the length of `text`, whatever it holds.
pub fn scan(text: &str, url: &Url) -> Discovered {
    let mut scan = Scan::new(text, url, None);
    if let Some(late) = scan.run() {
        // A base after the first link counts for the links before it, too.
        scan = Scan::new(text, url, Some(late));
        scan.run();
    }
    scan.links.into_discovered()
}

/// A page's source on its way through the scanner.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    url: &'a Url,
    links: Links,
    /// Whether the first `base` with an address was found.
    has_base: bool,
    /// Open `template` elements.
    templates: usize,
    /// Open `svg` and `math` elements: inside, tags may close themselves and CDATA sections are text.
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
            // Tags often stand side by side: then there is nothing to search.
            if rest.first() != Some(&b'<') {
                self.at += memchr::memchr(b'<', rest)?;
            }
            let late = self.markup();
            if late.is_some() {
                return late;
            }
        }
    }

    /// Steps over what begins at a `<`.
    fn markup(&mut self) -> Option<Url> {
        match &self.bytes()[self.at + 1..] {
            [first, ..] if first.is_ascii_alphabetic() => return self.start_tag(),
            [b'/', first, ..] if first.is_ascii_alphabetic() => self.end_tag(),
            [b'!', b'-', b'-', ..] => {
                let start = self.at + "<!--".len();
                self.go(raw::comment_end(self.bytes(), start).map(|comment| comment.next));
            }
            [b'!', rest @ ..] if self.foreign > 0 && rest.starts_with(b"[CDATA[") => {
                let end = memchr::memmem::find(&self.bytes()[self.at..], b"]]>");
                self.go(end.map(|end| self.at + end + "]]>".len()));
            }
            [b'!' | b'?' | b'/', ..] => {
                let end = memchr::memchr(b'>', &self.bytes()[self.at..]);
                self.go(end.map(|end| self.at + end + 1));
            }
            _ => self.at += 1,
        }
        None
    }

    /// Goes on there, or nowhere when the source ends inside what was read.
    fn go(&mut self, next: Option<usize>) {
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
                if rel.is_some_and(|rel| meta::leads_to_a_page(&rel, media_type.as_deref())) {
                    self.take(href, false);
                }
            }
            Element::Meta => self.meta(name_end),
            Element::Base => return self.base(name_end),
        }
        None
    }

    /// Steps over a tag's attributes. Whether it closes itself.
    fn skip_attributes(&mut self, name_end: usize) -> bool {
        if self.bytes().get(name_end) == Some(&b'>') {
            self.at = name_end + 1;
            return false;
        }
        let extent = tag::attributes(self.text, name_end, |_, _| {});
        self.go(extent.as_ref().map(|extent| extent.end));
        extent.is_some_and(|extent| extent.is_self_closing)
    }

    /// Reads a tag; the values of these attributes. `None` when the source ends inside the tag: then it is no tag.
    fn attributes<const N: usize>(
        &mut self,
        name_end: usize,
        wanted: [&str; N],
    ) -> Option<[Option<Cow<'a, str>>; N]> {
        let text = self.text;
        let mut found = [None; N];
        let extent = tag::attributes(text, name_end, |name, value| {
            let written = &text.as_bytes()[name.0..name.1];
            let place = wanted
                .iter()
                .position(|wanted| written.eq_ignore_ascii_case(wanted.as_bytes()));
            if let Some(place) = place {
                found[place].get_or_insert(value);
            }
        });
        self.go(extent.as_ref().map(|extent| extent.end));
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

    /// The first `base` with an address counts, for every link. Gives it when links were taken before.
    fn base(&mut self, name_end: usize) -> Option<Url> {
        let [href] = self.attributes(name_end, ["href"])?;
        if self.has_base || self.templates > 0 {
            return None;
        }
        let base = base_of(self.url, &href?);
        self.has_base = true;
        match base {
            Some(base) if self.links.is_untouched() => {
                self.links = Links::with_nofollow(Joiner::new(base), self.links.is_nofollow());
                None
            }
            late => late,
        }
    }

    /// Steps over the text of an element that holds only text.
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

/// An attribute's value as it is meant.
fn read(written: &str) -> Cow<'_, str> {
    match memchr::memchr2(b'&', b'\0', written.as_bytes()) {
        None => Cow::Borrowed(written),
        Some(_) => Cow::Owned(reference::replace_all(written)),
    }
}

#[cfg(test)]
mod tests;
