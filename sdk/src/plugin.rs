//! The plugin traits, one for each kind that works on a single page or text.

use serde::de::DeserializeOwned;

use crate::{Document, Failure, Info, Mask, Output, Source, Span};

/// Renders a page to the `content` of an entry. Requested with `return_format`.
pub trait Format {
    /// Options of one request, deserialised from JSON; `()` for none.
    type Options: DeserializeOwned + Default;

    /// Describes the plugin. Must always return the same value.
    fn info() -> Info;

    /// Renders a page after filtering.
    ///
    /// # Errors
    /// Any [`Failure`]; it becomes the `error` of this page's entry.
    fn render(
        document: &Document,
        source: Source,
        options: Self::Options,
    ) -> Result<Output, Failure>;
}

/// Selects the nodes of a page to keep. Requested with `filters`; runs before every output.
pub trait Filter {
    /// Options of one request, deserialised from JSON; `()` for none.
    type Options: DeserializeOwned + Default;

    /// Describes the plugin. Must always return the same value.
    fn info() -> Info;

    /// Selects nodes, starting from [`Mask::of`] the document.
    ///
    /// # Errors
    /// Any [`Failure`]; it becomes the `error` of this page's entry.
    fn keep(document: &Document, options: Self::Options) -> Result<Mask, Failure>;
}

/// Extracts fields from a page. Requested with `extractors`; the result appears under the plugin's
/// name in `extracted`.
pub trait Extractor {
    /// Options of one request, deserialised from JSON; `()` for none.
    type Options: DeserializeOwned + Default;
    /// The result: any type that serialises to JSON.
    type Output: serde::Serialize;

    /// Describes the plugin. Must always return the same value.
    fn info() -> Info;

    /// Extracts from a page.
    ///
    /// # Errors
    /// Any [`Failure`]; it becomes the `error` of this page's entry.
    fn extract(
        document: &Document,
        source: Source,
        options: Self::Options,
    ) -> Result<Self::Output, Failure>;
}

/// Splits a page's content into chunks. Requested with `chunking_alg`.
pub trait Chunker {
    /// Options of one request, deserialised from JSON. By convention `value` is the size of a chunk
    /// in the chunker's own unit.
    type Options: DeserializeOwned + Default;

    /// Describes the plugin. Must always return the same value.
    fn info() -> Info;

    /// Splits the text into spans that are in order, do not overlap, and start and end at character
    /// boundaries.
    ///
    /// # Errors
    /// Any [`Failure`]; it becomes the `error` of this page's entry.
    fn chunk(text: &str, options: Self::Options) -> Result<Vec<Span>, Failure>;
}
