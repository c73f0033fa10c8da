//! `POST /crawl` and the endpoints that show, stop and resume a crawl.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;

use trawl_billing::Account;
use trawl_crawl::CrawlView;
use trawl_model::memory::Held;
use trawl_store::CrawlState;
use trawl_wire::Verb;

use super::start;
use super::status::CrawlStatus;
use crate::Api;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::params::Path;
use crate::http::request::{ApiRequest, serve};
use crate::http::stream::holding;

#[utoipa::path(
    post,
    path = "/crawl",
    summary = "Crawl a site",
    description = "Crawls a site from its seed URL within the limits of the request and streams one entry per page, in the order \
        in which pages finish. `url` may list several seeds, separated by commas: they are one crawl with one id, and `limit`, `depth`, \
        `budget`, `max_credits_allowed` and `crawl_timeout` hold for all of them together. The `X-Crawl-Id` header has the id of the \
        crawl. With `run_in_background`, the response is sent at \
        once.",
    request_body(content = ref("#/components/schemas/CrawlRequest"), description = "One request object, or an array of them: each object is a crawl of its own, with its own limits",
        example = json!({"url": "http://sample.trawl.test/", "limit": 3, "return_format": "markdown"})),
    responses(
        (status = 200, description = "One entry per page; `error` is set for a page that failed", body = ref("#/components/schemas/CrawlAnswer")),
        (status = 429, description = "Too many requests or crawls, see `Retry-After`", body = ref("#/components/schemas/Error"), example = json!({"error": "slow down"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn crawl(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |request| start::pages(request, Verb::Scrape);
    serve(&api, account, request, BODY_BYTES_MAX, work).await
}

#[utoipa::path(
    get,
    path = "/crawl/{id}",
    summary = "Show a crawl",
    description = "Returns the state of a crawl.",
    params(("id" = String, Path, description = "`X-Crawl-Id`")),
    responses(
        (status = 200, description = "State of the crawl", body = CrawlStatus),
    ),
    security(("key" = []))
)]
pub(crate) async fn show(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let view = api.rooms.crawls.show(&account.id, &id).await?;
    shown(&api, ResponseFormat::of(&headers), view).await
}

#[utoipa::path(
    delete,
    path = "/crawl/{id}",
    summary = "Stop a crawl",
    description = "Stops the crawl: no further page is fetched, pages in flight finish.",
    params(("id" = String, Path, description = "`X-Crawl-Id`")),
    responses(
        (status = 200, description = "State of the crawl after the call", body = CrawlStatus),
    ),
    security(("key" = []))
)]
pub(crate) async fn stop(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let view = api.rooms.crawls.cancel(&account.id, &id).await?;
    shown(&api, ResponseFormat::of(&headers), view).await
}

#[utoipa::path(
    post,
    path = "/crawl/{id}/resume",
    summary = "Resume a parked crawl",
    description = "Resumes a parked crawl: send the secrets that were lost in a restart, which `missing_secrets` of the crawl's \
        state names: values of `headers`, `cookies`, keys of `router`, scripts.",
    params(("id" = String, Path, description = "`X-Crawl-Id`")),
    request_body(content = ref("#/components/schemas/ResumeRequest"), description = "The fields that contain the secrets",
        example = json!({"headers": {"authorization": "Basic dXNlcjpwYXNzd29yZA=="}})),
    responses(
        (status = 200, description = "State of the crawl after the call", body = CrawlStatus),
        (status = 400, description = "A secret is missing", body = ref("#/components/schemas/Error"),
            example = json!({"error": "headers: the crawl resumes only with the secrets of its request, which are not stored: send `headers.authorization` again"})),
        (status = 409, description = "The crawl is not parked", body = ref("#/components/schemas/Error"),
            example = json!({"error": "the crawl is running, only a parked one can be resumed"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn resume(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let shared = api.clone();
    let work = |request: ApiRequest| async move {
        let crawls = &shared.rooms.crawls;
        let view = crawls.show(&request.account.id, &id).await?;
        let stored = crawls.request(&view).await?;
        let complete = move |request: &ApiRequest| with_secrets(&view, stored, &request.body);
        let (complete, request) = request.planned(complete).await?;
        let resumed = crawls.resume(&request.account.id, &id, complete);
        shown(&shared, request.format, resumed.await?).await
    };
    serve(&api, account, request, BODY_BYTES_MAX, work).await
}

/// The response with the state of a crawl. A long request of it is made ready where that delays no
/// other request.
async fn shown(api: &Api, format: ResponseFormat, view: CrawlView) -> Result<Response, ApiError> {
    let stored = api.rooms.crawls.request(&view).await?;
    let (account, n_bytes) = (view.record.account.clone(), stored.len());
    let show = move || {
        let (stored, lease) = stored.into_parts();
        let response = format.object(&CrawlStatus::new(view, &stored));
        response.map(|response| holding(response, lease))
    };
    api.planning.work(&account, n_bytes, show).await?
}

/// The stored request of a crawl with the secrets of a body.
fn with_secrets(
    view: &CrawlView,
    stored: Held<String>,
    body: &[u8],
) -> Result<Held<String>, ApiError> {
    // Decision D261.
    let sent: &[u8] = match body.trim_ascii() {
        b"" => b"{}",
        sent => sent,
    };
    match trawl_wire::with_secrets(&stored, view.record.needs_secrets, sent) {
        // A crawl that does not wait cannot be resumed, whatever secrets were sent.
        Err(_) if view.progress.state != CrawlState::Parked && is_object(sent) => Ok(stored),
        complete => {
            let complete = complete?;
            let (_, lease) = stored.into_parts();
            Ok(lease.hold(complete))
        }
    }
}

fn is_object(body: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(body).is_ok()
}
