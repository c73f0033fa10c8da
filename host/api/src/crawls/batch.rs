//! `POST /batch` and the endpoints that list, show, stop and resume batches. A batch is a crawl of
//! the pages that its caller lists. Decision D510.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;

use trawl_billing::Account;
use trawl_model::memory::MemoryShare;
use trawl_store::CrawlKinds;
use trawl_wire::{PageEntry, Verb};

use super::list::{ListedCrawl, listed};
use super::named::Named;
use super::skipped::{Skipped, SkippedQuery, skipped_of};
use super::start;
use super::status::CrawlStatus;
use super::stored_pages::{PagesQuery, pages_of};
use crate::Api;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::error::ApiError;
use crate::http::paging::{LongPaging, Page};
use crate::http::params::{Path, Query};
use crate::http::request::serve;

/// Batches, and no crawls.
const KINDS: CrawlKinds = CrawlKinds::Batches;

#[utoipa::path(
    post,
    path = "/batch",
    summary = "Fetch many pages",
    description = "Fetches up to 10,000 listed pages and follows no links. An item of `urls` is a URL, or an object with parameters \
        of its own in place of those next to `urls`; a body that is an array of such items is a batch, too. Streams one entry per \
        page, in the order in which pages finish: `index` is its place in the list, `duplicates` are the further places of the same \
        page, which is fetched and charged once. Everything else is as in a crawl: the limits, webhooks with an event for each page, \
        `run_in_background`. The `X-Crawl-Id` header has the id of the batch.",
    request_body(content = ref("#/components/schemas/BatchRequest"), description = "The pages, and what they have in common; or an array of pages",
        example = json!({"urls": ["http://sample.trawl.test/", {"url": "http://sample.trawl.test/tides", "return_format": "text"}],
            "return_format": "markdown"})),
    responses(
        (status = 200, description = "One entry per page; `error` is set for a page that failed", body = ref("#/components/schemas/CrawlAnswer")),
        (status = 400, description = "A parameter or an item of the list is invalid; the error begins with its name", body = ref("#/components/schemas/Error"),
            example = json!({"error": "urls[17].return_format: unknown format `pdf`; loaded: bytes, html, markdown, text, xml"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn batch(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    let work = |request| start::pages(request, Verb::Batch);
    serve(&api, account, request, BODY_BYTES_MAX, work).await
}

#[utoipa::path(
    get,
    path = "/batch",
    summary = "List batches",
    description = "Lists the account's batches, newest first, with their first URL, state and cost. `next_cursor` of a page, sent as \
        `cursor`, gets the next one. A batch is deleted 7 days after it ends.",
    params(LongPaging),
    responses(
        (status = 200, description = "A page of the batches", body = Page<ListedCrawl>, example = json!({"count": 1, "data": [{
            "id": "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "url": "https://example.com/", "verb": "batch", "state": "running",
            "stop_reason": null, "background": true, "pages": 4200, "failed": 2, "bytes": 12560, "total_cost": 0.001256,
            "created": "2026-01-31T10:20:30.000Z", "ended": null}]})),
    ),
    security(("key" = []))
)]
pub(crate) async fn list(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Extension(memory): Extension<MemoryShare>,
    Query(paging): Query<LongPaging>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    listed(&api, (&*account, &memory), KINDS, paging, &headers).await
}

#[utoipa::path(
    get,
    path = "/batch/{id}",
    summary = "Show a batch",
    description = "Returns the state of a batch: how many of its pages are delivered, have failed, wait or are in flight, and what they \
        cost.",
    params(("id" = String, Path, description = "`X-Crawl-Id`")),
    responses(
        (status = 200, description = "State of the batch", body = CrawlStatus),
    ),
    security(("key" = []))
)]
pub(crate) async fn show(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Named::batch(api, account, id).show(&headers).await
}

#[utoipa::path(
    delete,
    path = "/batch/{id}",
    summary = "Stop a batch",
    description = "Stops the batch: no further page is fetched, pages in flight finish.",
    params(("id" = String, Path, description = "`X-Crawl-Id`")),
    responses(
        (status = 200, description = "State of the batch after the call", body = CrawlStatus),
    ),
    security(("key" = []))
)]
pub(crate) async fn stop(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Named::batch(api, account, id).stop(&headers).await
}

#[utoipa::path(
    get,
    path = "/batch/{id}/pages",
    summary = "Read the pages of a batch",
    description = "Returns the entries of a batch, in the order in which pages finished, each with its `index`. \
        `Accept: application/jsonl` returns lines and follows a running batch until it ends. Entries are stored for 7 days. An answer \
        that cannot be completed breaks off: the connection ends before its last byte.",
    params(("id" = String, Path, description = "`X-Crawl-Id`"), PagesQuery),
    responses(
        (status = 200, description = "Entries", body = Vec<PageEntry>,
            headers(("X-Next-Cursor" = String, description = "`cursor` of the next request; absent in answers that follow a batch, and after the last entry of a batch that has ended"))),
    ),
    security(("key" = []))
)]
pub(crate) async fn pages(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(id): Path<String>,
    Query(query): Query<PagesQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    pages_of(Named::batch(api, account, id), query, &headers).await
}

#[utoipa::path(
    get,
    path = "/batch/{id}/skipped",
    summary = "List what a batch did not fetch",
    description = "Returns each page that the batch did not fetch, with its `index` and the reason: the batch was stopped or reached a limit, \
        or the page is listed before (`duplicate`).",
    params(("id" = String, Path, description = "`X-Crawl-Id`"), SkippedQuery),
    responses(
        (status = 200, description = "URLs", body = Vec<Skipped>,
            headers(("X-Next-Cursor" = String, description = "`cursor` of the next request; absent if there are no URLs"))),
    ),
    security(("key" = []))
)]
pub(crate) async fn skipped(
    State(api): State<Api>,
    (Extension(account), Extension(memory)): (Extension<Arc<Account>>, Extension<MemoryShare>),
    Path(id): Path<String>,
    Query(query): Query<SkippedQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    skipped_of(Named::batch(api, account, id), &memory, query, &headers).await
}

#[utoipa::path(
    post,
    path = "/batch/{id}/resume",
    summary = "Resume a parked batch",
    description = "Resumes a parked batch: send the secrets that were lost in a restart, which `missing_secrets` of the batch's \
        state names: values of `headers`, `cookies`, keys of `router`, scripts.",
    params(("id" = String, Path, description = "`X-Crawl-Id`")),
    request_body(content = ref("#/components/schemas/ResumeRequest"), description = "The fields that contain the secrets",
        example = json!({"headers": {"authorization": "Basic dXNlcjpwYXNzd29yZA=="}})),
    responses(
        (status = 200, description = "State of the batch after the call", body = CrawlStatus),
        (status = 400, description = "A secret is missing", body = ref("#/components/schemas/Error"),
            example = json!({"error": "headers: the crawl resumes only with the secrets of its request, which are not stored: send `headers.authorization` again"})),
        (status = 409, description = "The batch is not parked", body = ref("#/components/schemas/Error"),
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
    Named::batch(api, account, id).resume(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_the_verb_by_which_the_store_lists_them() {
        assert!(KINDS.have(Verb::Batch.name()));
        for verb in [Verb::Scrape, Verb::Links] {
            assert!(!KINDS.have(verb.name()), "{verb:?}");
        }
    }
}
