//! `POST /mcp`: tools for agents, by the Model Context Protocol. A tool sends requests to the
//! router of this crate with the key of the message, so it is authenticated, limited and charged as
//! any other caller. Decision D490.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::Response;
use axum::{Extension, Router};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use http_body_util::Full;
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::coop::consume_budget;
use tower::ServiceExt;

use trawl_billing::{Account, AccountId};
use trawl_mcp::{Answer, Interface, Message, Unanswered, serve};
use trawl_model::RequestTrace;
use trawl_model::memory::{Held, MemoryKind, MemoryLease, MemoryShare};
use trawl_model::trace::TRACEPARENT;

use crate::Api;
use crate::http::body::{self, BODY_BYTES_MAX};
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::idempotency::IDEMPOTENCY_KEY;
use crate::http::planning::Planning;
use crate::http::stream::holding;

/// Longest answer of the interface that a tool reads: a page with all of its outputs.
const ANSWER_BYTES_MAX: usize = 16_000_000;
/// Most values of a message: more than any call has.
const MESSAGE_VALUES_MAX: usize = 50_000;
/// Bytes of memory for each byte of a message, about: for its texts, the arguments that are made of
/// them and the request of the tool.
const BYTES_PER_MESSAGE_BYTE: usize = 4;
/// Bytes of memory for each byte of an answer, about: for its JSON, the texts that are made of it,
/// and the reply with its copy that is sent.
const BYTES_PER_BYTE: usize = 6;
/// Bytes of memory for each value of JSON, about: those of short texts and numbers take much more
/// than they have in the text, once for the JSON and once for the reply.
const BYTES_PER_VALUE: usize = 256;
/// Longest answer that waits for no memory: the id of a crawl that has begun must not be lost.
const SMALL_BYTES: usize = 64 * 1024;
/// Longest refusal of a message.
const REFUSAL_BYTES_MAX: usize = 1 << 20;

/// The endpoints that tools call.
#[derive(Clone)]
pub(crate) struct Endpoints(pub(crate) Router);

/// Answers a message.
pub(crate) async fn mcp(
    State(api): State<Api>,
    Extension(endpoints): Extension<Endpoints>,
    (Extension(account), Extension(memory)): (Extension<Arc<Account>>, Extension<MemoryShare>),
    request: Request,
) -> Result<Response, ApiError> {
    let headers = request.headers().clone();
    let trace = request.extensions().get::<RequestTrace>();
    // It is valid: hexadecimal digits.
    let trace = trace.and_then(|trace| HeaderValue::try_from(trace.context.to_string()).ok());
    let body = body::read_json(request, BODY_BYTES_MAX).await?;
    let (body, n_values) = counted(&api.planning, &account.id, body).await?;
    let n_bytes = body.len();
    let page = memory.page();
    let mut read = page.lease_for(MemoryKind::RequestBodies);
    let granted = read.grow_to(message_memory(n_bytes, n_values)).await;
    granted.map_err(|_waited| ApiError::no_memory())?;
    drop(page);
    let caller = Arc::new(Caller {
        endpoints,
        authorization: headers.get(header::AUTHORIZATION).cloned(),
        idempotency_key: headers.get(IDEMPOTENCY_KEY).cloned(),
        trace,
        memory: memory.clone(),
        planning: Arc::clone(&api.planning),
        account: account.id.clone(),
        made: Mutex::default(),
        n_answered: AtomicUsize::default(),
    });
    let (bytes, sent) = body.into_parts();
    let interface = Arc::clone(&caller) as Arc<dyn Interface>;
    let serving = serve(interface, message(headers, bytes), BODY_BYTES_MAX);
    let n_answered = || caller.n_answered.load(Ordering::Relaxed);
    let steps = (n_bytes, n_answered);
    let reply = in_steps(&api.planning, &account.id, steps, serving).await?;
    let reply = in_the_form_of_errors(reply.map(Body::new)).await;
    let made = caller.hold_made(None);
    let Some(n_bytes) = reply.body().size_hint().exact() else {
        // A stream, whose tool is still at work.
        return Ok(holding(reply, (sent, read, made)));
    };
    let mut written = made.unwrap_or_else(|| memory.page().lease_for(MemoryKind::Answers));
    written.record(usize::try_from(n_bytes).unwrap_or(usize::MAX));
    Ok(holding(reply, written))
}

/// The message, without the key of its caller: nothing that reads it needs that.
fn message(mut headers: HeaderMap, body: Bytes) -> Message {
    headers.remove(header::AUTHORIZATION);
    let mut message = Message::new(Full::new(body));
    *message.method_mut() = Method::POST;
    *message.headers_mut() = headers;
    message
}

/// Bytes of memory for what is read from a message of so many bytes and values.
fn message_memory(n_bytes: usize, n_values: usize) -> usize {
    n_bytes * BYTES_PER_MESSAGE_BYTE + n_values * BYTES_PER_VALUE
}

/// A body, and how many values its JSON has.
///
/// # Errors
/// It has too many: reading them would take time and memory that its length does not show.
async fn counted(
    planning: &Planning,
    account: &AccountId,
    body: Held<Bytes>,
) -> Result<(Held<Bytes>, usize), ApiError> {
    let n_bytes = body.len();
    let count = move || {
        let mut values = JsonValues::default();
        values.add(&body);
        (body, values.count)
    };
    let (body, n_values) = planning.work(account, n_bytes, count).await?;
    if n_values > MESSAGE_VALUES_MAX {
        let reason = format!("the message has more than {MESSAGE_VALUES_MAX} values of JSON");
        return Err(ApiError::Invalid(reason));
    }
    Ok((body, n_values))
}

/// Tells work that is done in steps that it can go on.
#[derive(Debug, Default)]
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Does work whose first step is to read a message of so many bytes, and whose last one is to write
/// a reply, which is made of as many bytes as are read by then: long ones are read and written
/// where that delays no other request.
async fn in_steps<T: Send + 'static>(
    planning: &Planning,
    account: &AccountId,
    (n_message, n_answered): (usize, impl Fn() -> usize),
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, ApiError> {
    let (mut work, mut n_bytes) = (Box::pin(work), n_message);
    let woken = Arc::<Woken>::default();
    loop {
        let waker = Waker::from(Arc::clone(&woken));
        let step = move || {
            let mut context = Context::from_waker(&waker);
            match work.as_mut().poll(&mut context) {
                Poll::Ready(done) => Ok(done),
                Poll::Pending => Err(work),
            }
        };
        match planning.work(account, n_bytes, step).await? {
            Ok(done) => return Ok(done),
            Err(unfinished) => work = unfinished,
        }
        woken.0.notified().await;
        // A step is also woken because this task has done enough for now.
        consume_budget().await;
        n_bytes = n_answered();
    }
}

/// Counts the values of a JSON text as it comes: those in a list or an object, and names.
#[derive(Debug, Default)]
struct JsonValues {
    count: usize,
    is_in_text: bool,
    is_escaped: bool,
}

impl JsonValues {
    fn add(&mut self, part: &[u8]) {
        for byte in part {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_in_text => self.is_escaped = true,
                b'"' => self.is_in_text = !self.is_in_text,
                b',' | b':' | b'[' | b'{' if !self.is_in_text => self.count += 1,
                _ => {}
            }
        }
    }
}

/// A refusal that is a plain text in the form of all errors; other responses as they are.
async fn in_the_form_of_errors(response: Response) -> Response {
    let media_type = response.headers().get(header::CONTENT_TYPE);
    let is_text = media_type.is_none_or(|value| value.as_bytes().starts_with(b"text/plain"));
    let status = response.status();
    if !is_text || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (_, body) = response.into_parts();
    let read = axum::body::to_bytes(body, REFUSAL_BYTES_MAX).await;
    let text = read.unwrap_or_default();
    let error = json!({"error": String::from_utf8_lossy(&text)});
    let mut refusal = ResponseFormat::Json.response(error.to_string());
    *refusal.status_mut() = status;
    refusal
}

/// The interface for the caller of a message.
struct Caller {
    endpoints: Endpoints,
    /// What authenticated the message.
    authorization: Option<HeaderValue>,
    /// What makes the message one that may be repeated: its tool is charged once.
    idempotency_key: Option<HeaderValue>,
    /// The span of the message, below which requests of its tool are.
    trace: Option<HeaderValue>,
    memory: MemoryShare,
    planning: Arc<Planning>,
    account: AccountId,
    /// Covers what is made of the last answer, until the reply is sent.
    made: Mutex<Option<MemoryLease>>,
    /// Bytes of the longest answer.
    n_answered: AtomicUsize,
}

impl Interface for Caller {
    fn call(
        &self,
        request: axum::http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<Answer, Unanswered>> {
        let mut request = request.map(Body::from);
        let is_post = request.method() == Method::POST;
        let headers = request.headers_mut();
        if let Some(key) = self.idempotency_key.as_ref().filter(|_| is_post) {
            headers.insert(IDEMPOTENCY_KEY, key.clone());
        }
        let json = HeaderValue::from_static(ResponseFormat::Json.media_type());
        headers.insert(header::CONTENT_TYPE, json);
        if let Some(authorization) = &self.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        if let Some(trace) = &self.trace {
            headers.insert(TRACEPARENT, trace.clone());
        }
        Box::pin(async move {
            let Ok(response) = self.endpoints.0.clone().oneshot(request).await;
            self.read(response).await
        })
    }
}

impl Caller {
    /// The whole answer, once the account has memory for what is made of it.
    async fn read(&self, response: Response) -> Result<Answer, Unanswered> {
        let (parts, body) = response.into_parts();
        let page = self.memory.page();
        let [mut lease, mut made] = [(); 2].map(|()| page.lease_for(MemoryKind::Answers));
        let (mut buffer, mut values) = (Vec::<u8>::new(), JsonValues::default());
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_broken| Unanswered::Broken)?;
            if buffer.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(Unanswered::TooLarge(ANSWER_BYTES_MAX));
            }
            let n_bytes = chunk.len();
            let add = move || {
                buffer.extend_from_slice(&chunk);
                values.add(&chunk);
                (buffer, values)
            };
            let added = self.planning.work(&self.account, n_bytes, add).await;
            (buffer, values) = added.map_err(|_panicked| Unanswered::Broken)?;
            lease.record(buffer.capacity());
        }
        self.n_answered.fetch_max(buffer.len(), Ordering::Relaxed);
        // It may hold memory, too.
        drop(chunks);
        let n_bytes = buffer.len() * BYTES_PER_BYTE + values.count * BYTES_PER_VALUE;
        if buffer.len() <= SMALL_BYTES {
            made.record(n_bytes);
        } else {
            let granted = made.grow_to(n_bytes).await;
            granted.map_err(|_waited| Unanswered::NoMemory)?;
        }
        drop(self.hold_made(Some(made)));
        Ok(Answer {
            status: parts.status,
            headers: parts.headers,
            body: lease.hold(Bytes::from(buffer)),
        })
    }

    /// Holds a lease for what is made of an answer, and gives back that of the answer before.
    fn hold_made(&self, lease: Option<MemoryLease>) -> Option<MemoryLease> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *made, lease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts_however_the_text_is_cut() {
        let text = br#"{"a,[:\",b":[1,2,{"c":"\\"}],"d":null}"#;
        // Two objects, a list, three names, and three that follow another.
        let expected = 9;
        for length in 1..=text.len() {
            let mut values = JsonValues::default();
            text.chunks(length).for_each(|part| values.add(part));
            assert_eq!(values.count, expected, "parts of {length} bytes");
        }
    }

    #[test]
    fn a_message_is_read_without_the_key_of_its_caller() {
        let mut headers = HeaderMap::new();
        for name in ["authorization", "accept"] {
            headers.insert(name, HeaderValue::from_static("tr_canary"));
        }
        let message = message(headers, Bytes::from_static(b"{}"));
        assert_eq!(message.headers().get("authorization"), None);
        assert_eq!(message.headers().len(), 1);
    }

    #[tokio::test]
    async fn long_messages_are_read_and_long_replies_written_on_another_thread() {
        let (planning, account) = (Planning::default(), AccountId::new("acc_1"));
        let here = std::thread::current().id();
        let long = 10_000_000;
        for (n_message, n_answered) in [(1, 1), (long, 1), (1, long), (long, long)] {
            // What it does first, and what it does once it has waited.
            let work = async {
                let first = std::thread::current().id();
                tokio::task::yield_now().await;
                (first, std::thread::current().id())
            };
            let steps = (n_message, || n_answered);
            let done = in_steps(&planning, &account, steps, work).await;
            let (first, then) = done.expect("done");
            assert_eq!(first == here, n_message == 1, "{n_message} bytes");
            assert_eq!(then == here, n_answered == 1, "{n_answered} bytes");
        }
    }
}
