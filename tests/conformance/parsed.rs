//! A page as the server parses it and as plugins see it, without a server.

use trawl_document::{Page, ParseLimits};
use trawl_model::urls;
use trawl_sdk::Document;

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
        Document::new(self.0.arrays(&[]))
    }
}
