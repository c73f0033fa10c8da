//! One page of a crawl: robots.txt, reservation, fetch, links, charge, delivery.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use url::Url;

use trawl_billing::{FundsError, Reservation, Shortage};
use trawl_engine::page;
use trawl_model::failure::status;
use trawl_model::outcome::PageOutcome;
use trawl_model::{Charge, Discovered, Nanodollars, PageFailure, SkipReason, StopReason};
use trawl_plan::{FetchPlan, Pace, PagePlan};

use super::frontier::Leased;
use super::lock;
use super::recorder::Recorded;
use super::run::Run;

/// How long a page waits for money that other pages have reserved, and for room in the ledger's
/// queue.
const FUNDS_TIME_MAX: Duration = Duration::from_secs(60);
/// Delay before a reservation is retried when the ledger's queue is full.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// Most bytes of a failed page's error in lists; its entry has the whole error.
const ERROR_BYTES_MAX: usize = 512;
/// Hexadecimal digits of a page's id: 128 bits.
const PAGE_ID_CHARS: usize = 32;

/// The lease of a page in flight. Dropping it gives the URL back, even when the task is aborted.
struct FrontierLease<'a> {
    run: &'a Run,
    n: u32,
    is_open: bool,
}

impl<'a> FrontierLease<'a> {
    fn complete(mut self, found: &Discovered) {
        self.is_open = false;
        lock(&self.run.frontier).complete(self.n, found, self.run.robots.is_some());
        self.run.frontier_changed.notify_one();
    }

    fn skip(mut self, reason: SkipReason) {
        self.is_open = false;
        lock(&self.run.frontier).skip(self.n, reason);
        self.run.frontier_changed.notify_one();
    }
}

impl Drop for FrontierLease<'_> {
    fn drop(&mut self) {
        if self.is_open {
            lock(&self.run.frontier).skip(self.n, SkipReason::Stopped);
            self.run.frontier_changed.notify_one();
        }
    }
}

/// Takes one page from its URL to the caller. The lease ends as soon as the page's links are known;
/// the charge and the delivery overlap with the next pages.
pub(super) async fn crawl(run: Arc<Run>, leased: Leased) {
    let lease = FrontierLease {
        run: &run,
        n: leased.n,
        is_open: true,
    };
    let mut plan = PagePlan {
        requested: leased.url.to_string(),
        url: leased.url.clone(),
        ..run.page.clone()
    };
    if leased.url.origin() != run.seed.origin() {
        plan.fetch = Arc::clone(&run.cross_origin);
    }
    if let Some(robots) = &run.robots {
        let verdict = robots.verdict(&leased.url).await;
        if let Some(failure) = verdict.refusal(&leased.url) {
            return refused(lease, &leased, SkipReason::Robots, failure).await;
        }
        slow_down(&mut plan, verdict.crawl_delay);
    }
    let page_id = page_id(&leased.url);
    if run.is_resumed
        && let Ok(Some(charge)) = run.billing.charged(&run.job.id, &page_id).await
    {
        return refetch_paid(lease, &plan, leased.n, charge).await;
    }
    let reservation = match reserve(&run, &plan, &page_id).await {
        Ok(reservation) => reservation,
        Err(error) => {
            lease.skip(SkipReason::Spend);
            return out_of_funds(&run, error);
        }
    };
    run.gate.enter(leased.n, &leased.url);
    let mut produced = page::produce(&run.context, &plan, reservation.ceiling()).await;
    if let Some(reason) = run.gate.leave(&leased.url) {
        reservation.void(reason.name());
        let failure = PageFailure::new(
            status::UNREACHABLE_OR_REFUSED,
            format!(
                "the page redirects to a URL that this crawl skips: {}",
                reason.name()
            ),
        );
        return refused(lease, &leased, reason, failure).await;
    }
    let found = produced.outcome.discovered.take().unwrap_or_default();
    lease.complete(&found);
    let (shortage, was_good) = (reservation.shortage(), produced.outcome.error.is_none());
    let n_bytes = produced.usage.content_bytes;
    let outcome = page::settle(reservation, &run.context.tariff, produced).await;
    if was_good && outcome.error.is_some() {
        // A good page that could not be charged. If the reservation was short, the money has run
        // out.
        match shortage {
            Some(Shortage::Ceiling) => run.stop(StopReason::Spend),
            Some(Shortage::Balance) => run.stop(StopReason::Balance),
            None => {}
        }
    }
    deliver(&run, leased.n, n_bytes, outcome).await;
}

/// Skips a page that must not be fetched. Only a seed gets an entry, with the reason. Decision D44.
async fn refused(
    lease: FrontierLease<'_>,
    leased: &Leased,
    reason: SkipReason,
    failure: PageFailure,
) {
    let run = lease.run;
    if !leased.is_seed {
        return lease.skip(reason);
    }
    let outcome = PageOutcome {
        url: leased.url.to_string(),
        status: failure.status,
        error: Some(failure.message),
        ..PageOutcome::default()
    };
    lease.complete(&Discovered::default());
    deliver(run, leased.n, 0, outcome).await;
}

/// Fetches a page again, free of charge, that an earlier process charged and did not deliver. Its
/// entry has the original charge.
async fn refetch_paid(lease: FrontierLease<'_>, plan: &PagePlan, n: u32, charge: Charge) {
    let run = lease.run;
    run.gate.enter(n, &plan.url);
    let produced = page::produce(&run.context, plan, plan.ceiling).await;
    run.gate.leave(&plan.url);
    let n_bytes = produced.usage.content_bytes;
    let mut outcome = PageOutcome {
        charge,
        ..produced.outcome
    };
    let found = outcome.discovered.take().unwrap_or_default();
    lease.complete(&found);
    deliver(run, n, n_bytes, outcome).await;
}

/// An error, truncated for lists.
fn truncated(error: &str) -> String {
    error[..error.floor_char_boundary(ERROR_BYTES_MAX)].to_owned()
}

/// The id of a page in its crawl; the same after a restart.
fn page_id(url: &Url) -> String {
    let hash = blake3::hash(url.as_str().as_bytes()).to_hex();
    hash[..PAGE_ID_CHARS].to_owned()
}

/// Applies the crawl delay of robots.txt when it is longer than the crawl's own.
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

/// Reserves the page's maximum cost; waits while pages in flight have reserved everything that is
/// left.
async fn reserve(run: &Run, plan: &PagePlan, page_id: &str) -> Result<Reservation, FundsError> {
    let ceiling = page::ceiling(&run.context, plan);
    let deadline = Instant::now() + FUNDS_TIME_MAX;
    loop {
        let reserved = run
            .budget
            .reserve(ceiling, &plan.requested, page_id, deadline.into())
            .await;
        match reserved {
            Err(FundsError::Busy) if Instant::now() < deadline => {
                tokio::time::sleep(RETRY_DELAY).await;
            }
            result => return result,
        }
    }
}

/// Ends the crawl because no page can be paid any more.
fn out_of_funds(run: &Run, error: FundsError) {
    let stop = match error {
        FundsError::CeilingReached => StopReason::Spend,
        FundsError::Empty | FundsError::AllHeld => StopReason::Balance,
        FundsError::UnknownAccount | FundsError::Busy => StopReason::Failed,
    };
    run.stop(stop);
}

/// Passes a page on to the recorder and to the caller of a streaming crawl.
async fn deliver(run: &Run, n: u32, n_bytes: u64, mut outcome: PageOutcome) {
    // Headers that only the webhook requires are not part of the entry.
    let headers = if run.plan.seed.output.headers {
        outcome.headers.clone()
    } else {
        outcome.headers.take()
    };
    let mut entry = Vec::new();
    trawl_wire::write_entry(&outcome, &mut entry);
    let entry = Bytes::from(entry);
    let is_failed = outcome.error.is_some();
    let charge = if is_failed {
        Nanodollars::ZERO
    } else {
        outcome.charge.total()
    };
    run.job.update(|progress| {
        progress.n_pages += 1;
        progress.n_failed += u64::from(is_failed);
        progress.n_bytes += n_bytes;
        progress.spent += charge;
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
        error: outcome.error.as_deref().map(truncated),
        entry: entry.clone(),
        events: events.unwrap_or_default(),
    };
    // The recorder is gone only after the store failed repeatedly; the caller still gets the pages
    // that were charged.
    let _gone = run.recorder.send(recorded).await;
    if let Some(listener) = &run.listener {
        // The loop notices when the caller hangs up.
        let _gone = listener.send(entry).await;
    }
}
