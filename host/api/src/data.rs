//! `GET /data/{table}`: what an account has left behind, a page at a time. Decision D68.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use super::error::ApiError;
use super::paging::{Page, Paging};
use super::params::{Path, Query};
use super::post::Form;
use super::views::KeyView;
use trawl_billing::{Account, AccountId};
use trawl_control::Reply;
use trawl_model::StopReason;
use trawl_store::{CrawlRecord, CrawledPage, OutboxRow, PageRange, Rows, StoreError};
use trawl_wire::dollars;

/// The tables there are; `contacts` has a route of its own.
const TABLES: [&str; 6] = [
    "contacts",
    "crawl_logs",
    "crawl_state",
    "pages",
    "webhooks",
    "api_keys",
];

/// A row of a table.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Row {
    /// Of `crawl_logs`: a page of any crawl.
    CrawlLog(CrawlLog),
    /// Of `crawl_state`: a crawl.
    CrawlState(CrawlStateRow),
    /// Of `pages`: a page of a crawl in the background, whose entry `GET /crawl/{id}/pages` gives again.
    Page(StoredPage),
    /// Of `webhooks`: an event that waits for its delivery.
    Webhook(WaitingEvent),
    /// Of `api_keys`: a key in force.
    Key(KeyView),
}

/// A page of a crawl.
#[derive(Serialize, ToSchema)]
pub(super) struct CrawlLog {
    /// Id of its crawl.
    crawl_id: String,
    /// Its number in the order of finishing, from 1.
    seq: u64,
    /// Its address.
    url: String,
    /// Status of its entry.
    status: u16,
    /// Why it failed; null when it did not.
    error: Option<String>,
    /// Dollars it cost.
    total_cost: f64,
    /// When it was finished; null when that was not kept yet.
    at: Option<String>,
}

impl From<CrawledPage> for CrawlLog {
    fn from(page: CrawledPage) -> Self {
        Self {
            crawl_id: page.crawl,
            seq: page.seq,
            url: page.url,
            status: page.status,
            error: page.error,
            total_cost: dollars(page.cost),
            at: page.at.map(|at| at.to_string()),
        }
    }
}

/// A page that is kept.
#[derive(Serialize, ToSchema)]
pub(super) struct StoredPage {
    /// Its address.
    url: String,
    /// Status of its entry.
    status: u16,
    /// Id of its crawl.
    crawl_id: String,
    /// Its number in the order of finishing: `cursor` of `GET /crawl/{id}/pages` is the one before.
    seq: u64,
    /// When it was finished; null when that was not kept yet.
    at: Option<String>,
}

impl From<CrawledPage> for StoredPage {
    fn from(page: CrawledPage) -> Self {
        Self {
            url: page.url,
            status: page.status,
            crawl_id: page.crawl,
            seq: page.seq,
            at: page.at.map(|at| at.to_string()),
        }
    }
}

/// A crawl.
#[derive(Serialize, ToSchema)]
pub(super) struct CrawlStateRow {
    /// Its id.
    crawl_id: String,
    /// `crawl` or `links`.
    verb: String,
    /// `queued`, `running`, `parked` or `ended`.
    state: &'static str,
    /// Why it ended; null before.
    stop_reason: Option<&'static str>,
    /// Whether it runs in the background.
    background: bool,
    /// Pages, failed ones included.
    pages: u64,
    /// Pages that failed.
    failed: u64,
    /// Decoded bytes of the pages.
    bytes: u64,
    /// Dollars they cost.
    total_cost: f64,
    /// When it was asked for.
    created: String,
    /// When it ended; null before.
    ended: Option<String>,
}

impl From<CrawlRecord> for CrawlStateRow {
    fn from(crawl: CrawlRecord) -> Self {
        Self {
            crawl_id: crawl.id,
            verb: crawl.verb,
            state: crawl.state.name(),
            stop_reason: crawl.stop.map(StopReason::name),
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

/// An event that waits for its delivery.
#[derive(Serialize, ToSchema)]
pub(super) struct WaitingEvent {
    /// Its id, as in the header `X-Trawl-Event-Id`.
    id: String,
    /// Its kind, such as `on_find`.
    event: String,
    /// Who is told, without user name, password and query, which may be secrets.
    destination: String,
    /// How often it was sent without being received.
    attempts: u32,
    /// When it happened.
    created: String,
    /// When it is sent next.
    due: String,
}

impl From<OutboxRow> for WaitingEvent {
    fn from(row: OutboxRow) -> Self {
        Self {
            id: row.id,
            event: row.event,
            destination: without_secrets(&row.destination),
            attempts: row.n_attempts,
            created: row.created.to_string(),
            due: row.due.to_string(),
        }
    }
}

/// An address without what may be secret in it.
fn without_secrets(destination: &str) -> String {
    let Ok(mut url) = url::Url::parse(destination) else {
        return String::new();
    };
    // An address that takes no user name has none.
    let _has_none = url.set_username("").and_then(|()| url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

#[utoipa::path(
    get,
    path = "/data/{table}",
    description = "`crawl_logs`: pages of the account's crawls; `crawl_state`: its crawls; `pages`: pages of its crawls in the \
        background, without their content; `webhooks`: events that wait for their delivery; `api_keys`: its keys. Newest first, events and \
        keys oldest first. Crawls are forgotten 7 days after their end, and their rows with them.",
    params(("table" = String, Path, description = "`crawl_logs`, `crawl_state`, `pages`, `webhooks` or `api_keys`", example = "crawl_state"), Paging),
    responses(
        (status = 200, description = "A page of the table", body = Page<Row>, example = json!({"data": [{
            "crawl_id": "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "seq": 1, "url": "https://example.com/", "status": 200, "error": null,
            "total_cost": 0.000001256, "at": "2026-01-31T10:20:30.000Z"}], "count": 1})),
        (status = 400, description = "`limit` or `page` is no number from 1 on",
            example = json!({"error": "page: write a whole number from 1 on"})),
        (status = 401, description = "The key is missing or unknown", example = json!({"error": "invalid api key"})),
        (status = 404, description = "No such table", example = json!({"error":
            "there is no table `x`, there are crawl_logs, crawl_state, pages, webhooks, api_keys"})),
    ),
    security(("key" = []))
)]
pub(super) async fn table(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(table): Path<String>,
    Query(paging): Query<Paging>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let cut = paging.cut()?;
    let page = read(&api, &account.id, &table, cut).await?;
    Form::of(&headers).one(&page)
}

async fn read(
    api: &Api,
    account: &AccountId,
    table: &str,
    cut: PageRange,
) -> Result<Page<Row>, ApiError> {
    let records = api.service.store().records();
    match table {
        "crawl_logs" => page(records.page_rows(account, false, cut).await, |row| {
            Row::CrawlLog(row.into())
        }),
        "crawl_state" => page(records.crawl_rows(account, cut).await, |row| {
            Row::CrawlState(row.into())
        }),
        "pages" => page(records.page_rows(account, true, cut).await, |row| {
            Row::Page(row.into())
        }),
        "webhooks" => page(records.outbox_rows(account, cut).await, |row| {
            Row::Webhook(row.into())
        }),
        "api_keys" => keys(api, account, cut).await,
        _ => {
            let table: String = table.chars().take(100).collect();
            Err(ApiError::Unknown(format!(
                "there is no table `{table}`, there are {}",
                TABLES.join(", ")
            )))
        }
    }
}

fn page<T>(
    rows: Result<Rows<T>, StoreError>,
    row: impl Fn(T) -> Row,
) -> Result<Page<Row>, ApiError> {
    let rows = rows.map_err(|error| {
        tracing::error!(error = %error, "a table could not be read");
        ApiError::Internal
    })?;
    Ok(Page {
        data: rows.rows.into_iter().map(row).collect(),
        count: rows.count,
    })
}

async fn keys(api: &Api, account: &AccountId, cut: PageRange) -> Result<Page<Row>, ApiError> {
    let request = trawl_control::Request::Keys {
        account: account.to_string(),
        all: false,
    };
    let Reply::Keys(keys) = trawl_control::perform(api.service.billing(), request).await? else {
        return Err(ApiError::Internal);
    };
    let count = keys.len() as u64;
    let offset = usize::try_from(cut.offset).unwrap_or(usize::MAX);
    let keys = keys.into_iter().skip(offset).take(cut.limit as usize);
    Ok(Page {
        data: keys.map(|key| Row::Key(key.into())).collect(),
        count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receivers_secrets_are_not_shown() {
        let shown = without_secrets("https://ada:pass@a.example:8443/hook?token=x#y");
        assert_eq!(shown, "https://a.example:8443/hook");
        assert_eq!(without_secrets("nonsense"), "");
    }
}
