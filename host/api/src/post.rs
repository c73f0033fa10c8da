//! One request with a body: its headers, its body, and that it is served once under an idempotency key.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tracing::Instrument;

use super::Api;
use super::error::ApiError;
use super::observe::RequestId;
use super::service::{Run, Service};
use trawl_billing::{ANSWER_BYTES_MAX, Account, Answer, Begun, FirstRequest};
use trawl_model::Terms;
use trawl_wire::RequestDefaults;

/// Time for a body to arrive.
const BODY_TIME_MAX: Duration = Duration::from_secs(60);
/// Most bytes and most time of the rest of a body that is too large.
const DISCARDED_BYTES_MAX: usize = 64_000_000;
const DISCARD_TIME_MAX: Duration = Duration::from_secs(10);
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// How an answer is written. Decision D2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One JSON text.
    Json,
    /// One compact JSON object a line.
    Lines,
}

impl Form {
    /// The form that a request's headers choose.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let names_lines = |name| {
            headers
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
                .is_some_and(|text| {
                    text.split(',')
                        .any(|part| essence(part) == "application/jsonl")
                })
        };
        if names_lines(header::CONTENT_TYPE) || names_lines(header::ACCEPT) {
            return Self::Lines;
        }
        Self::Json
    }

    /// The media type of the answer.
    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Lines => "application/jsonl",
        }
    }

    /// A whole body of this form.
    pub(super) fn response(self, body: impl Into<Body>) -> Response {
        let mut response = Response::new(body.into());
        let media_type = HeaderValue::from_static(self.media_type());
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, media_type);
        response
    }

    /// An answer that is one object.
    pub(super) fn one(self, object: &impl serde::Serialize) -> Result<Response, ApiError> {
        let mut body = serde_json::to_vec(object).map_err(|error| {
            tracing::error!(error = %error, "an answer could not be written");
            ApiError::Internal
        })?;
        if self == Self::Lines {
            body.push(b'\n');
        }
        Ok(self.response(body))
    }
}

/// A POST that arrived.
pub(super) struct ApiRequest {
    /// The rooms behind the interface.
    pub(super) service: Arc<dyn Service>,
    /// Who asks.
    pub(super) account: Arc<Account>,
    /// The whole body.
    pub(super) body: Bytes,
    /// How to answer.
    pub(super) form: Form,
    /// On which terms.
    pub(super) terms: Terms,
    request_id: RequestId,
}

impl ApiRequest {
    /// The same with another body.
    pub(super) fn with_body(self, body: Vec<u8>) -> Self {
        Self {
            body: body.into(),
            ..self
        }
    }

    /// Begins the run of this request.
    pub(super) fn begin_run(&self) -> Arc<dyn Run> {
        self.service
            .begin_run(&self.account, &self.request_id.0, self.terms)
    }

    /// The ways to a page that this request has.
    pub(super) fn ways(&self) -> RequestDefaults<'_> {
        RequestDefaults {
            pools: self.service.pools(),
            router: self.service.router_default(),
            terms: self.terms,
            model: self.service.model(),
        }
    }
}

/// Serves a POST: reads it, and calls `work` unless a kept answer does.
pub(super) async fn serve<W, F>(
    api: &Api,
    account: Arc<Account>,
    request: Request,
    body_bytes_max: usize,
    work: W,
) -> Result<Response, ApiError>
where
    W: FnOnce(ApiRequest) -> F,
    F: Future<Output = Result<Response, ApiError>> + Send + 'static,
{
    let terms = Terms::PayAsYouGo;
    let received = receive(api, account, request, body_bytes_max, terms).await?;
    received.answer(work).await
}

/// A POST that arrived, before anything is done for it.
pub(super) struct Received {
    /// What was sent.
    pub(super) posted: ApiRequest,
    /// Its idempotency key and what it stands for.
    key: Option<String>,
    hash: [u8; 32],
}

/// Reads a POST.
pub(super) async fn receive(
    api: &Api,
    account: Arc<Account>,
    request: Request,
    body_bytes_max: usize,
    terms: Terms,
) -> Result<Received, ApiError> {
    let form = Form::of(request.headers());
    if *request.method() != Method::GET {
        require_json(request.headers())?;
    }
    let key = idempotency_key(request.headers())?;
    let path = request.uri().path().trim_start_matches("/v1").to_owned();
    let request_id = request
        .extensions()
        .get::<RequestId>()
        .cloned()
        .unwrap_or_default();
    let body = read_body(request, body_bytes_max).await?;
    let hash = body_hash(&path, form, &body);
    let posted = ApiRequest {
        service: Arc::clone(&api.service),
        account,
        body,
        form,
        terms,
        request_id,
    };
    Ok(Received { posted, key, hash })
}

impl Received {
    /// Calls `work` unless a kept answer does.
    pub(super) async fn answer<W, F>(self, work: W) -> Result<Response, ApiError>
    where
        W: FnOnce(ApiRequest) -> F,
        F: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        let Self { posted, key, hash } = self;
        let (service, account) = (Arc::clone(&posted.service), Arc::clone(&posted.account));
        let work = work(posted);
        match key {
            None => work.await,
            Some(key) => once(service.as_ref(), &account, &key, hash, work).await,
        }
    }
}

/// The body of a request that must be JSON, whole.
///
/// # Errors
/// It is not JSON by its `Content-Type`, too large, or came too slowly.
pub(super) async fn json_body(request: Request, bytes_max: usize) -> Result<Bytes, ApiError> {
    require_json(request.headers())?;
    read_body(request, bytes_max).await
}

fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    match media_type.map(essence).as_deref() {
        Some("application/json" | "application/jsonl") => Ok(()),
        _ => Err(ApiError::MediaType),
    }
}

/// A media type without its parameters, lower case.
fn essence(media_type: &str) -> String {
    let end = media_type.find(';').unwrap_or(media_type.len());
    media_type[..end].trim().to_ascii_lowercase()
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    let key = key
        .to_str()
        .map_err(|_| ApiError::Invalid("Idempotency-Key: not printable ASCII".to_owned()))?;
    Ok(Some(key.to_owned()))
}

async fn read_body(request: Request, bytes_max: usize) -> Result<Bytes, ApiError> {
    let mut body = request.into_body();
    let read = Limited::new(&mut body, bytes_max).collect();
    match tokio::time::timeout(BODY_TIME_MAX, read).await {
        Err(_) => Err(ApiError::SlowBody),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            discard(body).await;
            Err(ApiError::TooLarge(bytes_max))
        }
        Ok(Err(_)) => Err(ApiError::Invalid("the request body ended early".to_owned())),
    }
}

/// Reads on for a while: a client that is still sending when the connection closes never sees why.
async fn discard(body: Body) {
    let mut pieces = body.into_data_stream();
    let mut left = DISCARDED_BYTES_MAX;
    let read = async {
        while let Some(Ok(piece)) = pieces.next().await
            && left > piece.len()
        {
            left -= piece.len();
        }
    };
    if tokio::time::timeout(DISCARD_TIME_MAX, read).await.is_err() {
        tracing::debug!("a body that is too large came too slowly to be read to its end");
    }
}

fn body_hash(path: &str, form: Form, body: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for part in [
        path.as_bytes(),
        b"\n",
        form.media_type().as_bytes(),
        b"\n",
        body,
    ] {
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

/// Runs `work` unless its key was seen before. The first request goes on when its caller hangs up, so that a repeat finds
/// the answer instead of paying again.
async fn once<F>(
    service: &dyn Service,
    account: &Account,
    key: &str,
    hash: [u8; 32],
    work: F,
) -> Result<Response, ApiError>
where
    F: Future<Output = Result<Response, ApiError>> + Send + 'static,
{
    match service.billing().begin(&account.id, key, hash).await? {
        Begun::New(first) => {
            let kept = async move { keep(first, work.await?).await };
            let task = service.tasks().spawn(kept.in_current_span());
            task.await.unwrap_or(Err(ApiError::Internal))
        }
        Begun::Replay(answer) => Ok(replay(answer)),
        Begun::InFlight => Err(ApiError::Conflict(
            "the first request with this Idempotency-Key is still being served",
        )),
        Begun::Mismatch => Err(ApiError::Conflict(
            "this Idempotency-Key was used with another request",
        )),
        Begun::TooLarge => Err(ApiError::Conflict(
            "the request with this Idempotency-Key was served, but its answer was too large to be kept",
        )),
    }
}

/// Keeps an answer before it is sent. One that grows too large to be kept is sent on as it comes.
async fn keep(first: FirstRequest, response: Response) -> Result<Response, ApiError> {
    let (parts, body) = response.into_parts();
    if !parts.status.is_success() {
        return Ok(Response::from_parts(parts, body));
    }
    let mut pieces = body.into_data_stream();
    let mut kept = Vec::new();
    while kept.len() <= ANSWER_BYTES_MAX {
        match pieces.next().await {
            Some(Ok(piece)) => kept.extend_from_slice(&piece),
            Some(Err(_)) => return Err(ApiError::Internal),
            None => break,
        }
    }
    let kept = Bytes::from(kept);
    let content_type = parts
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let answer = Answer {
        status: parts.status.as_u16(),
        content_type: content_type.unwrap_or_default().to_owned(),
        body: kept.clone(),
    };
    let is_whole = kept.len() <= ANSWER_BYTES_MAX;
    first.finish(answer).await?;
    let body = if is_whole {
        Body::from(kept)
    } else {
        Body::from_stream(stream::once(async { Ok(kept) }).chain(pieces))
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
