//! The page as a whole.

use std::cell::OnceCell;
use std::fmt;

use url::Url;

use super::arrays::{Arrays, previous_siblings};
use super::base::Base;
use super::names::Names;
use super::{Descendants, Element, Node, Select, Selector, SelectorError, Tag, shown};

/// Subtypes of `application` that are text.
const TEXTUAL: [&str; 8] = [
    "ecmascript",
    "javascript",
    "json",
    "jsonl",
    "x-javascript",
    "x-ndjson",
    "xml",
    "yaml",
];

/// A parsed page. Cheap to create: it borrows the page's arrays, and nodes are small values that
/// borrow the document.
pub struct Document<'a> {
    pub(super) arrays: Arrays<'a>,
    pub(super) names: Names,
    previous: OnceCell<Box<[u32]>>,
    base: OnceCell<Option<Base>>,
    language: OnceCell<Box<str>>,
    shown_texts: OnceCell<Box<[u32]>>,
    shown_sums: OnceCell<Box<[u32]>>,
    main_starts: OnceCell<Box<[u32]>>,
}

impl<'a> Document<'a> {
    /// Creates a view of these arrays. For the glue and for hosts; tests create a page with
    /// `testkit::page`.
    pub fn new(arrays: Arrays<'a>) -> Self {
        Self {
            names: Names::of(&arrays),
            arrays,
            previous: OnceCell::new(),
            base: OnceCell::new(),
            language: OnceCell::new(),
            shown_texts: OnceCell::new(),
            shown_sums: OnceCell::new(),
            main_starts: OnceCell::new(),
        }
    }

    /// The underlying arrays, for hosts, benchmarks and libraries that read them.
    #[doc(hidden)]
    pub fn arrays(&self) -> Arrays<'a> {
        self.arrays
    }

    /// Absolute URL of the page after redirects.
    pub fn url(&self) -> &'a str {
        self.arrays.url
    }

    /// Base URL of the page: its `<base href>`, otherwise its own URL.
    pub fn base_url(&self) -> &'a str {
        self.arrays.base
    }

    /// Media type of the page, lower case, without parameters: `text/html`.
    pub fn media_type(&self) -> &'a str {
        self.arrays.media_type
    }

    /// Whether the page is HTML. Other text (JSON, plain text) is in a single `pre` element;
    /// anything else (images, PDF) has an empty tree.
    pub fn is_html(&self) -> bool {
        matches!(
            self.arrays.media_type,
            "text/html" | "application/xhtml+xml"
        )
    }

    /// Whether the page is neither HTML nor any other text: an image, a PDF, an archive.
    pub fn is_binary(&self) -> bool {
        let (kind, subtype) = self.media_type().split_once('/').unwrap_or_default();
        let is_text = kind == "text"
            || subtype.ends_with("+json")
            || subtype.ends_with("+xml")
            || (kind == "application" && TEXTUAL.contains(&subtype));
        !is_text && !self.is_html()
    }

    /// Whether the page is in quirks mode; class and id selectors then ignore ASCII case.
    pub fn is_quirks(&self) -> bool {
        self.arrays.quirks
    }

    /// Whether filters have removed nodes of this page. If `false`, the view shows the whole page.
    pub fn is_filtered(&self) -> bool {
        !self.arrays.kept.is_empty()
    }

    /// The document node, the root of the tree.
    pub fn root(&self) -> Node<'_> {
        Node::new(self, 0)
    }

    /// The `<html>` element.
    pub fn html(&self) -> Option<Element<'_>> {
        self.child_of(Some(self.root()), Tag::Html)
    }

    /// The `<head>` element.
    pub fn head(&self) -> Option<Element<'_>> {
        self.child_of(self.html().map(Element::node), Tag::Head)
    }

    /// The `<body>` element.
    pub fn body(&self) -> Option<Element<'_>> {
        self.child_of(self.html().map(Element::node), Tag::Body)
    }

    fn child_of<'d>(&'d self, parent: Option<Node<'d>>, tag: Tag) -> Option<Element<'d>> {
        parent?.child_elements().find(|child| child.tag() == tag)
    }

    /// Text of the first `<title>` element with white space collapsed; `None` if there is none.
    pub fn title(&self) -> Option<String> {
        let title = self
            .elements()
            .find(|element| element.tag() == Tag::Title)?;
        Some(fold(&title.text()))
    }

    /// All nodes of the page in document order, except the document node itself.
    pub fn descendants(&self) -> Descendants<'_> {
        self.root().descendants()
    }

    /// All elements of the page in document order, without the contents of `<template>` elements.
    pub fn live_elements(&self) -> impl Iterator<Item = Element<'_>> {
        self.descendants().live_elements()
    }

    /// All elements of the page in document order.
    pub fn elements(&self) -> impl Iterator<Item = Element<'_>> {
        self.descendants().filter_map(Node::as_element)
    }

    /// All elements that match a CSS selector, in document order. Does not search the contents of
    /// `<template>` elements.
    ///
    /// # Errors
    /// If the selector does not parse. To use a selector repeatedly, parse it once and call
    /// [`select_with`](Self::select_with).
    pub fn select(&self, css: &str) -> Result<Select<'_>, SelectorError> {
        Ok(self.select_with(&Selector::parse(css)?))
    }

    /// All elements that match a parsed selector, in document order.
    pub fn select_with(&self, selector: &Selector) -> Select<'_> {
        self.root().select_with(selector)
    }

    /// Resolves a relative URL against the page's base URL, after trimming ASCII white space.
    /// `None` if the result is not a valid URL.
    ///
    /// On pages that are not in UTF-8, the queries of URLs in attributes are already encoded as
    /// their site expects them (`?q=%EB%EE%E4%EA%E0`), so resolving them like any other is right.
    pub fn resolve(&self, href: &str) -> Option<String> {
        let href = href.trim_ascii();
        let quick = self.base().and_then(|base| base.join_plain(href));
        quick.or_else(|| self.resolve_url(href).map(String::from))
    }

    /// Like [`resolve`](Self::resolve), but returns a parsed URL.
    pub fn resolve_url(&self, href: &str) -> Option<Url> {
        let href = href.trim_ascii();
        match self.base() {
            Some(base) => base.join(href),
            None => Url::parse(href).ok(),
        }
    }

    /// The absolute URL of the web page that a link leads to: `http` or `https`, without user name
    /// and password, and without fragment, since that refers to a place on a page. `None` if it
    /// leads anywhere else, or to a place on this page.
    pub fn resolve_page(&self, href: &str) -> Option<String> {
        let href = href.trim_ascii();
        if (href.is_empty() || href.starts_with('#')) && self.is_own_base() {
            return None;
        }
        let mut link = self.resolve(href)?;
        link.truncate(link.find('#').unwrap_or(link.len()));
        let is_web = link.starts_with("https://") || link.starts_with("http://");
        is_web.then(|| without_userinfo(link))
    }

    /// Whether a reference without path and query is the page itself.
    fn is_own_base(&self) -> bool {
        let page = |url: &'a str| url.split('#').next();
        page(self.arrays.base) == page(self.arrays.url)
    }

    fn base(&self) -> Option<&Base> {
        let parse = || Url::parse(self.arrays.base).ok().map(Base::of);
        self.base.get_or_init(parse).as_ref()
    }

    /// The language that a `meta` declares for the whole page; empty if none does. Source: WHATWG
    /// HTML, "Content language state".
    pub(super) fn default_language(&self) -> &str {
        self.language.get_or_init(|| {
            let metas = self.elements().filter(|element| {
                let event = element.attr("http-equiv").unwrap_or_default();
                element.tag() == Tag::Meta && event.eq_ignore_ascii_case("content-language")
            });
            let declared = metas.filter_map(|meta| {
                let content = meta.attr("content")?;
                content
                    .split_ascii_whitespace()
                    .next()
                    .filter(|_| !content.contains(','))
            });
            declared.last().unwrap_or_default().into()
        })
    }

    /// The text nodes with text for a reader, in page order.
    pub(super) fn shown_texts(&self) -> &[u32] {
        self.shown_texts
            .get_or_init(|| shown::shown_texts(&self.arrays, &self.names))
    }

    /// The sizes of these texts, summed up.
    pub(super) fn shown_sums(&self) -> &[u32] {
        self.shown_sums
            .get_or_init(|| shown::shown_sums(&self.arrays, self.shown_texts()))
    }

    /// The elements that mark the start of the main content, in page order.
    pub(super) fn main_starts(&self) -> &[u32] {
        self.main_starts.get_or_init(|| {
            let elements = self.live_elements().filter(|it| is_main_start(*it));
            elements.map(|element| element.node().index).collect()
        })
    }

    /// The previous sibling of the node with this index, for libraries that read the arrays.
    #[doc(hidden)]
    pub fn previous_sibling(&self, node: u32) -> Option<u32> {
        let previous = self
            .previous
            .get_or_init(|| previous_siblings(&self.arrays));
        Some(previous[node as usize]).filter(|&sibling| sibling != 0)
    }
}

impl fmt::Debug for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("url", &self.arrays.url)
            .field("nodes", &self.arrays.kinds.len())
            .finish_non_exhaustive()
    }
}

fn is_main_start(element: Element<'_>) -> bool {
    matches!(element.tag(), Tag::H1 | Tag::Main) || element.attr("role") == Some("main")
}

/// An absolute web URL without user name and password.
fn without_userinfo(mut url: String) -> String {
    let start = url.find("://").map_or(0, |at| at + "://".len());
    let authority = url[start..].find(['/', '?']);
    let authority = authority.map_or(url.len(), |length| start + length);
    if let Some(at) = url[start..authority].rfind('@') {
        url.drain(start..=start + at);
    }
    url
}

/// Collapses every run of ASCII white space to one space and trims both ends.
pub(crate) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_ascii_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}
