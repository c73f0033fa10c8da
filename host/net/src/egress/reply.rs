//! Responses whose bodies are still arriving.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, StatusCode};
use reqwest::{Response, Upgraded};

use super::EgressError;
use super::connections::ConnectionPermit;

/// A response whose body is still arriving.
#[derive(Debug)]
pub struct Reply {
    response: Response,
    through_proxy: bool,
    /// Where the body ends although the connection stays open.
    length: Option<u64>,
    body_bytes: u64,
    /// Counts the bytes of all replies.
    received: Arc<AtomicU64>,
    /// The place of a connection that a client opens which does not count them.
    _permit: Option<ConnectionPermit>,
}

impl Reply {
    /// The reply of this response, whose bytes are added to `received`.
    pub(super) fn new(response: Response, through_proxy: bool, received: Arc<AtomicU64>) -> Self {
        Self {
            length: identity_length(response.headers()),
            response,
            through_proxy,
            body_bytes: 0,
            received,
            _permit: None,
        }
    }

    /// The same, which holds this permit until it is dropped.
    #[must_use]
    pub(super) fn holding(self, permit: ConnectionPermit) -> Self {
        Self {
            _permit: Some(permit),
            ..self
        }
    }

    /// HTTP status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Headers in the order received, with repeats.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The connection below, after a status of 101.
    ///
    /// # Errors
    /// The site did not switch protocols.
    pub(super) async fn upgrade(self) -> Result<Upgraded, EgressError> {
        let upgraded = self.response.upgrade().await;
        upgraded.map_err(|error| EgressError::from_client(error, self.through_proxy))
    }

    /// Body bytes received so far, as they came over the wire.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// The next piece of the body as it came over the wire; `None` at its end.
    ///
    /// # Errors
    /// [`EgressError::Broken`] when the connection breaks or the body ends before its announced
    /// end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        let left = self.length.map(|length| length - self.body_bytes);
        if left == Some(0) {
            return Ok(None);
        }
        let chunk = self.response.chunk().await;
        let chunk = chunk.map_err(|error| EgressError::from_client(error, self.through_proxy))?;
        let chunk = match (chunk, left) {
            (Some(mut chunk), Some(left)) => {
                chunk.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                Some(chunk)
            }
            (None, Some(_)) => return Err(EgressError::early_end()),
            (chunk, None) => chunk,
        };
        let bytes = chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        self.body_bytes += bytes;
        self.received.fetch_add(bytes, Ordering::Relaxed);
        Ok(chunk)
    }
}

/// The length of a body with `Transfer-Encoding: identity`, which RFC 2616 had servers send along
/// with `Content-Length`. The client reads such a body up to the end of the connection.
fn identity_length(headers: &HeaderMap) -> Option<u64> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).into_iter().peekable();
    codings.peek()?;
    let is_identity = codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    let length = headers.get(CONTENT_LENGTH).filter(|_| is_identity)?;
    length.to_str().ok()?.parse().ok()
}
