//! Decoders: turn documents that are not HTML into HTML.
//!
//! A decoder is a type that implements [`Decoder`]. The host chooses it by the media type of a
//! response, parses the HTML that it returns like that of any page, and every format, filter and
//! extractor works on it. [`Html`] writes the HTML with everything escaped; [`fragment`] makes
//! markup inside a document safe to insert.
//!
//! ```
//! use trawl_sdk::decoder::{Decoded, Decoder, Failure, File, Html};
//! use trawl_sdk::{Info, Needs};
//!
//! /// Files of one `name: value` per line.
//! struct Properties;
//!
//! impl Decoder for Properties {
//!     type Options = ();
//!
//!     fn info() -> Info {
//!         let version = env!("CARGO_PKG_VERSION");
//!         Info::new("properties", version, "Names and values").needs(Needs::SOURCE)
//!     }
//!
//!     fn decode(file: &File<'_>, (): ()) -> Result<Decoded, Failure> {
//!         let mut html = Html::new("Properties", None);
//!         html.open("dl");
//!         for (index, line) in file.text.lines().enumerate() {
//!             let (name, value) = line.split_once(": ").ok_or_else(|| {
//!                 Failure::Damaged(format!("line {} has no `: `", index + 1))
//!             })?;
//!             html.element("dt", name).element("dd", value);
//!         }
//!         Ok(Decoded::new(html.finish()))
//!     }
//! }
//!
//! trawl_sdk::export!(decoder: Properties);
//! ```

mod fragment;
mod html;
mod markup;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Info;

pub use fragment::fragment;
pub use html::Html;

/// Turns documents of some media types into HTML. `plugins.toml` says which.
pub trait Decoder {
    /// Options of one request, deserialised from JSON; `()` for none.
    type Options: DeserializeOwned + Default;

    /// Describes the plugin. Must always return the same value. [`Info::needs`] says whether it
    /// reads documents as text ([`Needs::SOURCE`](crate::Needs::SOURCE)), as bytes
    /// ([`Needs::BODY`](crate::Needs::BODY)), or both.
    fn info() -> Info;

    /// Decodes a document.
    ///
    /// # Errors
    /// Any [`Failure`]; it becomes the `error` of this page's entry. After
    /// [`Failure::Unsupported`] the host asks the next decoder for the media type.
    fn decode(file: &File<'_>, options: Self::Options) -> Result<Decoded, Failure>;
}

/// Pages of a document, counted from 1; both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// The first page.
    pub first: u32,
    /// The last page.
    pub last: u32,
}

/// A document to decode. `text` and `body` are empty unless [`Info::needs`] requests them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File<'a> {
    /// The document as text, decoded to UTF-8.
    pub text: Cow<'a, str>,
    /// The body as received, with its content encoding decoded.
    pub body: Cow<'a, [u8]>,
    /// Media type, lower case, without parameters.
    pub media_type: Cow<'a, str>,
    /// The `Content-Type` header as received; empty if the site sent none.
    pub content_type: Cow<'a, str>,
    /// Absolute URL of the document.
    pub url: Cow<'a, str>,
    /// The pages to decode, in ascending order, without overlap; empty for all.
    pub pages: Vec<PageRange>,
}

impl File<'_> {
    /// Whether a page of the document, counted from 1, is to be decoded.
    pub fn wants_page(&self, number: u32) -> bool {
        let has = |range: &PageRange| (range.first..=range.last).contains(&number);
        self.pages.is_empty() || self.pages.iter().any(has)
    }

    /// The last part of the URL's path, for documents without a title; `None` if it is empty.
    pub fn name(&self) -> Option<&str> {
        let path = self.url.split(['?', '#']).next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        (!name.is_empty()).then_some(name)
    }
}

/// A document within a document: a member of an archive, an attachment of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inner {
    /// Its name or path in the document.
    pub name: String,
    /// What it is, as in a `Content-Type` header; empty if only its first bytes say so.
    pub content_type: String,
    /// Its bytes, uncompressed.
    pub body: Vec<u8>,
}

/// A decoded document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The document as HTML.
    pub html: String,
    /// What the document says about itself. Values are plain or lists of plain values.
    pub metadata: Map<String, Value>,
    /// Number of pages of the whole document; `None` for documents without pages.
    pub page_count: Option<u32>,
    /// What is missing or uncertain in the HTML, one sentence each.
    pub warnings: Vec<String>,
    /// The document within that the options request. The host decodes it in turn, and its HTML
    /// replaces `html`, which stands if no decoder reads it, unless it is text in another character
    /// set than UTF-8.
    pub inner: Option<Inner>,
}

impl Decoded {
    /// A document without metadata, pages and warnings.
    pub fn new(html: String) -> Self {
        Self {
            html,
            ..Self::default()
        }
    }

    /// Adds metadata, unless the value is an empty text, an empty list or null.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let is_empty = match &value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(values) => values.is_empty(),
            _ => false,
        };
        if !is_empty {
            self.metadata.insert(name.to_owned(), value);
        }
        self
    }

    /// Adds a warning.
    #[must_use]
    pub fn warn(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }
}

/// Why a document was not decoded: lower case, no full stop, values in backticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The options match the schema but are invalid; says which one and why.
    InvalidOptions(String),
    /// The document is not of a type that this decoder reads; the next decoder for its media type
    /// is asked.
    Unsupported(String),
    /// The document is damaged; says where and how.
    Damaged(String),
    /// The document needs a password.
    Encrypted(String),
    /// The document exceeds a limit of the decoder; says which one.
    Limit(String),
    /// Any other failure; says what.
    Failed(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidOptions(reason) => write!(f, "invalid options: {reason}"),
            Self::Unsupported(reason) => write!(f, "unsupported document: {reason}"),
            Self::Damaged(reason) => write!(f, "damaged document: {reason}"),
            Self::Encrypted(reason) => write!(f, "encrypted document: {reason}"),
            Self::Limit(reason) => write!(f, "limit exceeded: {reason}"),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Failure {}

impl From<crate::Failure> for Failure {
    fn from(failure: crate::Failure) -> Self {
        match failure {
            crate::Failure::InvalidOptions(reason) => Self::InvalidOptions(reason),
            crate::Failure::Unsupported(reason) => Self::Unsupported(reason),
            crate::Failure::Failed(reason) => Self::Failed(reason),
        }
    }
}
