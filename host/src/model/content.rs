//! `content` of a page and the fields beside it, before they have a wire form.

use serde_json::{Map, Value};

/// `content` of an entry. Never null on the wire.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// One format was asked for with a string.
    One(Piece),
    /// A list of formats was asked for: format name and its content.
    ByFormat(Vec<(String, Piece)>),
}

impl Default for Content {
    fn default() -> Self {
        Self::One(Piece::Text(String::new()))
    }
}

/// What was read out of a page beside its content. A part that was not asked for is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    /// Absolute addresses in page order without duplicates.
    pub links: Option<Value>,
    /// Metadata, and the parts of it that are told without being asked (`render_reason`, ...).
    pub metadata: Option<Map<String, Value>>,
    /// Structured data and framework state by source.
    pub json_data: Option<Value>,
    /// Values by field of the selector map.
    pub css_extracted: Option<Value>,
    /// Results of extractors asked for by name.
    pub extracted: Option<Map<String, Value>>,
    /// What a pipeline's analyst found.
    pub finding: Option<AnalystFinding>,
}

/// What an analyst found on a page.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalystFinding {
    /// Name of the analyst.
    pub analyst: String,
    /// What it said.
    pub value: Value,
}

/// One format's content.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// A string.
    Text(String),
    /// A list of integers 0 to 255.
    Bytes(Vec<u8>),
    /// A list of strings.
    Chunks(Vec<String>),
}
