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
use trawl_plan::address::{is_same_origin_or_upgrade, is_same_site};
use trawl_plan::crawl::CrawlPlan;
use trawl_plan::{FetchPlan, OutputPlan, Pace, PagePlan, RenderPlan};
use trawl_store::Disk;

use super::batch::Recorded;
use super::events::Events;
use super::frontier::Frontier;
use super::gate::{Gate, PageGate};
use super::job::Job;
use super::lock;
use super::paid::PaidPages;
use super::screen::Screen;

/// How long a page may wait for its host without using up its own timeout: at a host with a crawl
/// delay of ten seconds, the last of ten pages in flight waits 100 seconds.
const PATIENCE: Duration = Duration::from_secs(600);

/// What the pages of one crawl share.
pub(super) struct Run {
    pub(super) job: Arc<Job>,
    pub(super) plan: Arc<CrawlPlan>,
    /// The plan of every page, except for its URL, how it is fetched and how it is rendered.
    pub(super) page: PagePlan,
    /// How pages of the seeds' origins are fetched.
    pub(super) seed_origins: Vec<(Url, Arc<FetchPlan>)>,
    /// How pages of other origins are fetched: without the caller's headers and cookies.
    pub(super) cross_origin: Arc<FetchPlan>,
    /// How pages of other sites are rendered: without the caller's scripts and steps.
    pub(super) other_site: Arc<RenderPlan>,
    pub(super) context: RunContext,
    pub(super) payer: Payer,
    pub(super) budget: RunBudget,
    /// What an earlier process charged, if it started the crawl: a page may have been charged and
    /// not delivered.
    pub(super) paid: Option<Arc<PaidPages>>,
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
    /// Cancelled when the server stops; a background crawl continues at its next start.
    pub(super) server_stops: CancellationToken,
    /// Nothing is leased while it has too little space.
    pub(super) disk: Arc<Disk>,
}

impl Run {
    /// How a page is fetched.
    pub(super) fn fetch_plan(&self, url: &Url) -> Arc<FetchPlan> {
        Arc::clone(fetch_plan_of(&self.seed_origins, url).unwrap_or(&self.cross_origin))
    }

    /// How a page is rendered.
    pub(super) fn render_plan(&self, url: &Url) -> Arc<RenderPlan> {
        let (own, other) = (&self.page.render, &self.other_site);
        let is_own = || is_of_seeds(&self.seed_origins, url);
        Arc::clone(if Arc::ptr_eq(own, other) || is_own() {
            own
        } else {
            other
        })
    }

    /// Leases nothing more. Pages that were requested finish. If the crawl must end soon, at its
    /// timeout, a cancellation or a shutdown, those that wait for their turn give their leases
    /// back, and those that wait for money before their charge have failed.
    pub(super) fn stop(&self, reason: StopReason) {
        lock(&self.frontier).stop(reason);
        if matches!(
            reason,
            StopReason::Timeout | StopReason::Cancelled | StopReason::ServerStopped
        ) {
            self.stopped.cancel();
            self.budget.end_waits();
        }
        self.frontier_changed.notify_one();
    }

    /// Waits until the crawl is stopped while this page waits for its turn.
    pub(super) async fn gives_back(&self, page: &PageGate) {
        self.stopped.cancelled().await;
        if page.is_sent() {
            std::future::pending::<()>().await;
        }
    }
}

/// How a page of a seed's origin is fetched, or of its upgrade to `https`, as plain HTTP follows
/// it.
fn fetch_plan_of<'a>(seeds: &'a [(Url, Arc<FetchPlan>)], url: &Url) -> Option<&'a Arc<FetchPlan>> {
    // There may be many seeds, and an origin is a copy.
    let of_host = || {
        let seeds = seeds.iter();
        seeds.filter(move |(seed, _)| seed.host_str() == url.host_str())
    };
    let same = of_host().find(|(seed, _)| seed.origin() == url.origin());
    let upgraded = || of_host().find(|(seed, _)| is_same_origin_or_upgrade(seed, url));
    same.or_else(upgraded).map(|(_, fetch)| fetch)
}

/// Whether a page is of the site of a seed.
fn is_of_seeds(seeds: &[(Url, Arc<FetchPlan>)], url: &Url) -> bool {
    seeds.iter().any(|(seed, _)| is_same_site(seed, url))
}

/// How pages of other sites are rendered; the same plan if it has no scripts or steps.
pub(super) fn other_site(own: &Arc<RenderPlan>) -> Arc<RenderPlan> {
    let other = own.for_other_site();
    match other == **own {
        true => Arc::clone(own),
        false => Arc::new(other),
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
pub(super) fn seed_origins(plan: &CrawlPlan, page: &PagePlan) -> Vec<(Url, Arc<FetchPlan>)> {
    let fetch = |seed: &PagePlan| FetchPlan {
        // The seed's own: the password of its URL goes to no other seed.
        headers: seed.fetch.headers.clone(),
        ..(*page.fetch).clone()
    };
    let firsts = first_seeds(plan).into_iter();
    firsts
        .map(|(_, seed)| (seed.url.clone(), Arc::new(fetch(seed))))
        .collect()
}

/// The plan of every page: the seed's, with the crawl's pace and the discovery of links.
pub(super) fn page_plan(plan: &CrawlPlan) -> PagePlan {
    let fetch = FetchPlan {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn pages_of_other_sites_get_no_scripts_of_the_caller() {
        let bare = Arc::new(RenderPlan::default());
        assert!(Arc::ptr_eq(&other_site(&bare), &bare));
        let own = Arc::new(RenderPlan {
            before_load: Some("secret".to_owned()),
            ..RenderPlan::default()
        });
        assert_eq!(*other_site(&own), *bare);
        let fetch = || Arc::new(FetchPlan::bare(Duration::from_secs(1)));
        let seeds = [
            (url("http://a.example/"), fetch()),
            (url("https://b.example/"), fetch()),
        ];
        for (page, expected) in [
            ("http://a.example/x", true),
            ("https://www.a.example/x", true),
            ("https://b.example/x", true),
            ("https://shop.a.example/x", false),
            ("https://c.example/x", false),
        ] {
            assert_eq!(is_of_seeds(&seeds, &url(page)), expected, "{page}");
        }
    }

    #[test]
    fn the_upgrade_of_a_seed_is_fetched_as_the_seed_is() {
        let plan = |agent: &str| {
            Arc::new(FetchPlan {
                user_agent: Some(agent.to_owned()),
                ..FetchPlan::bare(Duration::from_secs(1))
            })
        };
        let seeds = [
            (url("http://a.example/"), plan("plain")),
            (url("http://b.example/"), plan("plain")),
            (url("https://b.example/"), plan("secure")),
            (url("http://c.example:8080/"), plan("plain")),
        ];
        for (page, expected) in [
            ("http://a.example/x", Some("plain")),
            ("https://a.example/x", Some("plain")),
            ("https://b.example/x", Some("secure")),
            ("http://b.example/x", Some("plain")),
            ("https://c.example:8080/x", None),
            ("http://c.example/x", None),
            ("http://d.a.example/", None),
        ] {
            let found = fetch_plan_of(&seeds, &url(page));
            let agent = found.and_then(|fetch| fetch.user_agent.as_deref());
            assert_eq!(agent, expected, "{page}");
        }
    }
}
