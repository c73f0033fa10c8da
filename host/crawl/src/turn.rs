//! Waiting for a background crawl's turn: a slot of its account, and a permit of the server.

use std::sync::Arc;

use trawl_billing::{Billing, Slot};
use trawl_model::Terms;

use super::job::Job;
use super::limits::{RunningCrawls, TurnPermit};
use super::parts::CrawlsParts;

/// What a background crawl holds while it runs.
pub(super) struct CrawlPermit {
    _permit: TurnPermit,
    _slot: Option<Arc<Slot>>,
}

/// How the wait ended.
pub(super) enum TurnOutcome<N> {
    /// The crawl may run, holding this permit, and has what it needs; a streaming crawl needs no
    /// permit.
    Granted(Option<CrawlPermit>, N),
    /// The caller cancelled the crawl.
    Cancelled,
    /// The plan that it would run on has ended.
    PlanEnded,
    /// The server stops.
    ServerStops,
}

/// Waits for a permit, and for what else the crawl needs. A streaming crawl has a caller who waits,
/// so it runs at once.
pub(super) async fn wait<N>(
    parts: &CrawlsParts,
    turns: &RunningCrawls,
    job: &Job,
    slot: Option<Arc<Slot>>,
    needed: impl Future<Output = N>,
) -> TurnOutcome<N> {
    if !job.in_background {
        return TurnOutcome::Granted(None, needed.await);
    }
    let permit = async {
        // The slot first, so that no permit is held while waiting for it.
        let slot = match (job.terms, slot) {
            (Terms::Unlimited, None) => {
                let slot = parts.billing.slot_when_free(&job.account).await;
                Some(Arc::new(slot))
            }
            (_, slot) => slot,
        };
        let (permit, needed) = turns.take(&job.account, needed).await;
        let permit = CrawlPermit {
            _permit: permit,
            _slot: slot,
        };
        (permit, needed)
    };
    tokio::select! {
        // In this order: a cancelled crawl does not continue after a restart.
        biased;
        () = job.cancel.cancelled() => TurnOutcome::Cancelled,
        () = parts.stop.cancelled() => TurnOutcome::ServerStops,
        () = plan_ended(&parts.billing, job) => TurnOutcome::PlanEnded,
        (permit, needed) = permit => TurnOutcome::Granted(Some(permit), needed),
    }
}

/// Resolves when the plan that a crawl runs on has ended; never for one that is paid by the page.
pub(super) async fn plan_ended(billing: &Billing, job: &Job) {
    match job.terms {
        Terms::Unlimited => billing.plan_ended(&job.account).await,
        Terms::PayAsYouGo => std::future::pending().await,
    }
}
