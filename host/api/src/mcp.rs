//! `POST /mcp`: tools for agents, by the Model Context Protocol. A tool sends requests to the
//! router of this crate with the key of the message, so it is authenticated, limited and charged as
//! any other caller. Decision D490.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, Method, header};
use axum::response::Response;
use axum::{Extension, Router};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use http_body_util::Full;
use serde_json::json;
use tower::ServiceExt;

use trawl_mcp::{Answer, Interface, Message, Unanswered, serve};
use trawl_model::RequestTrace;
use trawl_model::memory::{MemoryKind, MemoryLease, MemoryShare};
use trawl_model::trace::TRACEPARENT;

use crate::http::body::{self, BODY_BYTES_MAX};
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::stream::holding;

/// Longest answer of the interface that a tool reads: a page with all of its outputs.
const ANSWER_BYTES_MAX: usize = 16_000_000;
/// Bytes of memory for each byte of an answer, about: for its JSON, the texts that are made of it,
/// and the reply with its copy that is sent.
const BYTES_PER_BYTE: usize = 6;
/// Longest answer that waits for no memory: the id of a crawl that has begun must not be lost.
const SMALL_BYTES: usize = 64 * 1024;
/// Longest refusal of a message.
const REFUSAL_BYTES_MAX: usize = 1 << 20;

/// The endpoints that tools call.
#[derive(Clone)]
pub(crate) struct Endpoints(pub(crate) Router);

/// Answers a message.
pub(crate) async fn mcp(
    Extension(endpoints): Extension<Endpoints>,
    Extension(memory): Extension<MemoryShare>,
    request: Request,
) -> Result<Response, ApiError> {
    let headers = request.headers().clone();
    let trace = request.extensions().get::<RequestTrace>();
    // It is valid: hexadecimal digits.
    let trace = trace.and_then(|trace| HeaderValue::try_from(trace.context.to_string()).ok());
    // The arguments that are read from it take as much.
    let (body, lease) = body::read_json(request, BODY_BYTES_MAX).await?.into_parts();
    let caller = Arc::new(Caller {
        endpoints,
        authorization: headers.get(header::AUTHORIZATION).cloned(),
        trace,
        memory,
        made: Mutex::default(),
    });
    let mut message = Message::new(Full::new(body));
    *message.method_mut() = Method::POST;
    *message.headers_mut() = headers;
    let interface = Arc::clone(&caller) as Arc<dyn Interface>;
    let reply = serve(interface, message, BODY_BYTES_MAX).await;
    drop(lease);
    let reply = in_the_form_of_errors(reply.map(Body::new)).await;
    Ok(holding(reply, caller.hold_made(None)))
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
    /// The span of the message, below which requests of its tool are.
    trace: Option<HeaderValue>,
    memory: MemoryShare,
    /// Covers what is made of the last answer, until the reply is sent.
    made: Mutex<Option<MemoryLease>>,
}

impl Interface for Caller {
    fn call(
        &self,
        request: axum::http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<Answer, Unanswered>> {
        let mut request = request.map(Body::from);
        let headers = request.headers_mut();
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
        let mut buffer = Vec::new();
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_broken| Unanswered::Broken)?;
            if buffer.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(Unanswered::TooLarge(ANSWER_BYTES_MAX));
            }
            buffer.extend_from_slice(&chunk);
            lease.record(buffer.capacity());
        }
        // It may hold memory, too.
        drop(chunks);
        let n_bytes = buffer.len() * BYTES_PER_BYTE;
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
