//! One page of a crawl: may it be fetched, what does it cost, what does it link to, who gets it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use url::Url;

use super::frontier::Leased;
use super::lock;
use super::recorder::Recorded;
use super::run::Run;
use trawl_billing::{FundsError, Hold, Shortage};
use trawl_engine::page::{self, PageOutcome};
use trawl_model::failure::status;
use trawl_model::{Charge, Discovered, Nanodollars, PageFailure, SkipReason, StopReason};
use trawl_plan::{FetchPlan, Pace, PagePlan};

/// How long a page waits for money that other pages have set aside, and for room in the ledger.
const FUNDS_TIME_MAX: Duration = Duration::from_secs(60);
/// Pause before the ledger is asked for room again.
const BUSY_PAUSE: Duration = Duration::from_millis(50);

/// Longest reason of a failed page in lists, in bytes; its entry has all of it.
const ERROR_BYTES_MAX: usize = 512;
/// Hexadecimal digits of a page's name: 128 bits.
const PAGE_ID_CHARS: usize = 32;

/// The place of a page in flight. Whatever becomes of the task, the frontier hears of it.
struct FrontierLease<'a> {
    run: &'a Run,
    n: u32,
    is_open: bool,
}

impl<'a> FrontierLease<'a> {
    fn complete(mut self, found: &Discovered) {
        self.is_open = false;
        lock(&self.run.frontier).complete(self.n, found, self.run.robots.is_some());
        self.run.moved.notify_one();
    }

    fn skip(mut self, why: SkipReason) {
        self.is_open = false;
        lock(&self.run.frontier).skip(self.n, why);
        self.run.moved.notify_one();
    }
}

impl Drop for FrontierLease<'_> {
    fn drop(&mut self) {
        if self.is_open {
            lock(&self.run.frontier).skip(self.n, SkipReason::Stopped);
            self.run.moved.notify_one();
        }
    }
}

/// Takes one leased page from its address to the caller. The place is given back as soon as the page's links are known;
/// paying and delivering go on beside the next pages.
pub(super) async fn crawl(run: Arc<Run>, leased: Leased) {
    let place = FrontierLease {
        run: &run,
        n: leased.n,
        is_open: true,
    };
    let mut plan = PagePlan {
        requested: leased.url.to_string(),
        url: Ok(leased.url.clone()),
        ..run.page.clone()
    };
    if leased.url.origin() != run.seed.origin() {
        plan.fetch = Arc::clone(&run.elsewhere);
    }
    if let Some(robots) = &run.robots {
        let verdict = robots.verdict(&leased.url).await;
        if let Some(failure) = verdict.refusal(&leased.url) {
            return refused(place, &leased, SkipReason::Robots, failure).await;
        }
        slow_down(&mut plan, verdict.crawl_delay);
    }
    let page_id = page_id(&leased.url);
    if run.is_resumed
        && let Ok(Some(charge)) = run.billing.charged(&run.job.id, &page_id).await
    {
        return refetch_paid(place, &plan, leased.n, charge).await;
    }
    let hold = match hold(&run, &plan, &page_id).await {
        Ok(hold) => hold,
        Err(error) => {
            place.skip(SkipReason::Spend);
            return run.out_of_funds(error);
        }
    };
    run.gate.enter(leased.n, &leased.url);
    let (mut outcome, usage) = page::produce(&run.rooms, &run.context, &plan, hold.ceiling()).await;
    if let Some(why) = run.gate.leave(&leased.url) {
        hold.void(why.name());
        let failure = PageFailure::new(
            status::UNREACHABLE_OR_REFUSED,
            "the page redirects to where this crawl does not go",
        );
        return refused(place, &leased, why, failure).await;
    }
    let found = outcome.discovered.take().unwrap_or_default();
    place.complete(&found);
    let (shortage, was_good) = (hold.shortage(), outcome.error.is_none());
    let outcome = page::settle(hold, &run.tariff, usage, outcome).await;
    if was_good && outcome.error.is_some() {
        // A good page that could not be paid: with less set aside than it asked for, the money is at its end.
        match shortage {
            Some(Shortage::Ceiling) => run.stop(StopReason::Spend),
            Some(Shortage::Balance) => run.stop(StopReason::Balance),
            None => {}
        }
    }
    deliver(&run, leased.n, usage.content_bytes, outcome).await;
}

/// A page that may not be fetched is no entry, unless it is the seed: then the caller hears why
/// there is nothing. Decision D44.
async fn refused(place: FrontierLease<'_>, leased: &Leased, why: SkipReason, failure: PageFailure) {
    let run = place.run;
    if !leased.is_seed {
        return place.skip(why);
    }
    let outcome = PageOutcome {
        url: leased.url.to_string(),
        status: failure.status,
        error: Some(failure.message),
        ..PageOutcome::default()
    };
    place.complete(&Discovered::default());
    deliver(run, leased.n, 0, outcome).await;
}

/// A page that an earlier process was paid for and could not show: it is fetched again for nothing, and stands in the books with
/// what it cost then.
async fn refetch_paid(place: FrontierLease<'_>, plan: &PagePlan, n: u32, charge: Charge) {
    let run = place.run;
    let url = plan.url.clone();
    if let Ok(url) = &url {
        run.gate.enter(n, url);
    }
    let (mut outcome, usage) = page::produce(&run.rooms, &run.context, plan, plan.ceiling).await;
    if let Ok(url) = &url {
        run.gate.leave(url);
    }
    let found = outcome.discovered.take().unwrap_or_default();
    place.complete(&found);
    let outcome = PageOutcome { charge, ..outcome };
    deliver(run, n, usage.content_bytes, outcome).await;
}

/// The beginning of a reason.
fn shortened(error: &str) -> String {
    error[..error.floor_char_boundary(ERROR_BYTES_MAX)].to_owned()
}

/// The name of a page in its crawl, for ever.
fn page_id(url: &Url) -> String {
    let hash = blake3::hash(url.as_str().as_bytes()).to_hex();
    hash[..PAGE_ID_CHARS].to_owned()
}

/// Keeps the pace that robots.txt asks for, when it is slower than the crawl's own.
fn slow_down(plan: &mut PagePlan, crawl_delay: Option<Duration>) {
    let Some(delay) = crawl_delay.filter(|delay| *delay > plan.fetch.pace.delay) else {
        return;
    };
    let pace = Pace {
        delay,
        ..plan.fetch.pace
    };
    plan.fetch = Arc::new(FetchPlan {
        pace,
        ..(*plan.fetch).clone()
    });
}

/// Sets the page's ceiling aside, waiting while pages in flight have all that is left.
async fn hold(run: &Run, plan: &PagePlan, page_id: &str) -> Result<Hold, FundsError> {
    let ceiling = page::ceiling(&run.rooms, &run.context.registry, plan, &run.tariff);
    let deadline = Instant::now() + FUNDS_TIME_MAX;
    loop {
        let held = run
            .purse
            .hold(ceiling, &plan.requested, page_id, deadline.into())
            .await;
        match held {
            Err(FundsError::Busy) if Instant::now() < deadline => {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            decided => return decided,
        }
    }
}

impl Run {
    /// The crawl ends, because nothing is left to pay its pages with.
    fn out_of_funds(&self, error: FundsError) {
        let stop = match error {
            FundsError::CeilingReached => StopReason::Spend,
            FundsError::Empty | FundsError::AllHeld => StopReason::Balance,
            FundsError::UnknownAccount | FundsError::Busy => StopReason::Failed,
        };
        self.stop(stop);
    }
}

/// Hands a page on: to the store, and to who listens.
async fn deliver(run: &Run, n: u32, n_bytes: u64, mut outcome: PageOutcome) {
    // Headers that only the webhook asked for are no part of the entry.
    let headers = match run.plan.seed.output.headers {
        true => outcome.headers.clone(),
        false => outcome.headers.take(),
    };
    let mut entry = Vec::new();
    (run.write_entry)(&outcome, &mut entry);
    let entry = Bytes::from(entry);
    let is_failed = outcome.error.is_some();
    let charge = match is_failed {
        true => Nanodollars::ZERO,
        false => outcome.charge.total(),
    };
    run.job.count(|tally| {
        tally.n_pages += 1;
        tally.n_failed += u64::from(is_failed);
        tally.n_bytes += n_bytes;
        tally.spent += charge;
    });
    let events = run
        .events
        .as_ref()
        .map(|events| events.page(n, &outcome, headers.as_deref().unwrap_or_default(), &entry));
    let recorded = Recorded {
        n,
        status: outcome.status,
        is_failed,
        n_bytes,
        charge,
        at: run.clock.now(),
        error: outcome.error.as_deref().map(shortened),
        entry: entry.clone(),
        events: events.unwrap_or_default(),
    };
    // The recorder is gone only when the store failed for long; who listens still gets what was paid.
    let _gone = run.recorder.send(recorded).await;
    if let Some(listener) = &run.listener {
        // Who hung up is noticed by the run itself.
        let _gone = listener.send(entry).await;
    }
}
