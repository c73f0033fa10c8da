//! `GET /data/{table}`: the stored records of an account, in pages.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use trawl_billing::{Account, AccountId};
use trawl_control::Reply;
use trawl_model::memory::{MemoryLease, MemoryShare};
use trawl_store::{CrawlKinds, PageRange};

use super::rows::Row;
use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::paging::{LongPaging, Page, Slice};
use crate::http::params::{Path, Query};
use crate::http::queries::{ROW_BYTES_LIKELY, memory_for};

/// All tables; `contacts` has a route of its own.
const TABLES: [&str; 6] = [
    "contacts",
    "crawl_logs",
    "crawl_state",
    "pages",
    "webhooks",
    "api_keys",
];

#[utoipa::path(
    get,
    path = "/data/{table}",
    summary = "List stored records",
    description = "Lists the account's stored records. `crawl_logs`: pages of its crawls; `crawl_state`: its crawls; `pages`: pages of its \
        background crawls, without content; `webhooks`: pending webhook events; `api_keys`: its keys. Sorted newest first, events and keys \
        oldest first. `next_cursor` of a page, sent as `cursor`, gets the next one. A crawl and its rows are deleted 7 days after it ends.",
    params(("table" = String, Path, description = "`crawl_logs`, `crawl_state`, `pages`, `webhooks` or `api_keys`", example = "crawl_state"), LongPaging),
    responses(
        (status = 200, description = "A page of the table", body = Page<Row>, example = json!({"data": [{
            "crawl_id": "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "seq": 1, "url": "https://example.com/", "status": 200, "error": null, "cause": null,
            "total_cost": 0.000001256, "at": "2026-01-31T10:20:30.000Z"}], "count": 1})),
        (status = 400, description = "`limit` or `page` is not a positive integer, `cursor` is not from a page, `page` is beyond the \
            first 100,000 rows, or there is no such parameter", body = ref("#/components/schemas/Error"),
            example = json!({"error": "page: must be a positive integer"})),
        (status = 404, description = "No such table", body = ref("#/components/schemas/Error"), example = json!({"error":
            "unknown table `x`, expected contacts, crawl_logs, crawl_state, pages, webhooks, api_keys"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn table(
    State(api): State<Api>,
    (Extension(account), Extension(memory)): (Extension<Arc<Account>>, Extension<MemoryShare>),
    Path(table): Path<String>,
    Query(paging): Query<LongPaging>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let format = ResponseFormat::of(&headers);
    if table == "api_keys" {
        return format.object(&keys(&api, &account.id, paging.slice()?).await?);
    }
    let range = paging.range()?;
    let _permit = api.queries.take(&account.id).await?;
    let mut lease = memory_for(&memory, range.limit, ROW_BYTES_LIKELY).await?;
    let page = read(&api, &account.id, (table.as_str(), range), &mut lease).await?;
    format.held_object(&page, lease)
}

async fn read(
    api: &Api,
    account: &AccountId,
    (table, range): (&str, PageRange),
    lease: &mut MemoryLease,
) -> Result<Page<Row>, ApiError> {
    let records = &api.rooms.store;
    Ok(match table {
        "crawl_logs" => {
            let found = records.page_rows(account, false, range).await?;
            Page::of(found, lease, |row| Row::CrawlLog(row.into()))
        }
        "crawl_state" => {
            let found = records.crawl_rows(account, CrawlKinds::All, range).await?;
            Page::of(found, lease, |row| Row::CrawlState(row.into()))
        }
        "pages" => {
            let found = records.page_rows(account, true, range).await?;
            Page::of(found, lease, |row| Row::Page(row.into()))
        }
        "webhooks" => {
            let found = records.outbox_rows(account, range).await?;
            Page::of(found, lease, |row| Row::Webhook(row.into()))
        }
        _ => {
            let table: String = table.chars().take(100).collect();
            return Err(ApiError::Unknown(format!(
                "unknown table `{table}`, expected {}",
                TABLES.join(", ")
            )));
        }
    })
}

async fn keys(api: &Api, account: &AccountId, slice: Slice) -> Result<Page<Row>, ApiError> {
    let request = trawl_control::Request::Keys {
        account: account.to_string(),
        all: false,
    };
    let Reply::Keys(keys) = trawl_control::perform(&api.rooms.billing, request).await? else {
        return Err(ApiError::Internal);
    };
    let count = keys.len() as u64;
    Ok(Page {
        data: slice.of(keys).map(|key| Row::Key(key.into())).collect(),
        count,
        next_cursor: None,
    })
}
