//! `content` of a page and its other fields, before they have a wire form.

use std::borrow::Cow;
use std::fmt;
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

impl Content {
    /// A hash of what it says, the same however it is held; `None` if it is empty.
    pub fn hash(&self) -> Option<ContentHash> {
        let mut hasher = blake3::Hasher::new();
        let is_empty = match self {
            Self::One(piece) => !piece.hash(&mut hasher),
            Self::ByFormat(pieces) => {
                let mut is_empty = true;
                for (name, piece) in pieces {
                    hasher.update(name.as_bytes());
                    is_empty &= !piece.hash(&mut hasher);
                }
                is_empty
            }
        };
        (!is_empty).then(|| ContentHash::of(&hasher))
    }
}

/// A hash of content: 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentHash(u128);

impl ContentHash {
    /// The hash of a page's body.
    pub fn of_body(body: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(body);
        Self::of(&hasher)
    }

    /// The hash with these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// Its bytes.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    fn of(hasher: &blake3::Hasher) -> Self {
        let mut bytes = [0; size_of::<u128>()];
        hasher.finalize_xof().fill(&mut bytes);
        Self(u128::from_be_bytes(bytes))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::One(Piece::Text(String::new()))
    }
}

/// What was extracted from a page in addition to its content. A part that was not requested is
/// `None`.
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

    /// Adds it to a hash. Returns whether it is not empty.
    fn hash(&self, hasher: &mut blake3::Hasher) -> bool {
        // Neither hashing nor writing texts as JSON fails.
        match self {
            Self::Text(text) => {
                let _ = serde_json::to_writer(hasher, text);
                !text.is_empty()
            }
            Self::Written(written) => {
                hasher.update(written.get().as_bytes());
                written.get() != "\"\""
            }
            Self::Bytes(bytes) => {
                hasher.update(bytes);
                !bytes.is_empty()
            }
            Self::Chunks(chunks) => {
                let _ = serde_json::to_writer(hasher, chunks);
                chunks.iter().any(|chunk| !chunk.is_empty())
            }
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
        let one = |piece| Content::One(piece).hash();
        let text = || Piece::Text("a \"b\"\n".to_owned());
        assert!(one(text()).is_some());
        assert_eq!(one(text().written()), one(text()));
        assert_ne!(one(text()), one(Piece::Text("a".to_owned())));
        for empty in [Piece::Text(String::new()), Piece::Bytes(vec![])] {
            assert_eq!(one(empty.clone().written()), None);
            assert_eq!(one(empty), None);
        }
        let bytes = Piece::Bytes(vec![1]).written();
        assert!(matches!(&bytes, Piece::Bytes(bytes) if *bytes == [1]));
        assert_eq!(bytes.text(), None);
    }
}
