//! What the pages of one crawl share.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use url::{Origin, Url};

use trawl_billing::RunBudget;
use trawl_engine::page::{Payer, RunContext};
use trawl_model::StopReason;
use trawl_model::clock::Clock;
use trawl_net::robots::Robots;
use trawl_plan::crawl::CrawlPlan;
use trawl_plan::{FetchPlan, OutputPlan, Pace, PagePlan};
use trawl_store::Disk;

use super::batch::Recorded;
use super::events::Events;
use super::frontier::Frontier;
use super::gate::Gate;
use super::job::Job;
use super::lock;
use super::screen::Screen;

/// How long a page may wait for its host without using up its own timeout: at a host with a crawl
/// delay of ten seconds, the last of ten pages in flight waits 100 seconds.
const PATIENCE: Duration = Duration::from_secs(600);

/// What the pages of one crawl share.
pub(super) struct Run {
    pub(super) job: Arc<Job>,
    pub(super) plan: Arc<CrawlPlan>,
    /// The plan of every page, except for its URL and how it is fetched.
    pub(super) page: PagePlan,
    /// How pages of the seeds' origins are fetched.
    pub(super) seed_origins: Vec<(Origin, Arc<FetchPlan>)>,
    /// How pages of other origins are fetched: without the caller's headers and cookies.
    pub(super) cross_origin: Arc<FetchPlan>,
    pub(super) context: RunContext,
    pub(super) payer: Payer,
    pub(super) budget: RunBudget,
    /// Whether an earlier process started the crawl: a page may have been charged and not
    /// delivered.
    pub(super) is_resumed: bool,
    /// The name under which its pages are charged.
    pub(super) paid_as: Arc<str>,
    pub(super) frontier: Arc<Mutex<Frontier>>,
    /// `None` when robots.txt is not obeyed.
    pub(super) robots: Option<Arc<Robots>>,
    pub(super) gate: Arc<Gate>,
    pub(super) screen: Arc<Screen>,
    pub(super) recorder: mpsc::Sender<Recorded>,
    /// Receives the entries of a streaming crawl.
    pub(super) listener: Option<mpsc::Sender<Bytes>>,
    /// Builds the events for the caller's webhook.
    pub(super) events: Option<Arc<Events>>,
    pub(super) clock: Clock,
    /// Pages in a row that could not be paid.
    pub(super) refused_in_a_row: AtomicU32,
    /// Notified when the frontier changes.
    pub(super) frontier_changed: Arc<Notify>,
    /// Cancelled when the crawl is stopped by its time, its caller or the server.
    pub(super) stopped: CancellationToken,
    /// Nothing is leased while it has too little space.
    pub(super) disk: Arc<Disk>,
}

impl Run {
    /// How a page is fetched.
    pub(super) fn fetch_plan(&self, url: &Url) -> Arc<FetchPlan> {
        let origin = url.origin();
        let mut origins = self.seed_origins.iter();
        let own = origins.find(|(of_seed, _)| *of_seed == origin);
        Arc::clone(own.map_or(&self.cross_origin, |(_, fetch)| fetch))
    }

    /// Leases nothing more. Pages that were requested finish. Those that wait for their turn give
    /// their leases back where somebody waits for the end.
    pub(super) fn stop(&self, reason: StopReason) {
        lock(&self.frontier).stop(reason);
        if matches!(
            reason,
            StopReason::Timeout | StopReason::Cancelled | StopReason::ServerStopped
        ) {
            self.stopped.cancel();
        }
        self.frontier_changed.notify_one();
    }

    /// Waits until the crawl is stopped while this page waits for its turn.
    pub(super) async fn gives_back(&self, page: &Url) {
        self.stopped.cancelled().await;
        if self.gate.is_sent(page) {
            std::future::pending::<()>().await;
        }
    }
}

/// The first seed of each origin.
pub(super) fn first_seeds(plan: &CrawlPlan) -> Vec<(Origin, &PagePlan)> {
    let mut firsts: Vec<(Origin, &PagePlan)> = Vec::new();
    for seed in plan.seeds() {
        let origin = seed.url.origin();
        if !firsts.iter().any(|(known, _)| *known == origin) {
            firsts.push((origin, seed));
        }
    }
    firsts
}

/// How pages of the seeds' origins are fetched: with the caller's headers and cookies, and with the
/// password of the first seed there.
pub(super) fn seed_origins(plan: &CrawlPlan, page: &PagePlan) -> Vec<(Origin, Arc<FetchPlan>)> {
    let fetch = |seed: &PagePlan| FetchPlan {
        // The seed's own: the password of its URL goes to no other seed.
        headers: seed.fetch.headers.clone(),
        ..(*page.fetch).clone()
    };
    let firsts = first_seeds(plan).into_iter();
    firsts
        .map(|(origin, seed)| (origin, Arc::new(fetch(seed))))
        .collect()
}

/// The plan of every page: the seed's, with the crawl's redirect gate and the discovery of links.
pub(super) fn page_plan(plan: &CrawlPlan, gate: &Arc<Gate>) -> PagePlan {
    let fetch = FetchPlan {
        // The crawl checks robots.txt itself, before it reserves money.
        respect_robots: false,
        gate: Some(Arc::clone(gate) as _),
        pace: Pace {
            delay: plan.delay,
            host_delay: Duration::ZERO,
            patience: PATIENCE,
        },
        ..(*plan.seed.fetch).clone()
    };
    let sends_headers = plan
        .webhook
        .as_ref()
        .is_some_and(|webhook| webhook.on_find_metadata);
    let output = OutputPlan {
        discover: !plan.sitemap.only || plan.fold.canonical,
        anchors: plan.anchors && !plan.sitemap.only,
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
