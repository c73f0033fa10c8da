//! One crawl from its turn to its end: restores what is stored, joins the parts, drives, writes the end down.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use tokio::sync::{Notify, OwnedSemaphorePermit, mpsc};
use url::Url;

use super::desk::{Crawls, Ending};
use super::events::Events;
use super::frontier::Frontier;
use super::gate::Gate;
use super::job::Job;
use super::recorder::Recorder;
use super::run::{self, Ended, Run};
use trawl_billing::{Slot, Tariff};
use trawl_engine::page::RunContext;
use trawl_model::{StopReason, Terms, UrlRow};
use trawl_net::fetch::{self, CookieJar};
use trawl_plan::crawl::CrawlPlan;
use trawl_plan::{FetchPlan, OutputPlan, Pace, PagePlan};
use trawl_plugins::Registry;
use trawl_store::{CrawlCounts, CrawlState, PageLog, StoreError};

/// Rows of a stored frontier that are read at once.
const ROWS_AT_ONCE: u32 = 10_000;

/// How long a page may wait for its turn at its host without losing time of its own: a host that wants ten seconds between
/// requests has a turn for each of ten pages in flight.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a crawl begins with.
pub(super) struct CrawlTask {
    pub(super) job: Arc<Job>,
    pub(super) verb: String,
    pub(super) plan: Arc<CrawlPlan>,
    pub(super) registry: Arc<Registry>,
    pub(super) listener: Option<mpsc::Sender<Bytes>>,
    /// The slot of a crawl in the background under the Unlimited plan, as far as it has it already.
    pub(super) slot: Option<Arc<Slot>>,
}

/// Runs a crawl to its end, or until the server stops. Failures are the crawl's stop reason, and in the log.
pub(super) async fn run(crawls: &Crawls, beginning: CrawlTask) {
    let job = Arc::clone(&beginning.job);
    // The caller's answer ends only when the crawl's end is written down: whoever has read it to its end may ask how it ended.
    let _still_answering = beginning.listener.clone();
    let parts = &crawls.parts;
    let slot = beginning.slot.clone();
    let ending = Ending {
        id: job.id.clone(),
        account: job.account.clone(),
        verb: beginning.verb.clone(),
        plan: Arc::clone(&beginning.plan),
        registry: Arc::clone(&beginning.registry),
    };
    let ended = match wait_for_turn(crawls, &job, slot).await {
        Turn::Come(_place) => match crawl(crawls, beginning).await {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(crawl = job.id, error = %error, "a crawl failed");
                Ended::Stopped(StopReason::Failed)
            }
        },
        Turn::Cancelled => Ended::Stopped(StopReason::Cancelled),
        Turn::ServerStops => Ended::Paused,
    };
    let Ended::Stopped(stop) = ended else { return };
    // Before the end is written: after a crash in between it is done again.
    (parts.at_end)(crawls.clone(), ending).await;
    job.count(|tally| {
        tally.state = CrawlState::Ended;
        tally.stop = Some(stop);
    });
    if let Err(error) = parts
        .store
        .end_crawl(&job.id, stop, parts.clock.now())
        .await
    {
        tracing::error!(crawl = job.id, error = %error, "a crawl's end could not be written");
    }
}

/// What a crawl in the background holds while it runs.
struct CrawlPermit {
    _permit: Option<OwnedSemaphorePermit>,
    _slot: Option<Arc<Slot>>,
}

enum Turn {
    /// The place is held while the crawl runs.
    Come(Option<CrawlPermit>),
    Cancelled,
    ServerStops,
}

/// Background crawls wait for a place; a streaming one has a caller who waits, and goes at once.
async fn wait_for_turn(crawls: &Crawls, job: &Job, slot: Option<Arc<Slot>>) -> Turn {
    if !job.in_background {
        return Turn::Come(None);
    }
    let place = async {
        // Its account's turn first: a place is not kept from others meanwhile.
        let slot = match (job.terms, slot) {
            (Terms::Unlimited, None) => {
                let billing = &crawls.parts.billing;
                Some(Arc::new(billing.slot_when_free(&job.account).await))
            }
            (_, slot) => slot,
        };
        CrawlPermit {
            _permit: Arc::clone(&crawls.places).acquire_owned().await.ok(),
            _slot: slot,
        }
    };
    tokio::select! {
        place = place => Turn::Come(Some(place)),
        () = job.cancel.cancelled() => Turn::Cancelled,
        () = crawls.parts.stop.cancelled() => Turn::ServerStops,
    }
}

async fn crawl(crawls: &Crawls, beginning: CrawlTask) -> Result<Ended, StoreError> {
    let CrawlTask {
        job,
        verb: _,
        plan,
        registry,
        listener,
        slot: _,
    } = beginning;
    let parts = &crawls.parts;
    let tariff = match job.terms {
        Terms::PayAsYouGo => parts.tariff,
        Terms::Unlimited => Tariff::FlatRate,
    };
    parts
        .store
        .set_crawl_state(&job.id, CrawlState::Running)
        .await?;
    job.count(|tally| tally.state = CrawlState::Running);
    let tally = job.tally();
    // By the ledger: what was paid and could not be written down counts too, so that no restart passes the ceiling.
    let spent = parts.billing.spent_by_run(&job.id).await?;
    let purse = parts
        .billing
        .purse(&job.account, &job.id, plan.ceiling, spent);
    let Ok(purse) = purse else {
        return Ok(Ended::Stopped(StopReason::Balance));
    };
    let Ok(seed) = plan.seed.url.clone() else {
        // A seed that is no address was refused when the crawl was asked for.
        return Ok(Ended::Stopped(StopReason::Failed));
    };
    let (frontier, was_begun) = frontier(crawls, &job, &plan).await?;
    let frontier = Arc::new(Mutex::new(frontier));
    let log = open_log(crawls, &job).await?;
    let counts = CrawlCounts {
        n_pages: tally.n_pages,
        n_failed: tally.n_failed,
        n_bytes: tally.n_bytes,
        spent: tally.spent,
    };
    let events = plan.webhook.clone().map(|webhook| {
        let webhooks = Arc::clone(&parts.webhooks);
        Arc::new(Events::new(
            webhooks,
            webhook,
            Arc::clone(&job),
            parts.billing.clone(),
        ))
    });
    let recorder = Recorder::start(
        Arc::clone(&job),
        Arc::clone(&frontier),
        Arc::clone(&parts.store),
        log,
        events.clone(),
        counts,
    );
    let obeys_robots = plan.seed.fetch.respect_robots;
    let robots = obeys_robots.then(|| Arc::clone(&parts.robots));
    let gate = Arc::new(Gate::new(Arc::clone(&frontier), robots.clone()));
    let page = page_plan(&plan, &seed, &gate);
    let owner = job.account.to_string();
    let run = Arc::new(Run {
        elsewhere: Arc::new(FetchPlan {
            headers: Vec::new(),
            cookies: Vec::new(),
            ..(*page.fetch).clone()
        }),
        page,
        job,
        seed,
        rooms: Arc::clone(&parts.rooms),
        context: RunContext {
            registry,
            jar: Arc::new(CookieJar::new()),
            owner,
            tariff,
        },
        billing: parts.billing.clone(),
        purse,
        is_resumed: tally.n_pages > 0 || was_begun,
        tariff,
        frontier,
        robots,
        gate,
        recorder: recorder.sender(),
        listener,
        events: events.clone(),
        clock: parts.clock.clone(),
        write_entry: parts.write_entry,
        moved: Notify::new(),
        plan: Arc::clone(&plan),
    });
    let sitemaps = plan.sitemap.is_used.then(|| Arc::clone(&parts.sitemaps));
    let server_stops = match run.listener.is_some() {
        true => &parts.last_call,
        false => &parts.stop,
    };
    let ended = run::drive(&run, sitemaps, server_stops).await;
    run.purse.close();
    drop(run);
    recorder.finish().await;
    if let (Some(events), Ended::Stopped(_)) = (events, ended) {
        events.ended(&plan.seed.requested).await;
    }
    Ok(ended)
}

/// The plan of every page: the seed's, with the crawl's gate in front of redirects, and links for the frontier.
fn page_plan(plan: &CrawlPlan, seed: &Url, gate: &Arc<Gate>) -> PagePlan {
    let mut headers = plan.seed.fetch.headers.clone();
    // The frontier's addresses have no password; the seed's is one for its whole origin.
    headers.extend(fetch::basic_authorization(seed).map(|value| (AUTHORIZATION, value)));
    let fetch = FetchPlan {
        headers,
        // The crawl asks robots.txt itself, before it leases money.
        respect_robots: false,
        gate: Some(Arc::clone(gate) as _),
        pace: Pace {
            delay: plan.delay,
            patience: PATIENCE,
        },
        ..(*plan.seed.fetch).clone()
    };
    let output = OutputPlan {
        discover: !plan.sitemap.only,
        headers: plan.seed.output.headers
            || plan
                .webhook
                .as_ref()
                .is_some_and(|webhook| webhook.on_find_metadata),
        ..(*plan.seed.output).clone()
    };
    PagePlan {
        fetch: Arc::new(fetch),
        output: Arc::new(output),
        ..plan.seed.clone()
    }
}

/// The frontier as it is stored and `true`, or a new one with the seed.
async fn frontier(
    crawls: &Crawls,
    job: &Job,
    plan: &Arc<CrawlPlan>,
) -> Result<(Frontier, bool), StoreError> {
    let mut rows: Vec<UrlRow> = Vec::new();
    if job.in_background {
        loop {
            let after = rows.last().map(|row| row.n);
            let more = crawls
                .parts
                .store
                .crawl_urls(&job.id, after, ROWS_AT_ONCE)
                .await?;
            if more.is_empty() {
                break;
            }
            rows.extend(more);
        }
    }
    let was_begun = !rows.is_empty();
    let plan = Arc::clone(plan);
    let begin = move || match was_begun {
        true => Frontier::restore(plan, rows.into_iter()),
        false => {
            let mut frontier = Frontier::new(plan);
            frontier.add_seed();
            frontier
        }
    };
    // A text may name a hundred thousand addresses.
    let frontier = tokio::task::spawn_blocking(begin)
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    Ok((frontier, was_begun))
}

async fn open_log(crawls: &Crawls, job: &Job) -> Result<PageLog, StoreError> {
    let last = crawls.parts.store.last_crawl_page(&job.id).await?;
    let last = last.map(|page| page.place);
    let (data, id) = (crawls.parts.data.clone(), job.id.clone());
    tokio::task::spawn_blocking(move || PageLog::continue_after(&data, &id, last.as_ref()))
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}
