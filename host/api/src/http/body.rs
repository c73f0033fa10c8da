//! Reading request bodies, with limits on size and time.

use std::error::Error;
use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::error::ApiError;
use super::media_type::essence;

/// Maximum size of the body of a page or crawl request. Decision D75.
pub(crate) const BODY_BYTES_MAX: usize = 10_000_000;

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// How much of an oversized body is read and discarded, and for how long.
const DISCARDED_BYTES_MAX: usize = 64_000_000;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads the whole body of a request that must be JSON.
///
/// # Errors
/// The `Content-Type` is not JSON, or the body is too large or takes too long.
pub(crate) async fn read_json(request: Request, bytes_max: usize) -> Result<Bytes, ApiError> {
    require_json(request.headers())?;
    read(request, bytes_max).await
}

/// Whether a request has no body and declares none. Where all fields are optional, it means an
/// empty object. Decision D261.
pub(crate) fn is_absent(request: &Request) -> bool {
    request.body().is_end_stream() && !request.headers().contains_key(header::CONTENT_TYPE)
}

/// Checks that a request declares a JSON body.
pub(crate) fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    match media_type.map(essence).as_deref() {
        Some("application/json" | "application/jsonl") => Ok(()),
        _ => Err(ApiError::MediaType),
    }
}

/// Reads the whole body of a request.
///
/// # Errors
/// The body is too large, takes too long, or ends early.
pub(crate) async fn read(request: Request, bytes_max: usize) -> Result<Bytes, ApiError> {
    let mut body = request.into_body();
    let read = Limited::new(&mut body, bytes_max).collect();
    match tokio::time::timeout(BODY_TIMEOUT, read).await {
        Err(_) => Err(ApiError::SlowBody),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            discard(body).await;
            Err(ApiError::TooLarge(bytes_max))
        }
        Ok(Err(error)) if is_slow(&*error) => Err(ApiError::SlowBody),
        Ok(Err(_)) => Err(ApiError::Invalid("the request body ended early".to_owned())),
    }
}

/// Whether the listener gave up on a body that made no progress.
fn is_slow(error: &(dyn Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let mut errors = causes.filter_map(|error| error.downcast_ref::<io::Error>());
    errors.any(|error| error.kind() == io::ErrorKind::TimedOut)
}

/// Reads on for a while: a client that is still sending when the connection closes never sees the
/// response.
async fn discard(body: Body) {
    let mut chunks = body.into_data_stream();
    let mut left = DISCARDED_BYTES_MAX;
    let read = async {
        while let Some(Ok(chunk)) = chunks.next().await
            && left > chunk.len()
        {
            left -= chunk.len();
        }
    };
    if tokio::time::timeout(DISCARD_TIMEOUT, read).await.is_err() {
        tracing::debug!("timed out discarding the rest of an oversized request body");
    }
}
