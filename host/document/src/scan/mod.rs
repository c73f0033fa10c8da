//! Finds the links of a page in its source, without a tree: for crawls that need no parsed pages.
//!
//! Only relevant tags are parsed; all others are skipped to their end. Text that the tree builder
//! would never see as markup (scripts, comments, titles) is skipped by the tokenizer's own rules.
//! Links inside `template` are inert and ignored, unless it is a shadow tree; those inside
//! `noscript` count.

mod anchor;
mod foreign;
mod join;
mod links;
mod meta;
mod statements;
mod tag_name;
mod written;

use std::borrow::Cow;

use encoding_rs::Encoding;
use url::Url;

use trawl_model::Discovered;

use self::foreign::Foreign;
use self::join::Joiner;
pub use self::links::LINKS_MAX;
use self::links::Links;
pub use self::meta::{Refresh, refresh};
pub use self::statements::HeadStatements;
use self::tag_name::{Element, element};
use super::page::Page;
use super::resolve::{query_encoding, with_encoded_query};
use super::view::base_of;
use super::{raw, reference, tag, xml};

/// Finds the links of a page: `a` (of SVG, too) and `area`, frames, `link` to the next, previous,
/// alternate and canonical page, and a `meta` refresh.
///
/// Links to the page itself by a fragment alone, and those that are not `http` or `https`, are left
/// out; user names and passwords in links are removed. A link is `nofollow` if each of its
/// occurrences on the page is, or the page as a whole. What a `meta` says to one crawler alone is
/// among the robots tags, as a header would say it.
///
/// The time is linear in the length of the source, whatever it contains.
pub fn scan(page: &Page<'_>) -> Discovered {
    scanned(page, false)
}

/// The same with the text of each link, from its first occurrence.
pub fn scan_with_anchors(page: &Page<'_>) -> Discovered {
    scanned(page, true)
}

/// What the elements before the `body` of an HTML page say about its use.
pub fn head_statements(page: &Page<'_>) -> HeadStatements {
    // A base does not matter, so none ends the scan early.
    let mut scan = Scan::new(page, Some(page.url.clone()), false);
    scan.statements = Some(HeadStatements::default());
    scan.run();
    scan.statements.unwrap_or_default()
}

fn scanned(page: &Page<'_>, with_anchors: bool) -> Discovered {
    let mut scan = Scan::new(page, None, with_anchors);
    if let Some(late) = scan.run() {
        // A base after the first link applies to the links before it, too.
        scan = Scan::new(page, Some(late), with_anchors);
        scan.run();
    }
    scan.links.into_discovered()
}

/// A page's source during the scan.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    url: &'a Url,
    /// The encoding of queries; `None` for UTF-8.
    encoding: Option<&'static Encoding>,
    links: Links,
    /// Whether the first `base` with an `href` was found.
    has_base: bool,
    /// Whether the source is XML: it has no raw text, CDATA sections are text anywhere, and all
    /// tags may close themselves.
    is_xml: bool,
    /// Whether the texts of links are read.
    with_anchors: bool,
    /// Whether a browser wrote the source: every script ends at its first end tag, and shadow trees
    /// are part of the page.
    is_serialised: bool,
    /// Open `template` elements that are inert.
    templates: usize,
    /// Open `template` elements around them whose content is a shadow tree.
    shadows: usize,
    /// Open elements of SVG and MathML.
    foreign: Foreign,
    /// What the head says about the use of the page, if only that is read.
    statements: Option<HeadStatements>,
}

impl<'a> Scan<'a> {
    fn new(page: &Page<'a>, base: Option<Url>, with_anchors: bool) -> Self {
        let has_base = base.is_some();
        let base = base.unwrap_or_else(|| page.url.clone());
        Self {
            text: page.text,
            at: 0,
            url: page.url,
            encoding: query_encoding(page.charset),
            links: Links::new(Joiner::new(base, page.url)),
            has_base,
            is_xml: xml::is_xml(page),
            with_anchors,
            is_serialised: page.is_serialised,
            templates: 0,
            shadows: 0,
            foreign: Foreign::default(),
            statements: None,
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
            [b'!', rest @ ..] if self.has_sections() && rest.starts_with(b"[CDATA[") => {
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

    /// Whether `<![CDATA[` starts a section of text.
    fn has_sections(&self) -> bool {
        self.is_xml || self.foreign.is_here()
    }

    fn end_tag(&mut self) {
        let name_end = tag::name_end(self.text, self.at + 2);
        let name = &self.bytes()[self.at + 2..name_end];
        if element(name) == Element::Template && !self.foreign.is_here() {
            let open = if self.templates > 0 {
                &mut self.templates
            } else {
                &mut self.shadows
            };
            *open = open.saturating_sub(1);
        }
        self.foreign.leave(name);
        self.skip_attributes(name_end);
    }

    fn start_tag(&mut self) -> Option<Url> {
        let name_end = tag::name_end(self.text, self.at + 1);
        let name = &self.bytes()[self.at + 1..name_end];
        if !self.is_xml {
            self.foreign.start(name);
        }
        let element = element(name);
        if self.foreign.is_here() && !matches!(element, Element::Foreign) {
            return self.foreign_tag(name, name_end);
        }
        match element {
            Element::Other if self.statements.is_some() && name.eq_ignore_ascii_case(b"body") => {
                self.at = self.text.len();
            }
            Element::Other => {
                self.skip_attributes(name_end);
            }
            Element::Template => self.template(name_end)?,
            Element::Foreign => {
                if !self.skip_attributes(name_end) {
                    self.foreign.enter(name);
                }
            }
            Element::Raw(name) => {
                self.skip_attributes(name_end);
                self.raw_text(name);
            }
            Element::Frame { is_inline } => {
                let [src] = self.attributes(name_end, ["src"])?;
                self.take(src, false);
                if is_inline {
                    self.raw_text("iframe");
                }
            }
            Element::Anchor => {
                let [href, rel] = self.attributes(name_end, ["href", "rel"])?;
                self.anchor(href, rel);
            }
            Element::Link => self.link(name_end)?,
            Element::Meta => self.meta(name_end),
            Element::Base => return self.base(name_end),
        }
        None
    }

    /// A start tag of SVG or MathML.
    fn foreign_tag(&mut self, name: &'a [u8], name_end: usize) -> Option<Url> {
        if self.foreign.is_svg() && name.eq_ignore_ascii_case(b"a") {
            let [href, linked, rel] = self.attributes(name_end, ["href", "xlink:href", "rel"])?;
            self.anchor(href.or(linked), rel);
        } else if !self.skip_attributes(name_end) {
            self.foreign.enter(name);
        }
        None
    }

    fn anchor(&mut self, href: Option<Cow<'a, str>>, rel: Option<Cow<'a, str>>) {
        let nofollow = rel.is_some_and(|rel| meta::has_token(&rel, "nofollow"));
        let n_before = self.links.len();
        self.take(href, nofollow);
        if self.with_anchors
            && self.links.len() > n_before
            && let Some(text) = anchor::text(&self.text[self.at..])
        {
            self.links.set_anchor(text);
        }
    }

    /// The tag of a `link`; `None` when the source ends inside it.
    fn link(&mut self, name_end: usize) -> Option<()> {
        let [href, rel, media_type] = self.attributes(name_end, ["href", "rel", "type"])?;
        if let (Some(said), Some(href), Some(rel)) = (&mut self.statements, &href, &rel) {
            said.link(href, rel, self.templates > 0);
        }
        if let Some(rel) = rel
            && meta::is_page_link(&rel, media_type.as_deref())
        {
            if let Some(href) = &href
                && self.templates == 0
                && meta::has_token(&rel, "canonical")
            {
                self.links.note_canonical(&self.encoded(href));
            }
            self.take(href, false);
        }
        Some(())
    }

    /// The start tag of a `template`; `None` when the source ends inside it.
    fn template(&mut self, name_end: usize) -> Option<()> {
        let start = self.at;
        let [mode] = self.attributes(name_end, ["shadowrootmode"])?;
        let is_empty = self.is_xml && self.bytes()[start..self.at].ends_with(b"/>");
        let is_shadow = mode.is_some_and(|mode| matches!(&*mode, "open" | "closed"));
        if is_empty {
            // XML closes it at once.
        } else if is_shadow && self.templates == 0 && !self.is_xml && !self.is_serialised {
            self.shadows += 1;
        } else {
            self.templates += 1;
        }
        Some(())
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
        extent?;
        let mut values: [Option<Cow<'a, str>>; N] = [const { None }; N];
        for (value, found) in values.iter_mut().zip(found) {
            *value = found.map(|(start, end)| attribute_value(&text[start..end]));
        }
        Some(values)
    }

    fn take(&mut self, href: Option<Cow<'a, str>>, nofollow: bool) {
        if let Some(href) = href
            && self.templates == 0
            && self.statements.is_none()
        {
            self.links.take(&self.encoded(&href), nofollow);
        }
    }

    /// A URL with its query in the page's encoding.
    fn encoded<'h>(&self, href: &'h str) -> Cow<'h, str> {
        match self.encoding {
            Some(encoding) if !href.is_ascii() => with_encoded_query(href, encoding),
            _ => Cow::Borrowed(href),
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
        if let (Some(said), Some(name)) = (&mut self.statements, &name) {
            said.meta(name, &content);
        }
        if let Some(name) = &name
            && meta::forbids_following(&content)
        {
            self.links.forbid_following(name.trim_ascii());
        }
        if is(&event, "refresh")
            && let Some(refresh) = meta::refresh(&content)
        {
            self.links.take(&self.encoded(refresh.target), false);
        }
    }

    /// The first `base` with an `href` applies to every link. Returns it when links were found
    /// before.
    fn base(&mut self, name_end: usize) -> Option<Url> {
        let [href] = self.attributes(name_end, ["href"])?;
        if self.has_base || self.templates > 0 {
            return None;
        }
        let base = base_of(self.url, &self.encoded(&href?));
        self.has_base = true;
        match base {
            Some(base) if self.links.is_unused() => {
                self.links.rebase(Joiner::new(base, self.url));
                None
            }
            late => late,
        }
    }

    /// Skips the text of a raw text element.
    fn raw_text(&mut self, name: &str) {
        if self.is_xml {
            return;
        }
        self.at = match name {
            "plaintext" => self.text.len(),
            "script" if !self.is_serialised => raw::script_end(self.bytes(), self.at),
            _ => raw::text_end(self.bytes(), self.at, name),
        };
    }
}

/// An attribute's value, as it is written, with its references decoded.
pub fn attribute_value(written: &str) -> Cow<'_, str> {
    match memchr::memchr2(b'&', b'\0', written.as_bytes()) {
        None => Cow::Borrowed(written),
        Some(_) => Cow::Owned(reference::replace_all(written)),
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
