//! What the pages of one crawl share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use tokio::sync::{Notify, mpsc};
use url::Url;

use trawl_billing::{Billing, RunBudget};
use trawl_engine::page::RunContext;
use trawl_model::StopReason;
use trawl_model::clock::Clock;
use trawl_net::fetch;
use trawl_net::robots::Robots;
use trawl_plan::crawl::CrawlPlan;
use trawl_plan::{FetchPlan, OutputPlan, Pace, PagePlan};

use super::events::Events;
use super::frontier::Frontier;
use super::gate::Gate;
use super::job::Job;
use super::lock;
use super::recorder::Recorded;

/// How long a page may wait for its host without using up its own timeout: at a host with a crawl
/// delay of ten seconds, the last of ten pages in flight waits 100 seconds.
const PATIENCE: Duration = Duration::from_secs(600);

/// What the pages of one crawl share.
pub(super) struct Run {
    pub(super) job: Arc<Job>,
    pub(super) plan: Arc<CrawlPlan>,
    pub(super) seed: Url,
    /// The plan of every page of the seed's origin, except for its URL.
    pub(super) page: PagePlan,
    /// How pages of other origins are fetched: without the caller's headers and cookies.
    pub(super) cross_origin: Arc<FetchPlan>,
    pub(super) context: RunContext,
    pub(super) billing: Billing,
    pub(super) budget: RunBudget,
    /// Whether an earlier process started the crawl: a page may have been charged and not
    /// delivered.
    pub(super) is_resumed: bool,
    pub(super) frontier: Arc<Mutex<Frontier>>,
    /// `None` when robots.txt is not obeyed.
    pub(super) robots: Option<Arc<Robots>>,
    pub(super) gate: Arc<Gate>,
    pub(super) recorder: mpsc::Sender<Recorded>,
    /// Receives the entries of a streaming crawl.
    pub(super) listener: Option<mpsc::Sender<Bytes>>,
    /// Builds the events for the caller's webhook.
    pub(super) events: Option<Arc<Events>>,
    pub(super) clock: Clock,
    /// Notified when the frontier changes.
    pub(super) frontier_changed: Notify,
}

impl Run {
    /// Leases nothing more. Pages in flight finish.
    pub(super) fn stop(&self, reason: StopReason) {
        lock(&self.frontier).stop(reason);
        self.frontier_changed.notify_one();
    }
}

/// The plan of every page: the seed's, with the crawl's redirect gate and the discovery of links.
pub(super) fn page_plan(plan: &CrawlPlan, gate: &Arc<Gate>) -> PagePlan {
    let mut headers = plan.seed.fetch.headers.clone();
    // URLs in the frontier have no password; the seed's is sent to its whole origin.
    let authorization = fetch::basic_authorization(&plan.seed.url);
    headers.extend(authorization.map(|value| (AUTHORIZATION, value)));
    let fetch = FetchPlan {
        headers,
        // The crawl checks robots.txt itself, before it reserves money.
        respect_robots: false,
        gate: Some(Arc::clone(gate) as _),
        pace: Pace {
            delay: plan.delay,
            patience: PATIENCE,
        },
        ..(*plan.seed.fetch).clone()
    };
    let sends_headers = plan
        .webhook
        .as_ref()
        .is_some_and(|webhook| webhook.on_find_metadata);
    let output = OutputPlan {
        discover: !plan.sitemap.only,
        headers: plan.seed.output.headers || sends_headers,
        ..(*plan.seed.output).clone()
    };
    PagePlan {
        fetch: Arc::new(fetch),
        output: Arc::new(output),
        ..plan.seed.clone()
    }
}

/// The fetch plan without the caller's headers and cookies, which belong to the seed's origin.
pub(super) fn cross_origin(fetch: &FetchPlan) -> FetchPlan {
    FetchPlan {
        headers: Vec::new(),
        cookies: Vec::new(),
        ..fetch.clone()
    }
}
