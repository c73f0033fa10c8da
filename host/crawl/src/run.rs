//! The loop of one crawl: lease, fetch, complete, until a cap, the caller or an empty frontier ends it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::events::Events;
use super::frontier::{Frontier, Lease};
use super::gate::Gate;
use super::job::Job;
use super::lock;
use super::page;
use super::recorder::Recorded;
use trawl_billing::{Billing, RunBudget, Tariff};
use trawl_engine::page::{PageEngine, PageOutcome, RunContext};
use trawl_model::StopReason;
use trawl_model::clock::Clock;
use trawl_net::robots::Robots;
use trawl_net::sitemap::Sitemaps;
use trawl_plan::crawl::CrawlPlan;
use trawl_plan::{FetchPlan, PagePlan};

/// Pages that may be on their way between fetched and delivered. They wait for the ledger's flush and for a slow reader, and
/// hold their content meanwhile.
const LEAVING_MAX: usize = 64;
/// Batches of sitemap addresses that wait for the frontier.
const BATCHES_MAX: usize = 4;
/// A crawl that is stuck without cause looks again after this.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What the pages of one crawl share.
pub(super) struct Run {
    pub(super) job: Arc<Job>,
    pub(super) plan: Arc<CrawlPlan>,
    pub(super) seed: Url,
    /// The plan of every page of the seed's origin but for its address.
    pub(super) page: PagePlan,
    /// How pages of other origins are fetched: without the caller's headers and cookies.
    pub(super) elsewhere: Arc<FetchPlan>,
    pub(super) rooms: Arc<PageEngine>,
    pub(super) context: RunContext,
    pub(super) billing: Billing,
    pub(super) purse: RunBudget,
    /// Whether an earlier process began it: then a page may have been paid for and not shown.
    pub(super) is_resumed: bool,
    pub(super) tariff: Tariff,
    pub(super) frontier: Arc<Mutex<Frontier>>,
    /// `None` when robots rules are not obeyed.
    pub(super) robots: Option<Arc<Robots>>,
    pub(super) gate: Arc<Gate>,
    pub(super) recorder: mpsc::Sender<Recorded>,
    /// The caller of a streaming crawl.
    pub(super) listener: Option<mpsc::Sender<Bytes>>,
    /// What the caller's webhook is told.
    pub(super) events: Option<Arc<Events>>,
    pub(super) clock: Clock,
    pub(super) write_entry: fn(&PageOutcome, &mut Vec<u8>),
    /// A page gave its place back.
    pub(super) moved: Notify,
}

impl Run {
    /// Leases nothing more. Pages in flight finish.
    pub(super) fn stop(&self, why: StopReason) {
        lock(&self.frontier).stop(why);
        self.moved.notify_one();
    }
}

/// How the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// For good.
    Stopped(StopReason),
    /// The server stops: the crawl goes on at the next start.
    Paused,
}

/// Crawls to the end.
pub(super) async fn drive(
    run: &Arc<Run>,
    sitemaps: Option<Arc<Sitemaps>>,
    server_stops: &CancellationToken,
) -> Ended {
    let mut pages = JoinSet::new();
    let mut batches = sitemaps.map(|sitemaps| read_sitemaps(run, sitemaps));
    lock(&run.frontier).set_sitemaps_pending(batches.is_some());
    let deadline = run.plan.timeout.map(|time| Instant::now() + time);
    let is_streaming = run.listener.is_some();
    let mut told = false;
    let mut is_paused = false;
    loop {
        let stop = match is_paused {
            true if pages.is_empty() => return Ended::Paused,
            true => None,
            false => fill(run, &mut pages),
        };
        run.job
            .count(|tally| tally.urls = lock(&run.frontier).counts());
        if let Some(stop) = stop
            && pages.is_empty()
        {
            return Ended::Stopped(stop);
        }
        tokio::select! {
            Some(page) = pages.join_next() => {
                if let Err(error) = page && error.is_panic() {
                    tracing::error!(crawl = run.job.id, "a page of a crawl panicked");
                }
            }
            () = run.moved.notified() => {}
            batch = next_batch(&mut batches) => match batch {
                Some(batch) => lock(&run.frontier).add_sitemap(batch.iter().map(String::as_str)),
                None => {
                    batches = None;
                    lock(&run.frontier).set_sitemaps_pending(false);
                }
            },
            () = run.job.cancel.cancelled(), if !told => {
                told = true;
                run.stop(StopReason::Cancelled);
            }
            () = hung_up(run), if is_streaming && !told => {
                told = true;
                run.stop(StopReason::HungUp);
                // Nobody is left to take these pages; what they had set aside goes back.
                pages.abort_all();
            }
            () = over(deadline), if !told => {
                told = true;
                run.stop(StopReason::Timeout);
            }
            () = server_stops.cancelled(), if !told && !is_paused => match is_streaming {
                true => {
                    told = true;
                    run.stop(StopReason::ServerStopped);
                }
                false => is_paused = true,
            },
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
        if told {
            batches = None;
            lock(&run.frontier).set_sitemaps_pending(false);
        }
    }
}

/// Sends out as many pages as may be in flight; the reason to stop when the frontier gives one.
fn fill(run: &Arc<Run>, pages: &mut JoinSet<()>) -> Option<StopReason> {
    while pages.len() < run.plan.in_flight + LEAVING_MAX {
        match lock(&run.frontier).lease() {
            Lease::Page(leased) => {
                pages.spawn(page::crawl(Arc::clone(run), leased));
            }
            Lease::Wait => return None,
            Lease::Done(stop) => return Some(stop),
        }
    }
    None
}

/// Reads the sitemaps of a crawl beside it; the batches end with the last file.
fn read_sitemaps(run: &Run, sitemaps: Arc<Sitemaps>) -> mpsc::Receiver<Vec<String>> {
    let (sender, batches) = mpsc::channel(BATCHES_MAX);
    let (named, seed, delay) = (
        run.plan.sitemap.addresses.clone(),
        run.seed.clone(),
        run.plan.delay,
    );
    tokio::spawn(async move {
        let starts = match named.is_empty() {
            true => sitemaps.starts(&seed).await,
            false => named,
        };
        // Ends by itself when nobody takes the batches any more.
        let _summary = sitemaps.read(starts, delay, sender).await;
    });
    batches
}

async fn next_batch(batches: &mut Option<mpsc::Receiver<Vec<String>>>) -> Option<Vec<String>> {
    match batches {
        Some(batches) => batches.recv().await,
        None => std::future::pending().await,
    }
}

async fn hung_up(run: &Run) {
    match &run.listener {
        Some(listener) => listener.closed().await,
        None => std::future::pending().await,
    }
}

async fn over(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
