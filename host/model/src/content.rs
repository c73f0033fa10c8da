//! `content` of a page and the fields beside it, before they have a wire form.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// `content` of an entry. Never null on the wire.
#[derive(Clone, Debug)]
pub enum Content {
    /// One format, requested as a string.
    One(Piece),
    /// A list of formats: each name with its content.
    ByFormat(Vec<(String, Piece)>),
}

impl Default for Content {
    fn default() -> Self {
        Self::One(Piece::Text(String::new()))
    }
}

/// What was extracted from a page besides its content. A part that was not requested is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    /// Absolute URLs in page order without duplicates.
    pub links: Option<Value>,
    /// Metadata, including the parts that are always added (`render_reason`, …).
    pub metadata: Option<Map<String, Value>>,
    /// Structured data and framework state by source.
    pub json_data: Option<Value>,
    /// Values by field of the selector map.
    pub css_extracted: Option<Value>,
    /// Results of extractors requested by name.
    pub extracted: Option<Map<String, Value>>,
    /// What a pipeline's analyst found.
    pub finding: Option<AnalystFinding>,
}

/// What an analyst found on a page.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalystFinding {
    /// Name of the analyst.
    pub analyst: String,
    /// Its result.
    pub value: Value,
}

/// One format's content.
#[derive(Clone, Debug)]
pub enum Piece {
    /// A string.
    Text(String),
    /// A string as JSON has it: for cached content, which is escaped once and not for every answer.
    Written(Arc<RawValue>),
    /// A list of integers 0 to 255.
    Bytes(Vec<u8>),
    /// A list of strings.
    Chunks(Vec<String>),
}

impl Piece {
    /// The same for sharing: a string as JSON has it.
    #[must_use]
    pub fn written(self) -> Self {
        match self {
            // Serialising a string fails only without memory.
            Self::Text(text) => match to_raw_value(&text) {
                Ok(written) => Self::Written(Arc::from(written)),
                Err(_) => Self::Text(text),
            },
            other => other,
        }
    }

    /// The string, if it is one.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(text.into()),
            Self::Written(written) => serde_json::from_str::<String>(written.get())
                .ok()
                .map(Cow::from),
            Self::Bytes(_) | Self::Chunks(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_that_was_written_is_the_same_string() {
        for text in ["", "a \"b\"\n\u{1}\\ ü 🦀"] {
            let written = Piece::Text(text.to_owned()).written();
            assert!(matches!(written, Piece::Written(_)));
            assert_eq!(written.text().as_deref(), Some(text));
        }
        let bytes = Piece::Bytes(vec![1]).written();
        assert!(matches!(&bytes, Piece::Bytes(bytes) if *bytes == [1]));
        assert_eq!(bytes.text(), None);
    }
}
