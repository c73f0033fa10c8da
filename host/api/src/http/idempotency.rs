//! Idempotency keys: a repeated request gets the stored response of the first one, with the headers
//! that its endpoint set. Decision D228.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use trawl_billing::{
    ANSWER_BYTES_MAX, Account, Answer, FirstRequest, IdempotencyStart, Payment, Repeated,
};
use trawl_model::memory::{MemoryKind, MemoryLease, MemoryShare};

use super::error::ApiError;
use super::format::ResponseFormat;
use super::media_type::essence;
use crate::Rooms;

/// The header with the key of a request that may be repeated.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

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

/// The response that is stored for a request with this key, or why it has none any more; `None` for
/// a request that has to be served.
pub(crate) async fn replayed(
    rooms: &Rooms,
    account: &Account,
    key: &str,
    fingerprint: [u8; 32],
) -> Result<Option<Response>, ApiError> {
    let memory = rooms.memory.share(account.id.as_str());
    let billing = &rooms.billing;
    let ended = billing
        .repeated(&account.id, key, fingerprint, &memory)
        .await?;
    ended.map(answered).transpose()
}

/// Runs `work` unless a request with this key was seen before. The first request continues when its
/// client disconnects, so that a retry finds the response instead of paying again. One that was
/// interrupted runs again, and its pages that were charged are not charged again. Decision D305.
pub(crate) async fn once<W, F>(
    rooms: &Rooms,
    account: &Account,
    key: &str,
    fingerprint: [u8; 32],
    work: W,
) -> Result<Response, ApiError>
where
    W: FnOnce(Payment) -> F + Send + 'static,
    F: Future<Output = Result<Response, ApiError>> + Send + 'static,
{
    let memory = rooms.memory.share(account.id.as_str());
    let billing = &rooms.billing;
    match billing
        .begin(&account.id, key, fingerprint, &memory)
        .await?
    {
        IdempotencyStart::New(first) => {
            // Before anything is fetched and charged, whose answer could not be repeated.
            rooms.storage.admit(&account.id).await?;
            let tasks = rooms.tasks.clone();
            let served = serve(first, work, memory, tasks);
            let task = rooms.tasks.spawn(served.in_current_span());
            task.await.unwrap_or(Err(ApiError::Internal))
        }
        IdempotencyStart::InFlight => Err(ApiError::Conflict(
            "the first request with this Idempotency-Key is still in progress: wait for its end, then repeat it",
        )),
        IdempotencyStart::Repeated(repeated) => answered(repeated),
    }
}

/// The response to a request whose key was used before.
fn answered(repeated: Repeated) -> Result<Response, ApiError> {
    match repeated {
        Repeated::Replay(answer) => Ok(replay(answer)),
        Repeated::Mismatch => Err(ApiError::Conflict(
            "this Idempotency-Key was used with another request: send a new one",
        )),
        Repeated::TooLarge => Err(ApiError::Conflict(
            "the request with this Idempotency-Key was served, but its response was too large to store: send \
             a new one to have it served and charged again",
        )),
    }
}

/// Serves the first request with its key, and stores the response.
async fn serve<W, F>(
    mut first: FirstRequest,
    work: W,
    memory: MemoryShare,
    tasks: TaskTracker,
) -> Result<Response, ApiError>
where
    W: FnOnce(Payment) -> F + Send + 'static,
    F: Future<Output = Result<Response, ApiError>> + Send + 'static,
{
    let payment = first.open().await?;
    let response = match work(payment.clone()).await {
        Ok(response) if response.status().is_success() => response,
        refused => {
            if let Err(error) = first.release(&payment).await {
                tracing::error!(error = %error, "an Idempotency-Key could not be released");
            }
            return refused;
        }
    };
    let (parts, body) = response.into_parts();
    let answer = Answer {
        status: parts.status.as_u16(),
        content_type: content_type(&parts.headers).to_owned(),
        headers: stored_headers(&parts.headers),
        body: Bytes::new(),
    };
    let storing = Storing {
        first,
        answer,
        lease: memory.page().lease_for(MemoryKind::Answers),
        buffer: Vec::new(),
    };
    let body = if answer_is_lines(&parts.headers) {
        let (sender, receiver) = mpsc::channel(1);
        let read = storing.read_and_send(body, sender);
        tasks.spawn(read.in_current_span());
        let chunks = stream::unfold(receiver, async |mut receiver| {
            Some((receiver.recv().await?, receiver))
        });
        Body::from_stream(chunks)
    } else {
        storing.read(body).await?
    };
    Ok(Response::from_parts(parts, body))
}

fn content_type(headers: &HeaderMap) -> &str {
    let content_type = headers.get(header::CONTENT_TYPE);
    content_type
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// Whether the client reads the response as it comes: then it is sent while it is stored.
fn answer_is_lines(headers: &HeaderMap) -> bool {
    essence(content_type(headers)) == ResponseFormat::JsonLines.media_type()
}

/// A response that is being read, to be stored. What was read counts as memory of the account,
/// whose pages wait meanwhile.
struct Storing {
    first: FirstRequest,
    /// The answer, as yet without its body.
    answer: Answer,
    lease: MemoryLease,
    buffer: Vec<u8>,
}

impl Storing {
    /// Stores a response before it is sent. One that is too large to store is streamed instead, and
    /// one that the store does not accept is sent all the same: its pages are paid.
    async fn read(mut self, body: Body) -> Result<Body, ApiError> {
        let mut chunks = body.into_data_stream();
        while !self.is_too_large() {
            match chunks.next().await {
                Some(Ok(chunk)) => self.take(&chunk),
                Some(Err(_)) => return Err(ApiError::Internal),
                None => return Ok(Body::from(self.store().await)),
            }
        }
        let read = self.store().await;
        Ok(Body::from_stream(
            stream::once(async { Ok(read) }).chain(chunks),
        ))
    }

    /// Sends a response while it is read, and ends it once it is stored. A client that hangs up
    /// does not end it, unless it is too large to be stored for the next one.
    async fn read_and_send(mut self, body: Body, client: mpsc::Sender<Result<Bytes, axum::Error>>) {
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let has_failed = chunk.is_err();
            if let Ok(chunk) = &chunk
                && !self.is_too_large()
            {
                self.take(chunk);
            }
            let is_read = client.send(chunk).await.is_ok();
            if has_failed {
                return;
            }
            if !is_read && self.is_too_large() {
                break;
            }
        }
        self.store().await;
    }

    fn take(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
        self.lease.record(self.buffer.capacity());
    }

    fn is_too_large(&self) -> bool {
        self.buffer.len() > ANSWER_BYTES_MAX
    }

    /// Stores the response, and returns what was read of it.
    async fn store(self) -> Bytes {
        let is_too_large = self.is_too_large();
        let read = self.lease.attach(self.buffer);
        let stored = if is_too_large {
            self.first.finish_too_large().await
        } else {
            let body = read.clone();
            let answer = Answer {
                body,
                ..self.answer
            };
            self.first.finish(answer).await
        };
        if let Err(error) = stored {
            // A repetition makes it again, and pays nothing for it.
            tracing::error!(error = %error, "a response could not be stored under its Idempotency-Key");
        }
        read
    }
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
