//! One crawl from its turn to its end: restores its state, assembles the run and drives it.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use trawl_billing::{Payment, RunBudget, Slot, Tariff};
use trawl_engine::page::{Payer, RunContext};
use trawl_model::{RequestTrace, StopReason, Terms};
use trawl_plan::crawl::CrawlPlan;
use trawl_store::{CrawlState, StoreError};
use trawl_wire::FinalEntry;

use super::batch::Sinks;
use super::drive::{self, Ended};
use super::events::Events;
use super::frontier::Frontier;
use super::gate::Gate;
use super::job::Job;
use super::limits::RunningCrawls;
use super::page_plans::PagePlans;
use super::paid::PaidPages;
use super::parts::CrawlsParts;
use super::planning::{PlanSource, Planner, Ready};
use super::recorder::{Recorder, Target};
use super::restore;
use super::run::{CrawlRun, Money, Receivers};
use super::screen::Screen;
use super::turn::{self, TurnOutcome};

/// A crawl to run.
pub(super) struct CrawlTask {
    pub(super) job: Arc<Job>,
    /// `crawl`, `links` or the name of a pipeline.
    pub(super) verb: String,
    pub(super) source: PlanSource,
    pub(super) listener: Option<mpsc::Sender<Bytes>>,
    /// The slot of a background crawl under the Unlimited plan, if it has one already.
    pub(super) slot: Option<Arc<Slot>>,
    /// Under which name its pages are charged; by default its id.
    pub(super) payment: Option<Payment>,
}

/// Runs a crawl to its end, or until the server stops. Failures are logged and become the stop
/// reason. Returns its plan, too, if it was planned.
pub(super) async fn run(
    parts: &Arc<CrawlsParts>,
    turns: &RunningCrawls,
    planner: &Planner,
    task: CrawlTask,
) -> (Ended, Option<Ready>) {
    let job = Arc::clone(&task.job);
    let slot = task.slot;
    let cancelled = Ended::Stopped(StopReason::Cancelled);
    let source = task.source;
    let room = source.room(parts, &job);
    let (_permit, room) = match turn::wait(parts, turns, &job, slot, room).await {
        TurnOutcome::Granted(permit, room) => (permit, room),
        TurnOutcome::ServerStops => return (Ended::Paused, None),
        TurnOutcome::PlanEnded => return (Ended::Parked(StopReason::PlanEnded), None),
        // Its plan says what to do with the pages that it has from before a restart.
        TurnOutcome::Cancelled if job.progress().n_pages > 0 => {
            let plan = source.plan(parts, planner, (&*job, task.verb.as_str()), None);
            let planned = parts.stop.run_until_cancelled(plan).await;
            return (cancelled, planned.and_then(Result::ok));
        }
        TurnOutcome::Cancelled => return (cancelled, None),
    };
    let planned = source.plan(parts, planner, (&*job, task.verb.as_str()), room);
    let mut ready = tokio::select! {
        biased;
        () = job.cancel.cancelled(), if job.progress().n_pages == 0 => return (cancelled, None),
        () = parts.stop.cancelled(), if job.in_background => return (Ended::Paused, None),
        planned = planned => match planned {
            Ok(ready) => ready,
            Err(error) => {
                tracing::error!(crawl = job.id, error = %error, "a crawl cannot be planned");
                return (Ended::Stopped(StopReason::Failed), None);
            }
        },
    };
    let payment = task.payment.as_ref();
    let stream = task.listener.clone();
    let stream = stream.filter(|_| ready.plan.has_final_entry);
    let ended = crawl(parts, &job, task.listener, payment, &mut ready).await;
    let ended = ended.unwrap_or_else(|error| {
        tracing::error!(crawl = job.id, error = %error, "a crawl failed");
        Ended::Stopped(StopReason::Failed)
    });
    if let (Some(stream), Ended::Stopped(stop)) = (stream, ended) {
        end_stream(&job, stop, &stream).await;
    }
    (ended, Some(ready))
}

/// Sends why a crawl ended, after its pages.
async fn end_stream(job: &Job, stop: StopReason, stream: &mpsc::Sender<Bytes>) {
    let progress = job.progress();
    let pages = [progress.n_pages, progress.n_failed];
    let end = FinalEntry::new(&job.id, stop, pages, progress.spent);
    // Its caller may have hung up.
    let _gone = stream.send(end.json().into()).await;
}

async fn crawl(
    parts: &CrawlsParts,
    job: &Arc<Job>,
    listener: Option<mpsc::Sender<Bytes>>,
    payment: Option<&Payment>,
    ready: &mut Ready,
) -> Result<Ended, StoreError> {
    let goes_on = parts.store.set_crawl_state(&job.id, CrawlState::Running);
    if !goes_on.await? {
        // Its end was stored before this process knew it.
        return Ok(Ended::Stopped(StopReason::Cancelled));
    }
    job.update(|progress| progress.state = CrawlState::Running);
    let Some(restored) = restored(parts, job, payment, ready).await? else {
        return Ok(Ended::Stopped(StopReason::Balance));
    };
    let events = events(parts, job, &ready.plan);
    let recorder = recorder(parts, job, &restored).await?;
    let receivers = Receivers {
        recorder: recorder.sender(),
        listener,
        events: events.clone(),
    };
    let run = Arc::new(assembled(parts, job, ready, restored, receivers));
    let ended = drive(parts, run, recorder).await;
    if let (Some(events), Ended::Stopped(stop)) = (events, ended) {
        events.ended(&ready.plan.seed.requested, stop).await;
    }
    Ok(ended)
}

/// What a crawl continues with: its frontier, and what its pages may still cost.
struct Restored {
    frontier: Arc<Mutex<Frontier>>,
    frontier_changed: Arc<Notify>,
    budget: RunBudget,
    /// What an earlier process charged, if it started the crawl.
    paid: Option<Arc<PaidPages>>,
}

/// Restores a crawl, or begins a new one; `None` if there is no money for it.
async fn restored(
    parts: &CrawlsParts,
    job: &Arc<Job>,
    payment: Option<&Payment>,
    ready: &mut Ready,
) -> Result<Option<Restored>, StoreError> {
    let plan = Arc::clone(&ready.plan);
    // From the ledger: it includes pages that were charged and not stored, so a restart cannot
    // exceed the ceiling.
    let paid_as = payment.map_or_else(|| Arc::from(&*job.id), |payment| Arc::clone(&payment.name));
    let is_repeated = payment.is_some_and(|payment| payment.is_repeated);
    let spent = parts.billing.spent_by_run(&paid_as).await?;
    let money = (plan.ceiling, spent);
    let budget = parts
        .billing
        .payment_budget(job.spender(), &job.id, &paid_as, money);
    let Ok(budget) = budget else {
        return Ok(None);
    };
    // Of a crawl that was interrupted before it stored anything, too.
    let has_charged = parts.billing.has_charged(&paid_as).await?;
    let rows = ready.rows.take();
    let (frontier, is_stored) = restore::frontier(parts, job, &plan, rows).await?;
    let is_resumed = has_charged || is_stored || is_repeated;
    let paid = is_resumed.then(|| Arc::new(PaidPages::new(parts.billing.clone(), paid_as)));
    Ok(Some(Restored {
        frontier: Arc::new(Mutex::new(frontier)),
        frontier_changed: Arc::new(Notify::new()),
        budget,
        paid,
    }))
}

/// The run of a crawl.
fn assembled(
    parts: &CrawlsParts,
    job: &Arc<Job>,
    ready: &Ready,
    restored: Restored,
    receivers: Receivers,
) -> CrawlRun {
    let plan = Arc::clone(&ready.plan);
    let frontier = restored.frontier;
    let robots = plan.seed.fetch.respect_robots;
    let robots = robots.then(|| Arc::clone(&parts.robots));
    let screen = Arc::new(Screen::new(Arc::clone(&frontier), Arc::clone(&plan)));
    let gate = Gate::new(
        Arc::clone(&frontier),
        Arc::clone(&screen),
        restored.paid.clone(),
    );
    let gate = Arc::new(gate);
    CrawlRun {
        pages: PagePlans::new(&plan),
        context: context(parts, job, ready),
        money: Money {
            payer: payer(parts, job),
            budget: restored.budget,
            paid: restored.paid,
            refused_in_a_row: AtomicU32::new(0),
        },
        frontier,
        robots,
        gate,
        screen,
        receivers,
        clock: parts.clock.clone(),
        frontier_changed: restored.frontier_changed,
        stopped: CancellationToken::new(),
        paused: CancellationToken::new(),
        disk: Arc::clone(parts.storage.disk()),
        job: Arc::clone(job),
        plan,
    }
}

/// What the pages of a crawl are produced with.
fn context(parts: &CrawlsParts, job: &Job, ready: &Ready) -> RunContext {
    let tariff = match job.terms {
        Terms::PayAsYouGo => parts.tariff,
        Terms::Unlimited => Tariff::FlatRate,
    };
    RunContext::new(
        Arc::clone(&parts.engine),
        Arc::clone(&ready.registry),
        job.account.to_string(),
        tariff,
    )
    .with_trace(job.trace.and_then(RequestTrace::for_requests))
}

/// Who pays the pages of a crawl.
fn payer(parts: &CrawlsParts, job: &Job) -> Payer {
    Payer {
        billing: parts.billing.clone(),
        account: job.account.clone(),
        key: job.key,
        run_id: job.id.clone(),
    }
}

/// Crawls, and returns once every page is stored.
async fn drive(parts: &CrawlsParts, run: Arc<CrawlRun>, recorder: Recorder) -> Ended {
    let is_background = run.job.in_background;
    let sitemaps = run.plan.sitemap.is_used;
    let sitemaps = sitemaps.then(|| Arc::clone(&parts.sitemaps));
    let server_stops = if run.receivers.listener.is_some() {
        &parts.drain_deadline
    } else {
        &parts.stop
    };
    let ended = drive::drive(&run, sitemaps, server_stops).await;
    run.money.budget.close();
    // The recorder finishes once the run's sender is gone.
    drop(run);
    if recorder.finish().await {
        ended
    } else {
        end_of_unstored(ended, is_background && parts.stop.is_cancelled())
    }
}

/// How a crawl ended that is not stored completely. With `goes_on` the next process continues it,
/// and fetches again what is not stored, unless it was cancelled or has failed before.
fn end_of_unstored(ended: Ended, goes_on: bool) -> Ended {
    match ended {
        Ended::Stopped(StopReason::Cancelled | StopReason::Failed) if goes_on => ended,
        _ if goes_on => Ended::Paused,
        _ => Ended::Stopped(StopReason::Failed),
    }
}

fn events(parts: &CrawlsParts, job: &Arc<Job>, plan: &CrawlPlan) -> Option<Arc<Events>> {
    let webhook = plan.webhook.clone()?;
    let webhooks = Arc::clone(&parts.webhooks);
    let events = Events::new(webhooks, webhook, Arc::clone(job), parts.billing.clone());
    Some(Arc::new(events))
}

async fn recorder(
    parts: &CrawlsParts,
    job: &Arc<Job>,
    restored: &Restored,
) -> Result<Recorder, StoreError> {
    let log = restore::page_log(parts, job).await?;
    let target = Target {
        sinks: Sinks {
            store: Arc::clone(&parts.store),
            log,
            webhooks: Arc::clone(&parts.webhooks),
        },
        frontier_changed: Arc::clone(&restored.frontier_changed),
        storage: parts.storage.clone(),
        stop: parts.stop.clone(),
    };
    Ok(Recorder::start(
        Arc::clone(job),
        Arc::clone(&restored.frontier),
        target,
        job.progress().counts(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawl_that_is_not_stored_is_not_completed() {
        let stopped = Ended::Stopped;
        for (ended, goes_on, expected) in [
            (StopReason::Completed, false, stopped(StopReason::Failed)),
            (StopReason::Limit, false, stopped(StopReason::Failed)),
            (StopReason::Completed, true, Ended::Paused),
            (StopReason::Failed, true, stopped(StopReason::Failed)),
            (StopReason::Cancelled, true, stopped(StopReason::Cancelled)),
        ] {
            let end = end_of_unstored(Ended::Stopped(ended), goes_on);
            assert_eq!(end, expected, "{ended:?} {goes_on}");
        }
        assert_eq!(end_of_unstored(Ended::Paused, true), Ended::Paused);
    }
}
