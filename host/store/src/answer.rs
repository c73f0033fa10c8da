//! Requests with an `Idempotency-Key`, and their stored responses.

use bytes::Bytes;

use trawl_model::clock::Timestamp;

use crate::account::AccountId;

/// Largest response body that is stored. A page array with 10 MB of content and its JSON escapes
/// fits; a row stays far below the size limit of a database.
pub const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Identifies a stored response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AnswerKey {
    /// Account of the request.
    pub account: AccountId,
    /// The caller's `Idempotency-Key`.
    pub key: String,
}

/// An HTTP response as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: String,
    /// Other headers of the endpoint, in order: such as `X-Ignored-Parameters` and `X-Crawl-Id`.
    /// Headers that concern the request in progress, such as its id, are not among them.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

/// A stored response with the request that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// BLAKE3 hash of the request body.
    pub body_hash: [u8; 32],
    /// Whether the request has ended. One that is not in progress either was interrupted.
    pub has_ended: bool,
    /// The response; `None` if it was larger than [`ANSWER_BYTES_MAX`], or there is none yet.
    pub answer: Option<Answer>,
    /// When the request ended; when it began, if it has not.
    pub at: Timestamp,
}
