//! Runs a plugin on a page, natively, in a test.
//!
//! ```
//! # use trawl_sdk::{Document, Failure, Format, Info, Output, Source};
//! # struct Title;
//! # impl Format for Title {
//! #     type Options = ();
//! #     fn info() -> Info { Info::new("title", "0.1.0", "The page's title") }
//! #     fn render(document: &Document, _: Source, _: ()) -> Result<Output, Failure> {
//! #         Ok(document.title().unwrap_or_default().into())
//! #     }
//! # }
//! use trawl_sdk::testkit;
//!
//! let page = testkit::page("<title>Hello</title>").url("https://example.com/a/");
//! assert_eq!(page.render::<Title>(serde_json::json!({})), Ok(Output::Text("Hello".to_owned())));
//! ```

mod analysis;
mod chunker;
mod conversation;
mod document;
mod layout;
mod random;
mod recordings;
mod tree;
mod variants;

use std::borrow::Cow;
use std::cell::OnceCell;

use serde_json::Value;

use crate::{Document, Extractor, Failure, Filter, Format, Mask, Output, Source, options};
pub use analysis::{Analysis, MODEL, finding, join, join_with};
pub use chunker::{check_any_text, check_size, chunk, pieces};
pub use conversation::{Conversation, converse, pair, reply};
pub use document::{Document as SampleDocument, body, document};
use layout::Layout;
pub use random::Random;
pub use recordings::{check_cases, check_searches};
pub use variants::SourceVariant;

/// A page to run plugins on.
#[derive(Debug)]
pub struct Page {
    text: String,
    body: Option<Vec<u8>>,
    url: String,
    content_type: String,
    kept: Vec<u8>,
    layout: OnceCell<Layout>,
}

/// An HTML page at `https://example.com/`.
pub fn page(html: &str) -> Page {
    Page {
        text: html.to_owned(),
        body: None,
        url: "https://example.com/".to_owned(),
        content_type: "text/html; charset=utf-8".to_owned(),
        kept: Vec::new(),
        layout: OnceCell::new(),
    }
}

impl Page {
    /// Sets the URL of the page.
    #[must_use]
    pub fn url(mut self, url: &str) -> Self {
        self.url = url.to_owned();
        self.changed()
    }

    /// Sets the `Content-Type`. Only HTML has a full tree.
    #[must_use]
    pub fn content_type(mut self, content_type: &str) -> Self {
        self.content_type = content_type.to_owned();
        self.changed()
    }

    /// Sets the body as received, if it differs from the text in UTF-8.
    #[must_use]
    pub fn body(mut self, body: &[u8]) -> Self {
        self.body = Some(body.to_vec());
        self
    }

    /// Applies a filter's mask, as the host does before it calls a format.
    #[must_use]
    pub fn masked(mut self, mask: Mask) -> Self {
        self.kept = mask.into_bits();
        self.changed()
    }

    /// Removes every element that matches a selector, with its content.
    ///
    /// # Panics
    /// If the selector does not parse.
    #[must_use]
    pub fn without(self, css: &str) -> Self {
        let mask = {
            let document = self.document();
            let mut mask = Mask::of(&document);
            for element in document.select(css).expect("a selector that parses") {
                mask.drop_tree(element.node());
            }
            mask
        };
        self.masked(mask)
    }

    /// The page as a plugin sees it.
    pub fn document(&self) -> Document<'_> {
        Document::new(self.layout.get_or_init(|| self.lay_out()).arrays())
    }

    /// Runs a format with these options.
    ///
    /// # Errors
    /// The plugin's failure, or [`Failure::InvalidOptions`] if its options type rejects them.
    pub fn render<F: Format>(&self, options: Value) -> Result<Output, Failure> {
        let options = options::read(&options.to_string())?;
        F::render(&self.document(), self.source(&F::info()), options)
    }

    /// Runs a format that produces text.
    ///
    /// # Panics
    /// If the format fails or produces bytes.
    pub fn render_text<F: Format>(&self, options: Value) -> String {
        match self.render::<F>(options) {
            Ok(Output::Text(text)) => text,
            other => panic!("expected text, got {other:?}"),
        }
    }

    /// Runs a filter with these options.
    ///
    /// # Errors
    /// See [`render`](Self::render).
    pub fn keep<F: Filter>(&self, options: Value) -> Result<Mask, Failure> {
        F::keep(&self.document(), options::read(&options.to_string())?)
    }

    /// Runs an extractor with these options and returns its result as JSON.
    ///
    /// # Errors
    /// See [`render`](Self::render).
    pub fn extract<E: Extractor>(&self, options: Value) -> Result<Value, Failure> {
        let options = options::read(&options.to_string())?;
        let answer = E::extract(&self.document(), self.source(&E::info()), options)?;
        serde_json::to_value(answer).map_err(|error| Failure::Failed(error.to_string()))
    }

    /// Number of elements that match a selector.
    ///
    /// # Panics
    /// If the selector does not parse.
    pub fn count(&self, css: &str) -> usize {
        let document = self.document();
        document
            .select(css)
            .expect("a selector that parses")
            .count()
    }

    fn changed(mut self) -> Self {
        self.layout = OnceCell::new();
        self
    }

    fn media_type(&self) -> String {
        let media_type = self.content_type.split(';').next().unwrap_or_default();
        media_type.trim().to_ascii_lowercase()
    }

    fn lay_out(&self) -> Layout {
        let media_type = self.media_type();
        let mut layout = match media_type.as_str() {
            "text/html" | "application/xhtml+xml" => {
                let (document, quirks) = tree::parse(&self.text);
                Layout::of(&document, quirks, &self.url, &media_type)
            }
            _ => {
                let empty = Layout::empty(&self.url, &media_type);
                if Document::new(empty.arrays()).is_binary() {
                    empty
                } else {
                    Layout::plain(&self.text, &self.url, &media_type)
                }
            }
        };
        layout.kept.clone_from(&self.kept);
        layout
    }

    /// The parts of the source that the plugin requests, as the host passes them.
    fn source(&self, info: &crate::Info) -> Source<'_> {
        let mut source = Source {
            content_type: Cow::Borrowed(&self.content_type),
            charset: Cow::Borrowed("utf-8"),
            ..Source::default()
        };
        if info.needs.contains(crate::Needs::SOURCE) {
            source.text = Cow::Borrowed(&self.text);
        }
        if info.needs.contains(crate::Needs::BODY) {
            source.body = Cow::Borrowed(self.body.as_deref().unwrap_or(self.text.as_bytes()));
        }
        source
    }
}
