//! The loop of one crawl: leases URLs until a limit, the caller, the server or an empty frontier
//! ends it.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};
use url::Url;

use trawl_model::StopReason;
use trawl_net::CpuTurns;
use trawl_net::egress::{on_behalf_of, traced};
use trawl_net::politeness::{Owner, RequestPace};
use trawl_net::sitemap::{SitemapBatch, Sitemaps};

use super::frontier::{Frontier, Lease, Screened, normal};
use super::lock;
use super::page;
use super::page_plans::first_seeds;
use super::run::CrawlRun;
use super::turn;

/// Pages that may be between fetched and delivered. They wait for the ledger's flush and for a slow
/// reader, and keep their content in memory meanwhile.
const DELIVERING_MAX: usize = 64;
/// Batches of sitemap URLs that wait for the frontier.
const BATCHES_MAX: usize = 4;
/// URLs that are added while the frontier is locked.
const ADDED_AT_ONCE: usize = 100;
/// Longest time between two looks at the frontier, in case a notification is missed.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The crawl is over.
    Stopped(StopReason),
    /// The server stops: the crawl continues at the next start.
    Paused,
    /// The crawl continues when its account resumes it.
    Parked(StopReason),
}

/// What ends a crawl before its frontier is empty.
#[derive(Default)]
struct Ending {
    /// Nothing more is leased: the pages in flight finish.
    is_stopped: bool,
    /// How it ends once the pages in flight have: what is left stays in the frontier.
    pause: Option<Ended>,
}

impl Ending {
    /// Whether nothing ends the crawl yet.
    fn is_open(&self) -> bool {
        !self.is_stopped && self.pause.is_none()
    }

    fn stop(&mut self, run: &CrawlRun, reason: StopReason) {
        self.is_stopped = true;
        run.stop(reason);
    }

    /// Parks a crawl in the background, and stops any other.
    fn park_or_stop(&mut self, run: &CrawlRun, reason: StopReason) {
        let pause = run.job.in_background.then_some(Ended::Parked(reason));
        self.pause_or_stop(run, pause, reason);
    }

    /// Pauses a crawl that can continue later, and stops any other.
    fn pause_or_stop(&mut self, run: &CrawlRun, pause: Option<Ended>, reason: StopReason) {
        match pause {
            Some(_) => {
                self.pause = pause;
                // Only now: pages that end for this would make the crawl look complete before.
                run.paused.cancel();
            }
            None => self.stop(run, reason),
        }
    }
}

/// Crawls to the end.
pub(super) async fn drive(
    run: &Arc<CrawlRun>,
    sitemaps: Option<Arc<Sitemaps>>,
    server_stops: &CancellationToken,
) -> Ended {
    let mut pages = JoinSet::new();
    let mut reading = sitemaps.map(|sitemaps| read_sitemaps(run, sitemaps));
    lock(&run.frontier).set_sitemaps_pending(reading.is_some());
    let deadline = run.plan.timeout.map(|time| Instant::now() + time);
    let is_streaming = run.receivers.listener.is_some();
    let mut ending = Ending::default();
    // Made once: a page wakes the loop several times. Each ends the crawl at most once.
    let mut cancelled = pin!(run.job.cancel.cancelled());
    let mut stopped = pin!(server_stops.cancelled());
    let mut hung_up = pin!(hung_up(run));
    let mut timed_out = pin!(timed_out(deadline));
    let mut plan_ended = pin!(turn::plan_ended(&run.money.payer.billing, &run.job));
    let mut looks = interval(POLL_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        if !ending.is_stopped && run.job.cancel.is_cancelled() {
            // Also while the server stops: a cancelled crawl does not continue after a restart.
            ending.stop(run, StopReason::Cancelled);
        }
        if ending.is_stopped {
            reading = None;
            lock(&run.frontier).set_sitemaps_pending(false);
        }
        if let Some(ended) = go_on(run, &mut pages, &ending) {
            return ended;
        }
        tokio::select! {
            Some(page) = pages.join_next() => note_panics(run, page, &mut pages),
            () = run.frontier_changed.notified() => {}
            () = all_read(&mut reading) => {
                reading = None;
                lock(&run.frontier).end_sitemaps();
            }
            () = &mut cancelled, if !ending.is_stopped => {}
            () = &mut hung_up, if is_streaming && !ending.is_stopped => {
                ending.stop(run, StopReason::HungUp);
                // These pages have no receiver; their reservations are released.
                pages.abort_all();
            }
            () = &mut timed_out, if !ending.is_stopped => ending.stop(run, StopReason::Timeout),
            () = &mut stopped, if ending.is_open() => {
                let pause = (!is_streaming).then_some(Ended::Paused);
                ending.pause_or_stop(run, pause, StopReason::ServerStopped);
            }
            // Pages in flight have their own timeouts. Decision D304.
            () = &mut plan_ended, if ending.is_open() => {
                ending.park_or_stop(run, StopReason::PlanEnded);
            }
            _ = looks.tick() => {}
        }
    }
}

/// Logs which tasks of pages panicked: of this one that has ended, and of all others that have.
fn note_panics(run: &CrawlRun, first: Result<(), JoinError>, pages: &mut JoinSet<()>) {
    let mut next = Some(first);
    while let Some(page) = next {
        if let Err(error) = page
            && error.is_panic()
        {
            tracing::error!(crawl = run.job.id, "the task of a page panicked");
        }
        next = pages.try_join_next();
    }
}

/// Spawns the pages that may be fetched now. Returns how the crawl has ended once it has.
fn go_on(run: &Arc<CrawlRun>, pages: &mut JoinSet<()>, ending: &Ending) -> Option<Ended> {
    let stop = if let Some(paused) = ending.pause.filter(|_| !ending.is_stopped) {
        if pages.is_empty() {
            return Some(paused);
        }
        None
    } else if !ending.is_stopped && waits(run) {
        None
    } else {
        fill(run, pages)
    };
    run.job
        .update(|progress| progress.urls = lock(&run.frontier).counts());
    stop.filter(|_| pages.is_empty()).map(Ended::Stopped)
}

/// Whether the crawl has pages to fetch and must not begin them: there is no space to store them,
/// or the ledger may be another process's by the time that they are charged. It continues when that
/// has changed, at the next look.
fn waits(run: &CrawlRun) -> bool {
    let may_begin = run.money.payer.billing.may_begin();
    (run.disk.is_low() || !may_begin) && lock(&run.frontier).counts().waiting > 0
}

/// Spawns pages up to the limit. Returns the stop reason when the frontier has one.
fn fill(run: &Arc<CrawlRun>, pages: &mut JoinSet<()>) -> Option<StopReason> {
    while pages.len() < run.plan.in_flight + DELIVERING_MAX {
        match lock(&run.frontier).lease() {
            Lease::Page(leased) => {
                let page = page::crawl(Arc::clone(run), leased);
                pages.spawn(page.instrument(Span::current()));
            }
            Lease::Wait => return None,
            Lease::Done(stop) => return Some(stop),
        }
    }
    None
}

/// Reads the sitemaps into the frontier, in a task that ends when it is dropped: however slow the
/// site is, its URLs are not needed any more.
fn read_sitemaps(run: &CrawlRun, sitemaps: Arc<Sitemaps>) -> JoinSet<()> {
    let (sender, mut batches) = mpsc::channel::<SitemapBatch>(BATCHES_MAX);
    let screen = Arc::clone(&run.screen);
    let (frontier, changed) = (Arc::clone(&run.frontier), Arc::clone(&run.frontier_changed));
    let named = run.plan.sitemap.addresses.clone();
    let plan = Arc::clone(&run.plan);
    let account = run.context.memory.clone();
    let (owner, trace) = (run.context.owner.clone(), run.context.trace);
    let sitemaps = sitemaps.through(plan.seed.fetch.exit());
    let pace = RequestPace {
        owner: Owner::of(&run.context.owner),
        delay: plan.delay,
        ..RequestPace::default()
    };
    let reading = async move {
        let mut starts = named;
        if starts.is_empty() {
            for (_, seed) in first_seeds(&plan) {
                starts.extend(sitemaps.starts(&seed.url).await);
            }
        }
        let _summary = sitemaps.read(starts, pace, &account, sender).await;
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let turns = CpuTurns::of_process();
        let adding = async {
            while let Some(batch) = batches.recv().await {
                let pages = batch.pages.into_iter();
                let urls: Vec<String> = pages.map(|page| page.url).collect();
                if urls.is_empty() {
                    continue;
                }
                let screened = screen.sitemap(&urls).await;
                let frontier = Arc::clone(&frontier);
                let added = turns.run(&owner, move || add(&frontier, &urls, screened));
                if added.await.is_err() {
                    // The log of the panic itself says where.
                    tracing::error!("URLs of a sitemap could not be added");
                }
                changed.notify_one();
            }
        };
        tokio::join!(on_behalf_of(&owner, traced(trace, reading)), adding);
    });
    tasks
}

/// Adds URLs of a sitemap, some at a time: pages need the frontier, too.
fn add(frontier: &Mutex<Frontier>, urls: &[String], mut screened: Screened) {
    let to_normal = |url: &String| Url::parse(url).map_or_else(|_| url.clone(), |url| normal(&url));
    for some in urls.chunks(ADDED_AT_ONCE) {
        let some: Vec<String> = some.iter().map(to_normal).collect();
        screened = lock(frontier).add_sitemap(some.iter().map(String::as_str), screened);
    }
}

/// Waits until all sitemaps are read.
async fn all_read(reading: &mut Option<JoinSet<()>>) {
    match reading {
        Some(tasks) => drop(tasks.join_next().await),
        None => std::future::pending().await,
    }
}

async fn hung_up(run: &CrawlRun) {
    match &run.receivers.listener {
        Some(listener) => listener.closed().await,
        None => std::future::pending().await,
    }
}

async fn timed_out(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
