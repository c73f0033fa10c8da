//! `POST /crawl` and what can be asked of a crawl afterwards.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

pub(super) use super::begin::{Planned, planned};
use super::error::ApiError;
use super::params::{Path, Query};
use super::post::{self, ApiRequest, Form};
use super::scrape::BODY_BYTES_MAX;
use super::{Api, stream as answers};
use trawl_billing::Account;
use trawl_crawl::{CrawlView, Crawls};
use trawl_model::clock::Timestamp;
use trawl_model::{StopReason, UrlState};
use trawl_plan::Pipeline;
use trawl_store::CrawlState;
use trawl_wire::Entry;
use trawl_wire::{ScrapeRequest, Verb};

/// Entries of one answer of `/crawl/{id}/pages` when the caller names no number, and the most it may name.
const PAGES_DEFAULT: u32 = 1_000;
const PAGES_MAX: u32 = 10_000;
/// Entries that are read from the store at once.
const PAGES_AT_ONCE: u32 = 64;
/// Addresses of one answer of `/crawl/{id}/skipped`, likewise.
const SKIPPED_DEFAULT: u32 = 10_000;
const SKIPPED_MAX: u32 = 100_000;

#[utoipa::path(
    post,
    path = "/crawl",
    description = "Walks a site from its seed under the caps of the request and streams one entry a page, in the order of \
        finishing. The header `X-Crawl-Id` names the crawl. With `run_in_background` the answer comes at once.",
    request_body(content = ScrapeRequest, description = "One request object, or an array of them: each seed is a crawl of its own",
        example = json!({"url": "http://sample.trawl.test/", "limit": 3, "return_format": "markdown"})),
    responses(
        (status = 200, description = "One entry a page; a page that failed has `error` set", body = Vec<Entry>),
        (status = 429, description = "Too many requests or crawls, see `Retry-After`", example = json!({"error": "slow down"})),
    ),
    security(("key" = []))
)]
pub(super) async fn crawl(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    request: Request,
) -> Result<Response, ApiError> {
    post::serve(&api, account, request, BODY_BYTES_MAX, |posted| {
        pages(posted, Verb::Scrape)
    })
    .await
}

/// Begins the crawls of a request and answers with their pages, or with their ids.
pub(super) async fn pages(posted: ApiRequest, verb: Verb) -> Result<Response, ApiError> {
    planned(&posted, verb)?.run(posted, None).await
}

/// A crawl as it stands.
#[derive(Serialize, ToSchema)]
#[schema(as = Crawl)]
pub(super) struct CrawlStatus {
    /// Its id.
    id: String,
    /// `queued`, `running`, `parked` (it needs secrets that a restart has lost) or `ended`.
    state: &'static str,
    /// The same as `state`.
    status: &'static str,
    /// Why it ended or is about to end: `completed`, `limit`, `depth`, `budget`, `max_credits_allowed`, `balance`,
    /// `crawl_timeout`, `cancelled`, `client_gone`, `server_stopped`, `credentials_lost`, `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<&'static str>,
    /// Whether it runs in the background.
    background: bool,
    /// Pages delivered, failed ones included.
    pages: u64,
    /// Pages that failed.
    failed: u64,
    /// Decoded bytes of the pages.
    bytes: u64,
    /// What it costs so far.
    costs: CrawlCosts,
    /// Addresses it knows, as long as it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    urls: Option<CrawlUrls>,
    /// The request object, without the caller's secrets: its caps.
    #[schema(value_type = Object)]
    request: Box<RawValue>,
    /// Begin, seconds since 1970.
    created_at: i64,
    /// End, seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<i64>,
}

/// Money of a crawl.
#[derive(Serialize, ToSchema)]
struct CrawlCosts {
    /// Dollars.
    total_cost: f64,
    /// Credits as decimal text; 10,000 are a dollar.
    credits: String,
}

/// Addresses that a crawl knows.
#[derive(Serialize, ToSchema)]
struct CrawlUrls {
    /// All of them.
    known: u64,
    /// Those that wait for their turn.
    waiting: u64,
    /// Those being fetched.
    in_flight: u64,
    /// Those left out, see `/crawl/{id}/skipped`.
    skipped: u64,
}

impl CrawlStatus {
    fn of(shown: CrawlView) -> Self {
        let CrawlView { record, tally } = shown;
        let is_parked = tally.state == CrawlState::Parked;
        let stop_reason = match is_parked {
            true => Some("credentials_lost"),
            false => tally.stop.map(StopReason::name),
        };
        let urls = (tally.urls.known > 0).then_some(CrawlUrls {
            known: tally.urls.known,
            waiting: tally.urls.waiting,
            in_flight: tally.urls.in_flight,
            skipped: tally.urls.skipped,
        });
        let pipeline = Pipeline::named(&record.verb);
        let request = trawl_wire::shown_request(record.request, pipeline);
        Self {
            id: record.id,
            state: tally.state.name(),
            status: tally.state.name(),
            stop_reason,
            background: record.in_background,
            pages: tally.n_pages,
            failed: tally.n_failed,
            bytes: tally.n_bytes,
            costs: CrawlCosts {
                total_cost: trawl_wire::dollars(tally.spent),
                credits: tally.spent.credits_text(),
            },
            urls,
            request: RawValue::from_string(request).unwrap_or_default(),
            created_at: record.created.unix_seconds(),
            ended_at: record.ended.map(Timestamp::unix_seconds),
        }
    }
}

#[utoipa::path(
    get,
    path = "/crawl/{id}",
    params(("id" = String, Path, description = "`X-Crawl-Id`")),
    responses(
        (status = 200, description = "The crawl as it stands", body = CrawlStatus),
        (status = 404, description = "No such crawl of this account"),
    ),
    security(("key" = []))
)]
pub(super) async fn show(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let shown = api.service.crawls().show(&account.id, &id).await?;
    Form::of(&headers).one(&CrawlStatus::of(shown))
}

#[utoipa::path(
    delete,
    path = "/crawl/{id}",
    description = "Stops the crawl: nothing more is fetched, pages in flight finish.",
    params(("id" = String, Path, description = "`X-Crawl-Id`")),
    responses(
        (status = 200, description = "The crawl as it stands then", body = CrawlStatus),
        (status = 404, description = "No such crawl of this account"),
    ),
    security(("key" = []))
)]
pub(super) async fn stop(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let shown = api.service.crawls().cancel(&account.id, &id).await?;
    Form::of(&headers).one(&CrawlStatus::of(shown))
}

#[utoipa::path(
    post,
    path = "/crawl/{id}/resume",
    description = "Takes up a parked crawl: send the `headers`, `cookies` or `router` secrets that a restart has lost.",
    params(("id" = String, Path, description = "`X-Crawl-Id`")),
    request_body(content = ScrapeRequest, description = "The fields that hold the secrets",
        example = json!({"headers": {"authorization": "Basic dXNlcjpwYXNzd29yZA=="}})),
    responses(
        (status = 200, description = "The crawl as it stands then", body = CrawlStatus),
        (status = 404, description = "No such crawl of this account"),
        (status = 409, description = "The crawl is not parked"),
    ),
    security(("key" = []))
)]
pub(super) async fn resume(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    post::serve(
        &api,
        account,
        request,
        BODY_BYTES_MAX,
        |posted| async move {
            let crawls = posted.service.crawls();
            let stored = crawls.show(&posted.account.id, &id).await?.record.request;
            let whole = trawl_wire::with_secrets(&stored, &posted.body)?;
            let shown = crawls.resume(&posted.account.id, &id, &whole).await?;
            posted.form.one(&CrawlStatus::of(shown))
        },
    )
    .await
}

/// Which entries of a crawl are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PagesQuery {
    /// Entries after this number, 0 (default) for all; see the header `X-Next-Cursor`.
    #[serde(default)]
    cursor: u64,
    /// Most entries, 1,000 when not set; lines that follow a crawl have no such bound.
    limit: Option<u32>,
    /// Whether to go on while the crawl runs; the default is so for JSON lines and not for a JSON array.
    follow: Option<bool>,
}

#[utoipa::path(
    get,
    path = "/crawl/{id}/pages",
    description = "The entries of a crawl again, in the order of finishing. `Accept: application/jsonl` gives lines and follows \
        a running crawl to its end. Kept for 7 days.",
    params(("id" = String, Path, description = "`X-Crawl-Id`"), PagesQuery),
    responses(
        (status = 200, description = "Entries; the header `X-Next-Cursor` is where to go on", body = Vec<Entry>),
        (status = 404, description = "No such crawl of this account"),
    ),
    security(("key" = []))
)]
pub(super) async fn stored_pages(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(id): Path<String>,
    Query(query): Query<PagesQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let form = Form::of(&headers);
    let crawls = api.service.crawls().clone();
    if query.follow.unwrap_or(form == Form::Lines) {
        // Asked once before the answer begins, so that an unknown crawl is a 404.
        crawls.show(&account.id, &id).await?;
        let reading = Reading {
            crawls,
            account,
            id,
            after: query.cursor,
            left: query.limit.map_or(u64::MAX, u64::from),
        };
        return Ok(answers::entries(form, reading.entries().boxed()));
    }
    let count_max = query.limit.unwrap_or(PAGES_DEFAULT).clamp(1, PAGES_MAX);
    let pages = crawls
        .pages(&account.id, &id, query.cursor, count_max)
        .await?;
    let next = pages.last().map_or(query.cursor, |(seq, _)| *seq);
    let entries = stream::iter(pages.into_iter().map(|(_, entry)| entry));
    let mut response = answers::entries(form, entries.boxed());
    response
        .headers_mut()
        .insert("x-next-cursor", HeaderValue::from(next));
    Ok(response)
}

/// Someone who reads a crawl's pages while it runs.
struct Reading {
    crawls: Crawls,
    account: Arc<Account>,
    id: String,
    after: u64,
    left: u64,
}

impl Reading {
    fn entries(self) -> impl Stream<Item = Bytes> + Send {
        stream::unfold(self, |mut reading| async move {
            let entries = reading.next().await?;
            Some((stream::iter(entries), reading))
        })
        .flatten()
    }

    /// The next entries; `None` when the crawl has ended and all are read.
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
                .inspect_err(|error| tracing::error!(crawl = self.id, error = %error, "a crawl's pages could not be read"))
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

/// Which addresses are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SkippedQuery {
    /// Addresses after this number, see the header `X-Next-Cursor`.
    cursor: Option<u32>,
    /// Most addresses, 10,000 when not set.
    limit: Option<u32>,
}

/// An address that was not fetched.
#[derive(Serialize, ToSchema)]
pub(super) struct Skipped {
    /// The address.
    url: String,
    /// `robots`, `nofollow`, `depth`, `budget`, `limit`, `max_credits_allowed`, `scope`, `blacklist`, `whitelist`,
    /// `duplicate`, `scheme`, `too_long`, `full` or `stopped`.
    reason: &'static str,
    /// Hops from the seed.
    depth: u16,
}

#[utoipa::path(
    get,
    path = "/crawl/{id}/skipped",
    description = "Each address that the crawl knows and did not fetch, with its reason.",
    params(("id" = String, Path, description = "`X-Crawl-Id`"), SkippedQuery),
    responses(
        (status = 200, description = "Addresses; the header `X-Next-Cursor` is where to go on", body = Vec<Skipped>),
        (status = 404, description = "No such crawl of this account"),
    ),
    security(("key" = []))
)]
pub(super) async fn skipped(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Path(id): Path<String>,
    Query(query): Query<SkippedQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let count_max = query.limit.unwrap_or(SKIPPED_DEFAULT).clamp(1, SKIPPED_MAX);
    let rows = api
        .service
        .crawls()
        .skipped(&account.id, &id, query.cursor, count_max)
        .await?;
    let next = rows.last().map(|row| row.n).or(query.cursor);
    let skipped = rows.into_iter().filter_map(|row| {
        let UrlState::Skipped(reason) = row.state else {
            return None;
        };
        let skipped = Skipped {
            url: row.url,
            reason: reason.name(),
            depth: row.depth,
        };
        serde_json::to_vec(&skipped).ok().map(Bytes::from)
    });
    let form = Form::of(&headers);
    let mut response = answers::entries(form, stream::iter(skipped.collect::<Vec<_>>()).boxed());
    if let Some(next) = next {
        response
            .headers_mut()
            .insert("x-next-cursor", HeaderValue::from(next));
    }
    Ok(response)
}
