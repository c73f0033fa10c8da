//! `GET /crawl/{id}/pages`: the entries of a crawl, once more or as they come.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use utoipa::IntoParams;

use trawl_billing::Account;
use trawl_crawl::{CrawlError, StoredPages};
use trawl_store::{CrawlState, StoreError};
use trawl_wire::PageEntry;

use super::named::Named;
use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::headers::set_next_cursor;
use crate::http::params::{Path, Query, Unsigned, checked_limit};
use crate::http::stream as responses;

/// Entries per response when the request sets no limit.
const PAGES_DEFAULT: u32 = 1_000;
/// Maximum number of entries per response.
const PAGES_MAX: u32 = 10_000;

/// How often a crawl that waits for its turn is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Which entries of a crawl to return.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PagesQuery {
    /// Return entries after this number, 0 (default) for all; see the `X-Next-Cursor` header.
    #[serde(default)]
    #[param(value_type = Option<u64>)]
    cursor: Unsigned,
    /// Maximum number of entries, default 1,000; a larger one than 10,000 counts as 10,000. JSON
    /// lines that follow a crawl are unlimited by default.
    #[param(value_type = Option<u64>)]
    limit: Option<Unsigned>,
    /// Whether to wait for further entries while the crawl runs. Default: true for JSON lines,
    /// false for a JSON array.
    follow: Option<bool>,
}

#[utoipa::path(
    get,
    path = "/crawl/{id}/pages",
    summary = "Read the pages of a crawl",
    description = "Returns the entries of a crawl, in the order in which pages finished. `Accept: application/jsonl` returns lines and \
        follows a running crawl until it ends. Entries are stored for 7 days. An answer that cannot be completed breaks off: the \
        connection ends before its last byte.",
    params(("id" = String, Path, description = "`X-Crawl-Id`"), PagesQuery),
    responses(
        (status = 200, description = "Entries", body = Vec<PageEntry>,
            headers(("X-Next-Cursor" = String, description = "`cursor` of the next request; absent in answers that follow a crawl, and after the last entry of a crawl that has ended"))),
    ),
    security(("key" = []))
)]
pub(crate) async fn stored_pages(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(id): Path<String>,
    Query(query): Query<PagesQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    pages_of(Named::crawl(api, account, id), query, &headers).await
}

/// The stored pages of what a path names.
pub(super) async fn pages_of(
    named: Named,
    query: PagesQuery,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let format = ResponseFormat::of(headers);
    let count_max = query.limit.map(|limit| checked_limit(limit, PAGES_MAX));
    let count_max = count_max.transpose()?;
    let permit = named.api.queries.take(&named.account.id).await?;
    // Looked up before the response starts, so that an unknown crawl is a 404.
    named.check().await?;
    let Named {
        api, account, id, ..
    } = named;
    let pages = api
        .rooms
        .crawls
        .pages(&account.id, &id, query.cursor.0)
        .await?;
    let follows = query.follow.unwrap_or(format == ResponseFormat::JsonLines);
    let (until, next) = if follows {
        let left = query.limit.map_or(u64::MAX, |limit| limit.0);
        (query.cursor.0.saturating_add(left), None)
    } else {
        let count_max = u64::from(count_max.unwrap_or(PAGES_DEFAULT));
        let last = pages.last().await?;
        let until = query.cursor.0.saturating_add(count_max).min(last);
        // Nothing comes after the last page of a crawl that has ended.
        let is_over = pages.has_ended() && until == last;
        (until, (!is_over).then_some(until.max(query.cursor.0)))
    };
    drop(permit);
    let reader = Reader {
        api: api.clone(),
        follows,
        pages: pages.in_turns(api.queries.turns()),
        account,
        id,
        until,
    };
    let mut response = responses::entries(format, reader.entries().boxed());
    if let Some(next) = next {
        set_next_cursor(&mut response, next);
    }
    Ok(response)
}

/// Reads entries of a crawl, each when the one before was taken: a slow client holds the memory of
/// one. Each is read in a turn of the account's queries.
struct Reader {
    api: Api,
    /// Whether to wait for what comes.
    follows: bool,
    pages: StoredPages,
    account: Arc<Account>,
    id: String,
    /// Number of the last entry to read.
    until: u64,
}

impl Reader {
    /// The entries. An error ends them: what comes after it is missing.
    fn entries(self) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        responses::read_in_tasks(self, |mut reader| async move {
            match reader.next().await {
                Ok(entry) => Ok(entry.map(|entry| (entry, reader))),
                Err(error) => {
                    tracing::error!(
                        crawl = reader.id,
                        error = %error,
                        "cannot read the pages of a crawl, the response breaks off"
                    );
                    Err(io::Error::other(error))
                }
            }
        })
    }

    /// The next entry; `None` after the last one, or when all are read and none will come.
    async fn next(&mut self) -> Result<Option<Bytes>, ReadError> {
        // Whether the crawl had ended before the entries were looked for.
        let mut has_ended = false;
        loop {
            let after = self.pages.after();
            if after >= self.until {
                return Ok(None);
            }
            match self.pages.next().await? {
                Some((_, entry)) => return Ok(Some(entry)),
                None if !self.follows => return Err(ReadError::Gone),
                None if has_ended => return Ok(None),
                None => has_ended = !self.may_come(after).await?,
            }
        }
    }

    /// Waits for entries after this one; `false` once the crawl has ended, or waits for secrets.
    async fn may_come(&self, after: u64) -> Result<bool, ReadError> {
        let crawls = &self.api.rooms.crawls;
        let (account, id) = (&self.account.id, &self.id);
        if crawls.wait_for_pages(account, id, after).await {
            return Ok(true);
        }
        match crawls.show(account, id).await?.record.state {
            CrawlState::Ended | CrawlState::Parked => Ok(false),
            CrawlState::Queued | CrawlState::Running if self.api.service.is_draining() => {
                Err(ReadError::Stopping)
            }
            CrawlState::Queued | CrawlState::Running => {
                tokio::time::sleep(LOOK_AGAIN).await;
                Ok(true)
            }
        }
    }
}

/// Why a response breaks off.
#[derive(Debug)]
enum ReadError {
    /// The crawl was deleted meanwhile.
    Gone,
    /// The crawl pauses.
    Stopping,
    /// The crawl cannot be looked up.
    Crawl(CrawlError),
    /// The store failed.
    Store(StoreError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("entries of the crawl were deleted while they were read"),
            Self::Stopping => {
                f.write_str("the server stops, the crawl continues after its next start")
            }
            Self::Crawl(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl Error for ReadError {}

impl From<CrawlError> for ReadError {
    fn from(error: CrawlError) -> Self {
        Self::Crawl(error)
    }
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
