//! The state of a crawl as clients see it.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use trawl_crawl::CrawlView;
use trawl_model::StopReason;
use trawl_model::clock::Timestamp;
use trawl_plan::Pipeline;
use trawl_store::CrawlState;
use trawl_wire::Omitted;

/// State of a crawl.
#[derive(Serialize, ToSchema)]
#[schema(as = Crawl)]
pub(super) struct CrawlStatus {
    /// Its id.
    id: String,
    /// `queued`, `running`, `parked` (it waits for `/crawl/{id}/resume`) or `ended`.
    state: &'static str,
    /// The same as `state`.
    status: &'static str,
    /// Why it ended, is about to end or is parked: `completed`, `limit`, `depth`, `budget`,
    /// `host_limit`, `max_credits_allowed`, `balance`, `key_budget`, `crawl_timeout`, `cancelled`,
    /// `client_gone`, `server_stopped`, `credentials_lost`, `stored_bytes`, `plan_ended`, `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<&'static str>,
    /// The secrets that a parked crawl waits for, such as `headers.authorization`: it resumes once
    /// `/crawl/{id}/resume` gets all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing_secrets: Vec<String>,
    /// Whether it runs in the background.
    background: bool,
    /// Pages delivered, including failed ones.
    pages: u64,
    /// Pages that failed.
    failed: u64,
    /// Decoded bytes of the pages.
    bytes: u64,
    /// Costs so far.
    costs: CrawlCosts,
    /// URLs it has discovered; absent while it is queued or parked.
    #[serde(skip_serializing_if = "Option::is_none")]
    urls: Option<CrawlUrls>,
    /// What a pipeline left out because of a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<Omitted>,
    /// The request object with its limits, without secrets.
    #[schema(value_type = Object)]
    request: Box<RawValue>,
    /// Start time, in seconds since 1970.
    created_at: i64,
    /// End time, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<i64>,
    /// Start time in RFC 3339.
    created: String,
    /// End time in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
}

/// The name of the reason why a crawl ended, is about to end or is parked.
pub(super) fn stop_reason(state: CrawlState, stop: Option<StopReason>) -> Option<&'static str> {
    let name = stop.map(StopReason::name);
    match state {
        CrawlState::Parked => name.or(Some("credentials_lost")),
        CrawlState::Queued | CrawlState::Running | CrawlState::Ended => name,
    }
}

/// Costs of a crawl.
#[derive(Serialize, ToSchema)]
struct CrawlCosts {
    /// Dollars.
    total_cost: f64,
    /// Credits as decimal text; 10,000 credits are one dollar.
    credits: String,
}

/// URLs that a crawl has discovered.
#[derive(Serialize, ToSchema)]
struct CrawlUrls {
    /// All of them.
    known: u64,
    /// URLs in the queue.
    waiting: u64,
    /// URLs being fetched.
    in_flight: u64,
    /// URLs that were skipped, see `/crawl/{id}/skipped`.
    skipped: u64,
}

impl CrawlStatus {
    /// The state of a crawl with this stored request object.
    pub(super) fn new(view: CrawlView, request: &str) -> Self {
        let CrawlView {
            record, progress, ..
        } = view;
        let urls = (progress.urls.known > 0).then_some(CrawlUrls {
            known: progress.urls.known,
            waiting: progress.urls.waiting,
            in_flight: progress.urls.in_flight,
            skipped: progress.urls.skipped,
        });
        let pipeline = Pipeline::named(&record.verb);
        let left_out = Omitted::read(record.left_out.as_deref());
        let shown = trawl_wire::shown_request(request, pipeline, &left_out);
        let missing_secrets = match progress.state {
            CrawlState::Parked => shown.missing_secrets,
            _ => Vec::new(),
        };
        Self {
            id: record.id,
            state: progress.state.name(),
            status: progress.state.name(),
            stop_reason: stop_reason(progress.state, progress.stop),
            missing_secrets,
            background: record.in_background,
            pages: progress.n_pages,
            failed: progress.n_failed,
            bytes: progress.n_bytes,
            costs: CrawlCosts {
                total_cost: trawl_wire::dollars(progress.spent),
                credits: progress.spent.credits_text(),
            },
            urls,
            left_out: Some(left_out).filter(|left_out| !left_out.is_empty()),
            request: RawValue::from_string(shown.json).unwrap_or_default(),
            created_at: record.created.unix_seconds(),
            ended_at: record.ended.map(Timestamp::unix_seconds),
            created: record.created.to_string(),
            ended: record.ended.map(|at| at.to_string()),
        }
    }
}
