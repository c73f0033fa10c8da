//! Metadata in `meta`, `link`, `title` and `html`.

use trawl_sdk::{Document, Element, Tag};

/// Maximum number of named `meta` elements.
const METAS_MAX: usize = 1_000;

/// Maximum number of feeds.
const FEEDS_MAX: usize = 20;

/// Metadata of the document head, wherever it is: HTML parsers move it into the body after
/// unexpected content.
#[derive(Default)]
pub(crate) struct Head<'a> {
    /// Text of the first `title`.
    pub(crate) title: Option<String>,
    /// `lang` of `html`, or else its `xml:lang`.
    pub(crate) language: Option<&'a str>,
    /// URL of `link rel=canonical`, unresolved.
    pub(crate) canonical: Option<&'a str>,
    /// URLs of feeds, unresolved.
    pub(crate) feeds: Vec<&'a str>,
    /// The best icon: its rank and unresolved URL.
    icon: Option<(u32, &'a str)>,
    /// URL of `link rel=image_src`.
    pub(crate) image: Option<&'a str>,
    /// Lower-case names and contents, in page order.
    metas: Vec<(String, &'a str)>,
}

impl<'a> Head<'a> {
    pub(crate) fn of(document: &'a Document<'a>) -> Self {
        let mut head = Self::default();
        for element in document.live_elements() {
            head.read(element);
        }
        head
    }

    fn read(&mut self, element: Element<'a>) {
        match element.tag() {
            Tag::Html => {
                let language =
                    attribute(element, "lang").or_else(|| attribute(element, "xml:lang"));
                self.language = language;
            }
            Tag::Title if self.title.is_none() => self.title = some_text(&element.text()),
            Tag::Meta => self.read_meta(element),
            Tag::Link => self.read_link(element),
            _ => {}
        }
    }

    fn read_meta(&mut self, meta: Element<'a>) {
        let Some(content) = attribute(meta, "content") else {
            return;
        };
        // Pages use `og:` names in `name` too, and other names in `property`.
        for attribute_name in ["name", "property", "itemprop", "http-equiv"] {
            if let Some(name) = attribute(meta, attribute_name)
                && self.metas.len() < METAS_MAX
            {
                self.metas.push((name.to_ascii_lowercase(), content));
            }
        }
    }

    fn read_link(&mut self, link: Element<'a>) {
        let Some(href) = attribute(link, "href") else {
            return;
        };
        let (mut is_alternate, mut is_feed) = (false, false);
        for kind in link
            .attr("rel")
            .unwrap_or_default()
            .split_ascii_whitespace()
        {
            match kind.to_ascii_lowercase().as_str() {
                "canonical" => self.canonical = self.canonical.or(Some(href)),
                "icon" => self.add_icon(href, 1_000 + size(link)),
                "apple-touch-icon" | "apple-touch-icon-precomposed" => {
                    self.add_icon(href, size(link).min(999))
                }
                "image_src" => self.image = self.image.or(Some(href)),
                "alternate" => is_alternate = true,
                "feed" => is_feed = true,
                _ => {}
            }
        }
        let kind = link.attr("type").unwrap_or_default().to_ascii_lowercase();
        let kind = kind.split(';').next().unwrap_or_default().trim_ascii();
        let is_feed_type = matches!(
            kind,
            "application/rss+xml"
                | "application/atom+xml"
                | "application/feed+json"
                | "application/rdf+xml"
        );
        let is_feed = is_feed || (is_alternate && is_feed_type);
        if is_feed && self.feeds.len() < FEEDS_MAX && !self.feeds.contains(&href) {
            self.feeds.push(href);
        }
    }

    fn add_icon(&mut self, href: &'a str, rank: u32) {
        let is_data = href.starts_with("data:");
        if !is_data && self.icon.is_none_or(|(best, _)| rank > best) {
            self.icon = Some((rank, href));
        }
    }

    /// Unresolved URL of the largest icon.
    pub(crate) fn icon(&self) -> Option<&'a str> {
        self.icon.map(|(_, href)| href)
    }

    /// Content of the first of these names that is present.
    pub(crate) fn meta(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| self.all(name).next())
    }

    /// [`meta`](Self::meta) with collapsed white space.
    pub(crate) fn text(&self, names: &[&str]) -> Option<String> {
        self.meta(names).and_then(some_text)
    }

    /// Contents of all `meta` elements with this name.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let metas = self.metas.iter().filter(move |(own, _)| own == name);
        metas.map(|(_, content)| *content)
    }
}

/// Width in an icon's `sizes`, in pixels; `any` counts as large.
fn size(link: Element<'_>) -> u32 {
    const SIZE_MAX: u32 = 1_024;
    let sizes = link.attr("sizes").unwrap_or_default().to_ascii_lowercase();
    let widths = sizes
        .split_ascii_whitespace()
        .map(|size| match size.split_once('x') {
            Some((width, _)) => width.parse().unwrap_or(0),
            None if size == "any" => SIZE_MAX,
            None => 0,
        });
    widths.max().unwrap_or(0).min(SIZE_MAX)
}

/// The trimmed value of an attribute; `None` if it is empty.
pub(crate) fn attribute<'a>(element: Element<'a>, name: &str) -> Option<&'a str> {
    let value = element.attr(name)?.trim_ascii();
    (!value.is_empty()).then_some(value)
}

/// The text with collapsed white space; `None` if it is empty.
pub(crate) fn some_text(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}
