//! Rows of the tables.

use serde::Serialize;
use utoipa::ToSchema;

use trawl_model::redact::shown_url;
use trawl_store::{CrawlSummary, CrawledPage, EventSummary};
use trawl_wire::dollars;

use crate::account::views::KeyView;
use crate::crawls::list::CrawlFigures;

/// A row of a table.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Row {
    /// `crawl_logs`: a page of a crawl.
    CrawlLog(CrawlLog),
    /// `crawl_state`: a crawl.
    CrawlState(CrawlStateRow),
    /// `pages`: a page of a background crawl; `GET /crawl/{id}/pages` returns its entry.
    Page(StoredPage),
    /// `webhooks`: a pending event.
    Webhook(WaitingEvent),
    /// `api_keys`: an active key.
    Key(KeyView),
}

/// A page of a crawl.
#[derive(Serialize, ToSchema)]
pub(crate) struct CrawlLog {
    /// Id of its crawl.
    crawl_id: String,
    /// Its number in the order in which pages finished, starting at 1.
    seq: u64,
    /// Its URL.
    url: String,
    /// Status of its entry.
    status: u16,
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

impl From<CrawledPage> for CrawlLog {
    fn from(page: CrawledPage) -> Self {
        Self {
            crawl_id: page.crawl,
            seq: page.seq,
            url: page.url,
            status: page.status,
            error: page.error,
            cause: page.cause,
            total_cost: dollars(page.cost),
            at: page.at.map(|at| at.to_string()),
        }
    }
}

/// A stored page.
#[derive(Serialize, ToSchema)]
pub(crate) struct StoredPage {
    /// Its URL.
    url: String,
    /// Status of its entry.
    status: u16,
    /// What went wrong, as the `cause` of its entry; null if it succeeded, and for pages stored
    /// before causes were recorded.
    cause: Option<String>,
    /// Id of its crawl.
    crawl_id: String,
    /// Its number in the order in which pages finished; a `cursor` one lower makes `GET
    /// /crawl/{id}/pages` start here.
    seq: u64,
    /// When it finished; null for pages stored before times were recorded.
    at: Option<String>,
}

impl From<CrawledPage> for StoredPage {
    fn from(page: CrawledPage) -> Self {
        Self {
            url: page.url,
            status: page.status,
            cause: page.cause,
            crawl_id: page.crawl,
            seq: page.seq,
            at: page.at.map(|at| at.to_string()),
        }
    }
}

/// A crawl.
#[derive(Serialize, ToSchema)]
#[schema(as = CrawlSummary)]
pub(crate) struct CrawlStateRow {
    /// Its id.
    crawl_id: String,
    #[serde(flatten)]
    crawl: CrawlFigures,
}

impl From<CrawlSummary> for CrawlStateRow {
    fn from(mut crawl: CrawlSummary) -> Self {
        Self {
            crawl_id: std::mem::take(&mut crawl.id),
            crawl: crawl.into(),
        }
    }
}

/// A webhook event that is not delivered yet.
#[derive(Serialize, ToSchema)]
pub(crate) struct WaitingEvent {
    /// Its id, as in the `X-Trawl-Event-Id` header.
    id: String,
    /// Its kind, such as `on_find`.
    event: String,
    /// Webhook URL, without user name, password and query, which may be secret.
    destination: String,
    /// Failed delivery attempts.
    attempts: u32,
    /// When it happened.
    created: String,
    /// Time of the next attempt.
    due: String,
    /// Why the last attempt to reach its destination failed; null before the first one.
    last_error: Option<String>,
    /// When that was.
    last_failed: Option<String>,
}

impl From<EventSummary> for WaitingEvent {
    fn from(row: EventSummary) -> Self {
        let failure = row.last_failure;
        Self {
            id: row.id,
            event: row.event,
            destination: shown_url(&row.destination),
            attempts: row.n_attempts,
            created: row.created.to_string(),
            due: row.due.to_string(),
            last_failed: failure.as_ref().map(|failure| failure.at.to_string()),
            last_error: failure.map(|failure| failure.reason),
        }
    }
}
