//! A page as the server parses it and as plugins see it, without a server.

use trawl_document::{Page, ParseLimits};
use trawl_model::urls;
use trawl_sdk::Document;
use trawl_sdk::view::arrays::Arrays;

/// A parsed page.
pub(crate) struct Parsed(trawl_document::Document);

impl Parsed {
    /// Parses a page of HTML in UTF-8.
    ///
    /// # Panics
    /// When it exceeds a limit.
    pub(crate) fn of(html: &str) -> Self {
        let url = urls::parse("https://sample.example/").expect("a URL");
        let parsed = trawl_document::parse(&Page::html(html, &url), &ParseLimits::default());
        Self(parsed.expect("a page within the limits"))
    }

    /// The page as plugins see it.
    pub(crate) fn document(&self) -> Document<'_> {
        let page = &self.0;
        Document::new(Arrays {
            url: &page.url,
            base: &page.base,
            media_type: &page.media_type,
            quirks: page.quirks,
            kinds: &page.kinds,
            parents: &page.parents,
            ends: &page.ends,
            names: &page.names,
            starts: &page.starts,
            counts: &page.counts,
            attribute_names: &page.attribute_names,
            attribute_starts: &page.attribute_starts,
            attribute_lengths: &page.attribute_lengths,
            name_text: &page.name_text,
            name_ends: &page.name_ends,
            name_spaces: &page.name_spaces,
            text: &page.text,
            kept: &[],
        })
    }
}
