//! Idempotency keys: a repeated request gets the stored response of the first one, with the headers
//! that its endpoint set. Decision D228.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use tracing::Instrument;

use trawl_billing::{ANSWER_BYTES_MAX, Account, Answer, Begun, FirstRequest};
use trawl_model::memory::{MemoryKind, MemoryShare};

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
    let memory = service.memory().share(account.id.as_str());
    let billing = service.billing();
    match billing
        .begin(&account.id, key, fingerprint, &memory)
        .await?
    {
        Begun::New(first) => {
            // Before anything is fetched and charged, whose answer could not be repeated.
            service.storage().admit(&account.id).await?;
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
    let mut lease = memory.page().lease_for(MemoryKind::Answers);
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
        headers: stored_headers(&parts.headers),
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

/// The headers that belong to the response itself. What concerns the request in progress, such as
/// its id and rate limit, is added to the response later, and to a repeated one again.
fn stored_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let is_own = |name: &HeaderName| ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name);
    let own = headers.iter().filter(|(name, _)| is_own(name));
    let text =
        own.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    text.collect()
}

fn replay(answer: Answer) -> Response {
    let mut response = answer.body.into_response();
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    if let Ok(content_type) = HeaderValue::from_str(&answer.content_type) {
        headers.insert(header::CONTENT_TYPE, content_type);
    }
    for (name, value) in &answer.headers {
        let parsed = (HeaderName::try_from(name), HeaderValue::from_str(value));
        if let (Ok(name), Ok(value)) = parsed {
            headers.append(name, value);
        }
    }
    headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_response_has_the_headers_of_the_first() {
        let mut first = HeaderMap::new();
        let fields = [
            ("content-type", "application/jsonl"),
            ("content-length", "2"),
            ("x-crawl-id", "c1, c2"),
            ("x-left-out", "urls=4"),
            ("x-ignored-parameters", "a, b"),
            ("x-parameter-hints", "a=c"),
            ("link", "one"),
            ("link", "two"),
        ];
        for (name, value) in fields {
            first.append(name, HeaderValue::from_static(value));
        }
        first.append(
            "x-binary",
            HeaderValue::from_bytes(b"\xff").expect("a value"),
        );
        let headers = stored_headers(&first);
        assert_eq!(headers.len(), fields.len() - 2);
        let repeated = replay(Answer {
            status: 201,
            content_type: "application/jsonl".to_owned(),
            headers,
            body: "[]".into(),
        });
        assert_eq!(repeated.status(), 201);
        let mut expected = first;
        expected.remove("content-length");
        expected.remove("x-binary");
        expected.insert("idempotency-replayed", HeaderValue::from_static("true"));
        assert_eq!(*repeated.headers(), expected);
    }
}
