//! The arguments of tools that are no parameters of the interface.

use serde_json::{Value, json};

/// Tokens of an answer if the call says nothing.
pub(crate) const MAX_TOKENS_DEFAULT: u64 = 20_000;
/// Fewest and most tokens that a call may ask for.
pub(crate) const MAX_TOKENS: (u64, u64) = (500, 200_000);
/// Longest that a call may wait: clients give up after a minute, as a rule.
pub(crate) const WAIT_SECONDS_MAX: u64 = 50;
/// Longest id of a crawl.
pub(crate) const ID_BYTES_MAX: usize = 100;

/// An argument that is no parameter of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnArgument {
    /// Most tokens of the text.
    MaxTokens,
    /// Where the answer goes on.
    Cursor,
    /// The id of a crawl.
    Id,
    /// How long to wait for the end of a crawl.
    WaitSeconds,
    /// HTML to convert.
    Html,
    /// Where it is from.
    BaseUrl,
}

impl OwnArgument {
    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::Cursor => "cursor",
            Self::Id => "id",
            Self::WaitSeconds => "wait_seconds",
            Self::Html => "html",
            Self::BaseUrl => "url",
        }
    }

    /// Its JSON Schema.
    pub(crate) fn schema(self) -> Value {
        match self {
            Self::MaxTokens => json!({
                "type": "integer", "minimum": MAX_TOKENS.0, "maximum": MAX_TOKENS.1,
                "default": MAX_TOKENS_DEFAULT,
                "description": "Maximum number of tokens of the text, by an estimate. A longer answer is cut and has a `next_cursor`.",
            }),
            Self::Cursor => json!({
                "type": "string",
                "description": "`next_cursor` of the answer that this one goes on, with the same other arguments.",
            }),
            Self::Id => json!({
                "type": "string", "minLength": 1, "maxLength": ID_BYTES_MAX,
                "description": "The id of the crawl, from the answer of `crawl`.",
            }),
            Self::WaitSeconds => json!({
                "type": "integer", "minimum": 0, "maximum": WAIT_SECONDS_MAX, "default": 0,
                "description": "How long to wait for the end of the crawl.",
            }),
            Self::Html => json!({
                "type": "string",
                "description": "The HTML, at most 10,000,000 bytes.",
            }),
            Self::BaseUrl => json!({
                "type": "string",
                "description": "The URL of the page, by which relative links are resolved.",
            }),
        }
    }
}
