//! What a plugin is: one trait a kind.

use serde::de::DeserializeOwned;

use crate::{Document, Failure, Info, Mask, Output, Source, Span};

/// Turns a page into the `content` of an entry. A caller asks for it with `return_format`.
pub trait Format {
    /// Options of one request; made from JSON. `()` for none.
    type Options: DeserializeOwned + Default;

    /// Says what the plugin is. Always the same answer.
    fn info() -> Info;

    /// Renders what filters have kept of a page.
    ///
    /// # Errors
    /// Any [`Failure`]; it becomes the `error` of this page's entry.
    fn render(
        document: &Document,
        source: Source,
        options: Self::Options,
    ) -> Result<Output, Failure>;
}

/// Decides which nodes of a page stay. A caller asks for it under `filters`; it runs before every output.
pub trait Filter {
    /// Options of one request; made from JSON. `()` for none.
    type Options: DeserializeOwned + Default;

    /// Says what the plugin is. Always the same answer.
    fn info() -> Info;

    /// Chooses nodes, beginning with [`Mask::of`] the document.
    ///
    /// # Errors
    /// Any [`Failure`]; it becomes the `error` of this page's entry.
    fn keep(document: &Document, options: Self::Options) -> Result<Mask, Failure>;
}

/// Reads fields out of a page. A caller asks for it under `extractors`; the answer stands under its name in `extracted`.
pub trait Extractor {
    /// Options of one request; made from JSON. `()` for none.
    type Options: DeserializeOwned + Default;
    /// What is extracted: anything that serialises to JSON.
    type Output: serde::Serialize;

    /// Says what the plugin is. Always the same answer.
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

/// Splits a page's content into pieces. A caller asks for it with `chunking_alg`.
pub trait Chunker {
    /// Options of one request; made from JSON. By convention `value` is the size of a chunk in the chunker's own unit.
    type Options: DeserializeOwned + Default;

    /// Says what the plugin is. Always the same answer.
    fn info() -> Info;

    /// Splits the text: spans in order, not overlapping, each beginning and ending at a character boundary.
    ///
    /// # Errors
    /// Any [`Failure`]; it becomes the `error` of this page's entry.
    fn chunk(text: &str, options: Self::Options) -> Result<Vec<Span>, Failure>;
}
