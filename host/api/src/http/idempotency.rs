//! Idempotency keys: a repeated request gets the stored response of the first one.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use tracing::Instrument;

use trawl_billing::{ANSWER_BYTES_MAX, Account, Answer, Begun, FirstRequest};
use trawl_model::memory::MemoryShare;

use super::error::ApiError;
use super::format::ResponseFormat;
use crate::Service;

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The idempotency key of a request, if it has one.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    let key = key
        .to_str()
        .map_err(|_| ApiError::Invalid("Idempotency-Key: not printable ASCII".to_owned()))?;
    Ok(Some(key.to_owned()))
}

/// Hash of everything that determines a response: path, response format and body.
pub(crate) fn fingerprint(path: &str, format: ResponseFormat, body: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for part in [
        path.as_bytes(),
        b"\n",
        format.media_type().as_bytes(),
        b"\n",
        body,
    ] {
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

/// Runs `work` unless a request with this key was seen before. The first request continues when its
/// client disconnects, so that a retry finds the response instead of paying again.
pub(crate) async fn once<F>(
    service: &dyn Service,
    account: &Account,
    key: &str,
    fingerprint: [u8; 32],
    work: F,
) -> Result<Response, ApiError>
where
    F: Future<Output = Result<Response, ApiError>> + Send + 'static,
{
    match service
        .billing()
        .begin(&account.id, key, fingerprint)
        .await?
    {
        Begun::New(first) => {
            // Before anything is fetched and charged, whose answer could not be repeated.
            service.storage().admit(&account.id).await?;
            let memory = service.memory().share(account.id.as_str());
            let stored = async move { store(first, work.await?, &memory).await };
            let task = service.tasks().spawn(stored.in_current_span());
            task.await.unwrap_or(Err(ApiError::Internal))
        }
        Begun::Replay(answer) => Ok(replay(answer)),
        Begun::InFlight => Err(ApiError::Conflict(
            "the first request with this Idempotency-Key is still in progress",
        )),
        Begun::Mismatch => Err(ApiError::Conflict(
            "this Idempotency-Key was used with another request",
        )),
        Begun::TooLarge => Err(ApiError::Conflict(
            "the request with this Idempotency-Key was served, but its response was too large to store",
        )),
    }
}

/// Stores a response before it is sent. One that is too large to store is streamed instead, and one
/// that the store does not accept is sent all the same. What was read counts as memory of the
/// account, whose pages wait meanwhile.
async fn store(
    first: FirstRequest,
    response: Response,
    memory: &MemoryShare,
) -> Result<Response, ApiError> {
    let (parts, body) = response.into_parts();
    if !parts.status.is_success() {
        return Ok(Response::from_parts(parts, body));
    }
    let mut chunks = body.into_data_stream();
    let mut buffer = Vec::new();
    let mut lease = memory.page().lease();
    while buffer.len() <= ANSWER_BYTES_MAX {
        match chunks.next().await {
            Some(Ok(chunk)) => {
                buffer.extend_from_slice(&chunk);
                lease.record(buffer.capacity());
            }
            Some(Err(_)) => return Err(ApiError::Internal),
            None => break,
        }
    }
    let buffer = lease.attach(buffer);
    let content_type = parts
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let answer = Answer {
        status: parts.status.as_u16(),
        content_type: content_type.unwrap_or_default().to_owned(),
        body: buffer.clone(),
    };
    let is_complete = buffer.len() <= ANSWER_BYTES_MAX;
    if let Err(error) = first.finish(answer).await {
        // Its pages are paid, so the caller gets them; a repeat would pay again.
        tracing::error!(error = %error, "a response could not be stored under its Idempotency-Key");
    }
    let body = if is_complete {
        Body::from(buffer)
    } else {
        Body::from_stream(stream::once(async { Ok(buffer) }).chain(chunks))
    };
    Ok(Response::from_parts(parts, body))
}

fn replay(answer: Answer) -> Response {
    let mut response = answer.body.into_response();
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    if let Ok(content_type) = HeaderValue::from_str(&answer.content_type) {
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, content_type);
    }
    response
        .headers_mut()
        .insert("idempotency-replayed", HeaderValue::from_static("true"));
    response
}
