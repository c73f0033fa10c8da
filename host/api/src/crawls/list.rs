//! `GET /crawl`: the crawls of an account. `GET /batch` lists its batches.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use trawl_billing::Account;
use trawl_model::memory::MemoryShare;
use trawl_store::{CrawlKinds, CrawlSummary};
use trawl_wire::dollars;

use super::status::stop_reason;
use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::paging::{LongPaging, Page};
use crate::http::params::Query;
use crate::http::queries::{ROW_BYTES_LIKELY, memory_for};

/// A crawl in a list. `GET /crawl/{id}` shows its request as well.
#[derive(Serialize, ToSchema)]
pub(crate) struct ListedCrawl {
    /// Its id.
    id: String,
    #[serde(flatten)]
    crawl: CrawlFigures,
}

/// What lists show of a crawl.
#[derive(Serialize, ToSchema)]
pub(crate) struct CrawlFigures {
    /// Its seed, or several with commas between them; of a batch, and of a request with more than
    /// 4,096 bytes, the first URL, null until it runs.
    url: Option<String>,
    /// `crawl`, `links`, `batch` or the name of a pipeline.
    verb: String,
    /// `queued`, `running`, `parked` or `ended`.
    state: &'static str,
    /// Why it ended or is parked, as in `GET /crawl/{id}`; null for others.
    stop_reason: Option<&'static str>,
    /// Whether it runs in the background.
    background: bool,
    /// Pages, including failed ones.
    pages: u64,
    /// Pages that failed.
    failed: u64,
    /// Decoded bytes of the pages.
    bytes: u64,
    /// Their cost in dollars.
    total_cost: f64,
    /// When it was requested.
    created: String,
    /// When it ended; null while it has not.
    ended: Option<String>,
}

impl From<CrawlSummary> for ListedCrawl {
    fn from(mut crawl: CrawlSummary) -> Self {
        Self {
            id: std::mem::take(&mut crawl.id),
            crawl: crawl.into(),
        }
    }
}

impl From<CrawlSummary> for CrawlFigures {
    fn from(crawl: CrawlSummary) -> Self {
        Self {
            url: crawl.url,
            verb: crawl.verb,
            state: crawl.state.name(),
            stop_reason: stop_reason(crawl.state, crawl.stop),
            background: crawl.in_background,
            pages: crawl.counts.n_pages,
            failed: crawl.counts.n_failed,
            bytes: crawl.counts.n_bytes,
            total_cost: dollars(crawl.counts.spent),
            created: crawl.created.to_string(),
            ended: crawl.ended.map(|at| at.to_string()),
        }
    }
}

#[utoipa::path(
    get,
    path = "/crawl",
    summary = "List crawls",
    description = "Lists the account's crawls, newest first, with their URL, state and cost. `next_cursor` of a page, sent as `cursor`, \
        gets the next one. A crawl is deleted 7 days after it ends.",
    params(LongPaging),
    responses(
        (status = 200, description = "A page of the crawls", body = Page<ListedCrawl>, example = json!({"count": 1, "data": [{
            "id": "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "url": "https://example.com/", "verb": "crawl", "state": "ended",
            "stop_reason": "limit", "background": true, "pages": 100, "failed": 2, "bytes": 12560, "total_cost": 0.001256,
            "created": "2026-01-31T10:20:30.000Z", "ended": "2026-01-31T10:21:30.000Z"}]})),
        (status = 400, description = "`limit` or `page` is not a positive integer, `cursor` is not from a page, `page` is beyond the \
            first 100,000 rows, or there is no such parameter", body = ref("#/components/schemas/Error"),
            example = json!({"error": "page: must be a positive integer"})),
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
    listed(
        &api,
        (&*account, &memory),
        CrawlKinds::Crawls,
        paging,
        &headers,
    )
    .await
}

/// A page of the crawls of these kinds.
pub(super) async fn listed(
    api: &Api,
    (account, memory): (&Account, &MemoryShare),
    kinds: CrawlKinds,
    paging: LongPaging,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let range = paging.range()?;
    let _permit = api.queries.take(&account.id).await?;
    let mut lease = memory_for(memory, range.limit, ROW_BYTES_LIKELY).await?;
    let store = &api.rooms.store;
    let found = store.crawl_rows(&account.id, kinds, range).await?;
    let page = Page::of(found, &mut lease, ListedCrawl::from);
    ResponseFormat::of(headers).held_object(&page, lease)
}
