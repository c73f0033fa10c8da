//! Description of a plugin, its input besides the document, and its output.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::{BitOr, Range};

use crate::SelectorError;

/// Description of a plugin; the host reads it once when it loads the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) options_schema: &'static str,
    pub(crate) needs: Needs,
}

impl Info {
    /// Creates a description from the plugin's name (lower-case ASCII letters, digits and `_`, 1 to
    /// 64 bytes), its version (`env!("CARGO_PKG_VERSION")`) and a one-sentence summary for users.
    /// By default the plugin has no options and needs only the parsed document.
    pub const fn new(name: &'static str, version: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            version,
            summary,
            options_schema: r#"{"type":"object","additionalProperties":false}"#,
            needs: Needs::NOTHING,
        }
    }

    /// Sets the JSON Schema (draft 2020-12, as JSON text) of the options object. The host validates
    /// every request against it before it calls the plugin, and shows it to callers.
    #[must_use]
    pub const fn options_schema(mut self, schema: &'static str) -> Self {
        self.options_schema = schema;
        self
    }

    /// Sets which parts of the page the host copies to the plugin besides the parsed document.
    #[must_use]
    pub const fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }
}

/// Parts of a page that are copied to a plugin only on request. Combine with `|`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(pub(crate) u32);

impl Needs {
    /// Only the parsed document.
    pub const NOTHING: Self = Self(0);
    /// The page's source as text: [`Source::text`].
    pub const SOURCE: Self = Self(1);
    /// The body as received: [`Source::body`].
    pub const BODY: Self = Self(2);

    /// Whether these include all of `other`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Needs {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Input of a plugin besides the parsed document. `text` and `body` are empty unless
/// [`Info::needs`] requests them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source<'a> {
    /// The page's source, decoded to UTF-8.
    pub text: Cow<'a, str>,
    /// The body as received, with its content encoding decoded.
    pub body: Cow<'a, [u8]>,
    /// The `Content-Type` header as received; empty if the site sent none.
    pub content_type: Cow<'a, str>,
    /// Label of the character encoding that the text was decoded from: `utf-8`.
    pub charset: Cow<'a, str>,
}

/// Output of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Text: a JSON string in the entry.
    Text(String),
    /// Bytes: a list of integers 0 to 255 in the entry.
    Bytes(Vec<u8>),
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<u8>> for Output {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

/// A range of a text in byte offsets, `start` inclusive, `end` exclusive; both are character
/// boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset one past the last byte.
    pub end: u32,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self {
            start: range.start as u32,
            end: range.end as u32,
        }
    }
}

impl Span {
    /// Groups the units of a text into spans of `n_units` each. `starts` are the offsets of the
    /// units, in order. The first span starts with the text, each other span with its first unit,
    /// and the last one ends with the text: concatenated they are the text.
    pub fn group(
        text: &str,
        starts: impl IntoIterator<Item = usize>,
        n_units: NonZeroU32,
    ) -> Vec<Self> {
        if text.is_empty() {
            return Vec::new();
        }
        let firsts = starts.into_iter().step_by(n_units.get() as usize).skip(1);
        let mut spans = Vec::new();
        let mut start = 0;
        for first in firsts {
            spans.push(Self::from(start..first));
            start = first;
        }
        spans.push(Self::from(start..text.len()));
        spans
    }
}

/// Why a call failed: lower case, no full stop, values in backticks. It becomes the `error` of that
/// page, never of the whole request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The options match the schema but are invalid; says which one and why.
    InvalidOptions(String),
    /// The plugin does not support this page (its media type, for example); says why.
    Unsupported(String),
    /// Any other failure; says what.
    Failed(String),
}

impl Failure {
    /// Creates [`Failure::InvalidOptions`] for one option.
    pub fn invalid_option(name: &str, reason: impl fmt::Display) -> Self {
        Self::InvalidOptions(format!("`{name}`: {reason}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidOptions(reason) => write!(f, "invalid options: {reason}"),
            Self::Unsupported(reason) => write!(f, "unsupported page: {reason}"),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Failure {}

/// For selectors written by the plugin's author. Report a caller's selector with
/// [`Failure::invalid_option`].
impl From<SelectorError> for Failure {
    fn from(error: SelectorError) -> Self {
        Self::Failed(format!("selector does not parse: {error}"))
    }
}
