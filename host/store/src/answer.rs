//! Answers kept for requests that are sent again.

use bytes::Bytes;

use super::AccountId;
use trawl_model::clock::Timestamp;

/// Largest body that is kept. A page array of 10 MB of content with JSON escapes fits; one row stays far below what a
/// database takes.
pub const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// What an answer is kept under.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AnswerKey {
    /// Account that asked.
    pub account: AccountId,
    /// The caller's `Idempotency-Key`.
    pub key: String,
}

/// An HTTP answer as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: String,
    /// The body.
    pub body: Bytes,
}

/// A kept answer with the request it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    /// BLAKE3 hash of the request's body.
    pub body_hash: [u8; 32],
    /// The answer; `None` when it was larger than [`ANSWER_BYTES_MAX`].
    pub answer: Option<Answer>,
    /// When it was kept.
    pub at: Timestamp,
}
