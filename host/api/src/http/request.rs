//! A request with a body, read and ready to be served.

use std::sync::Arc;

use axum::body::{Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;

use trawl_billing::{Account, Payment};
use trawl_model::memory::Held;
use trawl_model::{RequestTrace, Terms};
use trawl_plugins::Registry;
use trawl_wire::RequestDefaults;

use super::error::ApiError;
use super::format::ResponseFormat;
use super::observe::RequestId;
use super::planning::{Wanted, WhileWanted};
use super::version::unversioned;
use super::{body, idempotency};
use crate::{Api, NewRun, Snapshot};

/// A request whose body has arrived.
pub(crate) struct ApiRequest {
    /// The server.
    pub(crate) api: Api,
    /// The account of the key.
    pub(crate) account: Arc<Account>,
    /// The complete body, with its memory until the request is served.
    pub(crate) body: Held<Bytes>,
    /// Serialization of the response.
    pub(crate) format: ResponseFormat,
    /// The terms it is billed on.
    pub(crate) terms: Terms,
    /// Under which name its pages are charged, if it has an `Idempotency-Key`.
    pub(crate) payment: Option<Payment>,
    request_id: RequestId,
    /// The trace that it is part of.
    pub(crate) trace: Option<RequestTrace>,
    /// Whether its plan is still waited for.
    wanted: Wanted,
}

impl ApiRequest {
    /// Plans this request with `plan`, on a thread that may block.
    pub(crate) async fn planned<T: Send + 'static>(
        mut self,
        plan: impl FnOnce(&Self) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<(T, Self), ApiError> {
        let (planning, n_bytes) = (Arc::clone(&self.api.planning), self.body.len());
        let account = Arc::clone(&self.account);
        let plan = move |wanted: &Wanted| {
            self.wanted = wanted.clone();
            Ok((plan(&self)?, self))
        };
        planning.plan(&account.id, n_bytes, plan).await
    }

    /// The run of this request, whose plan was made with these plugins.
    pub(crate) fn run_with(&self, registry: Arc<Registry>) -> NewRun {
        NewRun {
            account: Arc::clone(&self.account),
            request_id: (*self.request_id.0).to_owned(),
            terms: self.terms,
            payment: self.payment.clone(),
            registry,
            trace: self.trace,
        }
    }

    /// These plugins, as long as the plan of this request is awaited.
    pub(crate) fn asking<'a>(&'a self, snapshot: &'a Snapshot) -> WhileWanted<'a> {
        self.wanted.limit(&*snapshot.catalog)
    }

    /// What applies where the request sets nothing: proxy pools, providers, the model.
    pub(crate) fn defaults(&self) -> RequestDefaults<'_> {
        self.api.settings.defaults.with_terms(self.terms)
    }
}

/// Reads a pay-as-you-go request and runs `work` for it, unless a stored response answers it.
pub(crate) async fn serve<W, F>(
    api: &Api,
    account: Arc<Account>,
    request: Request,
    body_bytes_max: usize,
    work: W,
) -> Result<Response, ApiError>
where
    W: FnOnce(ApiRequest) -> F + Send + 'static,
    F: Future<Output = Result<Response, ApiError>> + Send + 'static,
{
    let terms = Terms::PayAsYouGo;
    let received = receive(api, account, request, body_bytes_max, terms).await?;
    received.serve(work).await
}

/// A request that was read and not served yet.
pub(crate) struct Received {
    /// The request.
    pub(crate) request: ApiRequest,
    path: String,
    /// Its `Idempotency-Key`, and the hash of what determines its response.
    keyed: Option<(String, [u8; 32])>,
}

/// Reads a request.
pub(crate) async fn receive(
    api: &Api,
    account: Arc<Account>,
    request: Request,
    body_bytes_max: usize,
    terms: Terms,
) -> Result<Received, ApiError> {
    let format = ResponseFormat::of(request.headers());
    let path = unversioned(request.uri().path()).to_owned();
    // The path of `/fetch` may be all that a request says, and a crawl that is resumed may need
    // nothing. Decision D261.
    let is_complete = if path.starts_with("/fetch/") {
        request.body().is_end_stream()
    } else {
        let is_resumed = path.starts_with("/crawl/") || path.starts_with("/batch/");
        is_resumed && body::is_absent(&request)
    };
    if *request.method() != Method::GET && !is_complete {
        body::require_json(request.headers())?;
    }
    let idempotency_key = idempotency::key(request.headers())?;
    let request_id = request
        .extensions()
        .get::<RequestId>()
        .cloned()
        .unwrap_or_default();
    let trace = request.extensions().get::<RequestTrace>().copied();
    let body = body::read(request, body_bytes_max).await?;
    let request = ApiRequest {
        api: api.clone(),
        account,
        body,
        format,
        terms,
        payment: None,
        request_id,
        trace,
        wanted: Wanted::default(),
    };
    Received::new(request, path, idempotency_key).await
}

/// The hash of what determines the response to a request; a long body is hashed where it
/// delays no other request.
async fn fingerprint(
    request: ApiRequest,
    path: String,
) -> Result<([u8; 32], ApiRequest), ApiError> {
    let (planning, n_bytes) = (Arc::clone(&request.api.planning), request.body.len());
    let account = Arc::clone(&request.account);
    let hash = move || {
        let hash = idempotency::fingerprint(&path, request.format, &request.body);
        (hash, request)
    };
    planning.work(&account.id, n_bytes, hash).await
}

impl Received {
    async fn new(
        request: ApiRequest,
        path: String,
        idempotency_key: Option<String>,
    ) -> Result<Self, ApiError> {
        let (request, keyed) = match idempotency_key {
            Some(key) => {
                let (fingerprint, request) = fingerprint(request, path.clone()).await?;
                (request, Some((key, fingerprint)))
            }
            None => (request, None),
        };
        Ok(Self {
            request,
            path,
            keyed,
        })
    }

    /// The same request with another body, in which all is that it says.
    pub(crate) async fn with_body(self, body: Vec<u8>) -> Result<Self, ApiError> {
        let mut request = self.request;
        request.body = request.body.replace(body.into());
        Self::new(request, self.path, self.keyed.map(|(key, _)| key)).await
    }

    /// The response that is stored for the request, if it is a repeated one.
    pub(crate) async fn replayed(&self) -> Result<Option<Response>, ApiError> {
        let Some((key, fingerprint)) = &self.keyed else {
            return Ok(None);
        };
        let (rooms, account) = (&self.request.api.rooms, &self.request.account);
        idempotency::replayed(rooms, account, key, *fingerprint).await
    }

    /// Runs `work` unless a stored response answers the request.
    pub(crate) async fn serve<W, F>(self, work: W) -> Result<Response, ApiError>
    where
        W: FnOnce(ApiRequest) -> F + Send + 'static,
        F: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        let Self { request, keyed, .. } = self;
        let Some((key, fingerprint)) = keyed else {
            return work(request).await;
        };
        let rooms = Arc::clone(&request.api.rooms);
        let account = Arc::clone(&request.account);
        let work = move |payment| {
            work(ApiRequest {
                payment: Some(payment),
                ..request
            })
        };
        idempotency::once(&rooms, &account, &key, fingerprint, work).await
    }
}
