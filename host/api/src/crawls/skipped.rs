//! `GET /crawl/{id}/skipped`: the URLs that a crawl did not fetch.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use trawl_billing::Account;
use trawl_model::memory::MemoryShare;
use trawl_model::{UrlRow, UrlState};
use trawl_store::{CrawlKinds, RowBytes};

use super::named::Named;
use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::headers::set_next_cursor;
use crate::http::paging::cover;
use crate::http::params::{Path, Query, Unsigned, checked_limit};
use crate::http::queries::{URL_BYTES_LIKELY, memory_for};
use crate::http::stream as responses;

/// URLs per response when the request sets no limit.
const SKIPPED_DEFAULT: u32 = 10_000;
/// Maximum number of URLs per response.
const SKIPPED_MAX: u32 = 100_000;

/// Which URLs to return.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SkippedQuery {
    /// Return URLs after this number, see the `X-Next-Cursor` header.
    #[param(value_type = Option<u64>)]
    cursor: Option<Unsigned>,
    /// Maximum number of URLs, default 10,000; a larger one than 100,000 counts as 100,000.
    #[param(value_type = Option<u64>)]
    limit: Option<Unsigned>,
}

/// A URL that was not fetched.
#[derive(Serialize, ToSchema)]
pub(crate) struct Skipped {
    /// The URL.
    url: String,
    /// `robots`, `nofollow`, `depth`, `budget`, `limit`, `max_credits_allowed`, `scope`,
    /// `blacklist`, `whitelist`, `duplicate`, `scheme`, `too_long`, `full`, `stopped`,
    /// `trap`, `host_limit` or `rights`.
    reason: &'static str,
    /// Hops from the seed URL; always 0 in a batch.
    depth: u16,
    /// Index of the page in the request of a batch, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    /// Where it redirects to, if it was skipped for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    redirects_to: Option<String>,
}

#[utoipa::path(
    get,
    path = "/crawl/{id}/skipped",
    summary = "List what a crawl did not fetch",
    description = "Returns each URL that the crawl discovered and did not fetch, with the reason.",
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
    skipped_of(Named::crawl(api, account, id), &memory, query, &headers).await
}

/// The skipped URLs of what a path names.
pub(super) async fn skipped_of(
    named: Named,
    memory: &MemoryShare,
    query: SkippedQuery,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let count_max = query.limit.map(|limit| checked_limit(limit, SKIPPED_MAX));
    let count_max = count_max.transpose()?.unwrap_or(SKIPPED_DEFAULT);
    let cursor = query.cursor.map(Unsigned::saturated);
    let (api, account) = (&named.api, &named.account);
    let _permit = api.queries.take(&account.id).await?;
    named.check().await?;
    let mut lease = memory_for(memory, count_max, URL_BYTES_LIKELY).await?;
    let rows = api
        .rooms
        .crawls
        .skipped(&account.id, &named.id, cursor, count_max)
        .await?;
    cover(&mut lease, rows.iter().map(UrlRow::bytes).sum());
    let next = rows.last().map(|row| row.n).or(cursor);
    let is_batch = named.kinds == CrawlKinds::Batches;
    let skipped = rows.into_iter().filter_map(|row| {
        let UrlState::Skipped(reason) = row.state else {
            return None;
        };
        Some(Skipped {
            url: row.url,
            reason: reason.name(),
            depth: row.depth,
            // The number of a page of a batch is its index.
            index: is_batch.then_some(row.n),
            redirects_to: row.target,
        })
    });
    let mut response = responses::rows(ResponseFormat::of(headers), skipped, lease);
    if let Some(next) = next {
        set_next_cursor(&mut response, next);
    }
    Ok(response)
}
