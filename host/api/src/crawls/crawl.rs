//! `POST /crawl` and the endpoints that show, stop and resume a crawl.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;

use trawl_billing::Account;
use trawl_wire::Verb;

use super::named::Named;
use super::start;
use super::status::CrawlStatus;
use crate::Api;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::ApiError;
use crate::http::params::Path;
use crate::http::request::serve;

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
    Named::crawl(api, account, id).show(&headers).await
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
    Named::crawl(api, account, id).stop(&headers).await
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
    Named::crawl(api, account, id).resume(request).await
}
