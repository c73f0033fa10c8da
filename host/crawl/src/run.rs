//! What the pages of one crawl share.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use trawl_billing::RunBudget;
use trawl_engine::page::{Payer, RunContext};
use trawl_model::StopReason;
use trawl_model::clock::Clock;
use trawl_net::robots::Robots;
use trawl_plan::crawl::CrawlPlan;
use trawl_store::Disk;

use super::batch::Recorded;
use super::events::Events;
use super::frontier::Frontier;
use super::gate::{Gate, PageGate};
use super::job::Job;
use super::lock;
use super::page_plans::PagePlans;
use super::paid::PaidPages;
use super::screen::Screen;

/// What the pages of one crawl share.
pub(super) struct CrawlRun {
    pub(super) job: Arc<Job>,
    pub(super) plan: Arc<CrawlPlan>,
    /// The plans of its pages.
    pub(super) pages: PagePlans,
    pub(super) context: RunContext,
    pub(super) money: Money,
    pub(super) frontier: Arc<Mutex<Frontier>>,
    /// `None` when robots.txt is not obeyed.
    pub(super) robots: Option<Arc<Robots>>,
    pub(super) gate: Arc<Gate>,
    pub(super) screen: Arc<Screen>,
    pub(super) receivers: Receivers,
    pub(super) clock: Clock,
    /// Notified when the frontier changes.
    pub(super) frontier_changed: Arc<Notify>,
    /// Cancelled when the crawl is stopped by its time, its caller, the server or the end of its
    /// plan.
    pub(super) stopped: CancellationToken,
    /// Cancelled when the crawl is paused or parked: what is not fetched or not paid then is
    /// fetched when it continues. Never of a streaming crawl.
    pub(super) paused: CancellationToken,
    /// Nothing is leased while it has too little space.
    pub(super) disk: Arc<Disk>,
}

/// What pays for the pages of a crawl.
pub(super) struct Money {
    pub(super) payer: Payer,
    pub(super) budget: RunBudget,
    /// What an earlier process charged, if it started the crawl: a page may have been charged and
    /// not delivered.
    pub(super) paid: Option<Arc<PaidPages>>,
    /// Pages in a row that could not be paid.
    pub(super) refused_in_a_row: AtomicU32,
}

/// What gets the pages of a crawl.
pub(super) struct Receivers {
    pub(super) recorder: mpsc::Sender<Recorded>,
    /// Receives the entries of a streaming crawl.
    pub(super) listener: Option<mpsc::Sender<Bytes>>,
    /// Builds the events for the caller's webhook.
    pub(super) events: Option<Arc<Events>>,
}

impl CrawlRun {
    /// Leases nothing more. Pages that were requested finish. If the crawl must end soon, at its
    /// timeout, a cancellation, a shutdown or the end of its plan, those that wait for their turn
    /// give their leases back, and those that wait for money before their charge have failed.
    pub(super) fn stop(&self, reason: StopReason) {
        lock(&self.frontier).stop(reason);
        if matches!(
            reason,
            StopReason::Timeout
                | StopReason::Cancelled
                | StopReason::ServerStopped
                | StopReason::PlanEnded
        ) {
            self.stopped.cancel();
            self.money.budget.end_waits();
        }
        self.frontier_changed.notify_one();
    }

    /// Waits until the crawl is stopped, paused or parked while this page waits for its turn.
    pub(super) async fn gives_back(&self, page: &PageGate) {
        tokio::select! {
            () = self.stopped.cancelled() => {}
            () = self.paused.cancelled() => {}
        }
        if page.is_sent() {
            std::future::pending::<()>().await;
        }
    }
}
