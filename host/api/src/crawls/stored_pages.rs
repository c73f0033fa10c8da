//! `GET /crawl/{id}/pages`: the entries of a crawl, once more or as they come.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use utoipa::IntoParams;

use trawl_billing::Account;
use trawl_crawl::Crawls;
use trawl_wire::Entry;

use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::headers::set_next_cursor;
use crate::http::params::{Path, Query, Whole, checked_limit};
use crate::http::stream as responses;

/// Entries per response when the request sets no limit.
const PAGES_DEFAULT: u32 = 1_000;
/// Maximum number of entries per response.
const PAGES_MAX: u32 = 10_000;
/// Entries that are read from the store at a time.
const PAGES_AT_ONCE: u32 = 64;

/// Which entries of a crawl to return.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PagesQuery {
    /// Return entries after this number, 0 (default) for all; see the `X-Next-Cursor` header.
    #[serde(default)]
    #[param(value_type = Option<u64>)]
    cursor: Whole,
    /// Maximum number of entries, default 1,000; a larger one than 10,000 counts as 10,000. JSON
    /// lines that follow a crawl are unlimited by default.
    #[param(value_type = Option<u64>)]
    limit: Option<Whole>,
    /// Whether to wait for further entries while the crawl runs. Default: true for JSON lines,
    /// false for a JSON array.
    follow: Option<bool>,
}

#[utoipa::path(
    get,
    path = "/crawl/{id}/pages",
    summary = "Read the pages of a crawl",
    description = "Returns the entries of a crawl, in the order in which pages finished. `Accept: application/jsonl` returns lines and \
        follows a running crawl until it ends. Entries are stored for 7 days.",
    params(("id" = String, Path, description = "`X-Crawl-Id`"), PagesQuery),
    responses(
        (status = 200, description = "Entries", body = Vec<Entry>,
            headers(("X-Next-Cursor" = String, description = "`cursor` of the next request; absent in answers that follow a crawl"))),
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
    let format = ResponseFormat::of(&headers);
    let count_max = query.limit.map(|limit| checked_limit(limit, PAGES_MAX));
    let count_max = count_max.transpose()?;
    let crawls = api.service.crawls().clone();
    if query.follow.unwrap_or(format == ResponseFormat::JsonLines) {
        // Looked up before the response starts, so that an unknown crawl is a 404.
        crawls.show(&account.id, &id).await?;
        let follower = Follower {
            crawls,
            account,
            id,
            after: query.cursor.0,
            left: query.limit.map_or(u64::MAX, |limit| limit.0),
        };
        return Ok(responses::entries(format, follower.entries().boxed()));
    }
    let count_max = count_max.unwrap_or(PAGES_DEFAULT);
    let pages = crawls
        .pages(&account.id, &id, query.cursor.0, count_max)
        .await?;
    let next = pages.last().map_or(query.cursor.0, |(seq, _)| *seq);
    let entries = stream::iter(pages.into_iter().map(|(_, entry)| entry));
    let mut response = responses::entries(format, entries.boxed());
    set_next_cursor(&mut response, next);
    Ok(response)
}

/// Reads the entries of a crawl while it runs.
struct Follower {
    crawls: Crawls,
    account: Arc<Account>,
    id: String,
    /// Number of the last entry that was read.
    after: u64,
    /// Entries that may still be read.
    left: u64,
}

impl Follower {
    fn entries(self) -> impl Stream<Item = Bytes> + Send {
        stream::unfold(self, |mut follower| async move {
            let entries = follower.next().await?;
            Some((stream::iter(entries), follower))
        })
        .flatten()
    }

    /// The next entries; `None` when the crawl has ended and all entries are read.
    async fn next(&mut self) -> Option<Vec<Bytes>> {
        let count_max = u32::try_from(self.left)
            .unwrap_or(u32::MAX)
            .min(PAGES_AT_ONCE);
        loop {
            let pages = self
                .crawls
                .pages(&self.account.id, &self.id, self.after, count_max)
                .await;
            let pages = pages
                .inspect_err(|error| tracing::error!(crawl = self.id, error = %error, "cannot read the pages of a crawl"))
                .ok()?;
            if let Some((last, _)) = pages.last() {
                self.after = *last;
                self.left -= pages.len() as u64;
                return Some(pages.into_iter().map(|(_, entry)| entry).collect());
            }
            let may_come = count_max > 0
                && self
                    .crawls
                    .wait_for_pages(&self.account.id, &self.id, self.after)
                    .await;
            if !may_come {
                return None;
            }
        }
    }
}
