//! A server to which messages are posted.

use anyhow::{Context, bail};
use axum::body::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use trawl_model::secret::Secret;

/// Longest answer to a message.
const ANSWER_BYTES_MAX: usize = 128_000_000;

/// A server with tools.
pub(super) trait Server: Send + Sync + 'static {
    /// Posts a message. Dropping the answer cancels it.
    fn post(&self, headers: HeaderMap, message: Bytes) -> BoxFuture<'_, anyhow::Result<Answer>>;
}

/// The `Authorization` header of a key, which logs do not show.
///
/// # Errors
/// The key has characters that no header has.
pub(super) fn authorization(key: &Secret) -> anyhow::Result<HeaderValue> {
    let value = HeaderValue::try_from(format!("Bearer {}", key.expose().trim()));
    let mut value = value.context("the key has characters that no key has")?;
    value.set_sensitive(true);
    Ok(value)
}

/// The answer to a message.
pub(super) struct Answer {
    /// Its status.
    pub(super) status: StatusCode,
    /// Whether it is a stream of events.
    pub(super) is_stream: bool,
    body: BoxStream<'static, anyhow::Result<Bytes>>,
}

impl Answer {
    /// An answer with this body.
    pub(super) fn new(
        status: StatusCode,
        headers: &HeaderMap,
        body: impl Stream<Item = anyhow::Result<Bytes>> + Send + 'static,
    ) -> Self {
        let media_type = headers.get(header::CONTENT_TYPE);
        let is_stream =
            media_type.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
        Self {
            status,
            is_stream,
            body: body.boxed(),
        }
    }

    /// The next part of the body; `None` at its end.
    ///
    /// # Errors
    /// The connection broke.
    pub(super) async fn chunk(&mut self) -> anyhow::Result<Option<Bytes>> {
        self.body.next().await.transpose()
    }

    /// The whole body.
    ///
    /// # Errors
    /// The connection broke, or the body is too long.
    pub(super) async fn whole(mut self) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                bail!("the answer is longer than {ANSWER_BYTES_MAX} bytes");
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_a_key_is_not_shown() {
        let header = authorization(&Secret::from(" tr_key\n".to_owned())).expect("a header");
        assert_eq!(header, "Bearer tr_key");
        assert_eq!(format!("{header:?}"), "Sensitive");
        let refusal = authorization(&Secret::from("a\nb".to_owned())).expect_err("refused");
        assert_eq!(
            refusal.to_string(),
            "the key has characters that no key has"
        );
    }
}
