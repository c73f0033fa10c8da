//! `GET /crawl/{id}/log`: the pages of a crawl without their content.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use trawl_billing::Account;
use trawl_model::memory::MemoryShare;
use trawl_store::{LoggedPage, RowBytes};
use trawl_wire::dollars;

use super::named::Named;
use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::headers::set_next_cursor;
use crate::http::paging::cover;
use crate::http::params::{Path, Query, Unsigned, checked_limit};
use crate::http::queries::memory_for;
use crate::http::stream as responses;

/// Pages per response when the request sets no limit, and at most.
const PAGES_MAX: u32 = 10_000;
/// Bytes of a page, as it is read and written: more than most have.
const PAGE_BYTES_LIKELY: usize = 512;

/// Which pages of a crawl.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogQuery {
    /// Return pages after this number, 0 (default) for all; see the `X-Next-Cursor` header.
    #[serde(default)]
    #[param(value_type = Option<u64>)]
    cursor: Unsigned,
    /// Maximum number of pages, default 10,000; a larger one counts as 10,000.
    #[param(value_type = Option<u64>)]
    limit: Option<Unsigned>,
}

/// A page of a crawl, without its content.
#[derive(Serialize, ToSchema)]
#[schema(as = LoggedPage)]
pub(crate) struct LoggedPageView {
    /// Its number in the order in which pages finished, starting at 1; a `cursor` one lower makes
    /// `GET /crawl/{id}/pages` start here.
    seq: u64,
    /// Its URL.
    url: String,
    /// Status of its entry.
    status: u16,
    /// Bytes of its entry.
    bytes: u64,
    /// Why it failed; null if it succeeded.
    error: Option<String>,
    /// What went wrong, as the `cause` of its entry; null if it succeeded, and for pages stored
    /// before causes were recorded.
    cause: Option<String>,
    /// Its cost in dollars.
    total_cost: f64,
    /// When it finished; null for pages stored before times were recorded.
    at: Option<String>,
}

impl From<LoggedPage> for LoggedPageView {
    fn from(logged: LoggedPage) -> Self {
        let page = logged.page;
        Self {
            seq: page.seq,
            url: page.url,
            status: page.status,
            bytes: logged.entry_bytes,
            error: page.error,
            cause: page.cause,
            total_cost: dollars(page.cost),
            at: page.at.map(|at| at.to_string()),
        }
    }
}

#[utoipa::path(
    get,
    path = "/crawl/{id}/log",
    summary = "List the pages of a crawl without their content",
    description = "Returns the pages of a crawl, in the order in which they finished: URL, status, size, cost and error of each. While \
        the crawl runs, the response has what is stored so far.",
    params(("id" = String, Path, description = "`X-Crawl-Id`"), LogQuery),
    responses(
        (status = 200, description = "Pages", body = Vec<LoggedPageView>,
            headers(("X-Next-Cursor" = String, description = "`cursor` of the next request"))),
    ),
    security(("key" = []))
)]
pub(crate) async fn log(
    State(api): State<Api>,
    (Extension(account), Extension(memory)): (Extension<Arc<Account>>, Extension<MemoryShare>),
    Path(id): Path<String>,
    Query(query): Query<LogQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let count_max = query.limit.map(|limit| checked_limit(limit, PAGES_MAX));
    let count_max = count_max.transpose()?.unwrap_or(PAGES_MAX);
    let named = Named::crawl(api, account, id);
    let (api, account, cursor) = (&named.api, &named.account, query.cursor.0);
    let _permit = api.queries.take(&account.id).await?;
    named.check().await?;
    let mut lease = memory_for(&memory, count_max, PAGE_BYTES_LIKELY).await?;
    let crawls = &api.rooms.crawls;
    let pages = crawls
        .log(&account.id, &named.id, cursor, count_max)
        .await?;
    cover(&mut lease, pages.iter().map(RowBytes::bytes).sum());
    let next = pages.last().map_or(cursor, |logged| logged.page.seq);
    let written = pages.into_iter().map(LoggedPageView::from);
    let mut response = responses::rows(ResponseFormat::of(&headers), written, lease);
    set_next_cursor(&mut response, next);
    Ok(response)
}
