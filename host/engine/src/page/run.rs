//! The five steps of one page.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::Instrument;
use tracing::field::Empty;

use trawl_billing::Tariff;
use trawl_document::HeadStatements;
use trawl_model::memory::{MemoryKind, MemoryLease, PageMemory};
use trawl_model::outcome::PageOutcome;
use trawl_model::timing::{Timeline, timed};
use trawl_model::{Cause, Nanodollars, PageFailure, Usage, timing};
use trawl_net::egress::{on_behalf_of, traced};
use trawl_plan::{OutputPlan, PagePlan, RefusedPage};

use super::analysis::{self, AnalysedPage};
use super::compose::{compose, handed_in, site_error};
use super::context::RunContext;
use super::effects::name_ignored;
use super::extraction::extract;
use super::settle::{OnPaid, Produced, count, settle};
use crate::extract::{CpuTime, Extraction, Input, Outputs};
use crate::page_budget::{Loader, PageBudget, PaidBy};
use crate::routing::{Admission, FailedBy, NotServed, Served, VisitContext};

/// Reserved before a page that the caller handed in is transformed: more than nearly all need.
const TRANSFORM_CPU: Duration = Duration::from_secs(1);

/// The name of the steps of a page in its metadata, with `return_timing`.
const TIMING: &str = "timing";

/// Decision D102: Unlimited pages use the caller's own keys only.
fn may_pool(tariff: &Tariff) -> bool {
    matches!(tariff, Tariff::PayAsYouGo(_))
}

/// Runs one page from plan to outcome. Every failure is part of the outcome, at no charge.
pub async fn run(run: &RunContext, paid_by: PaidBy<'_>, plan: &PagePlan) -> PageOutcome {
    let admission = Arc::new(run.admission(plan));
    let produced = produce_paid(run, paid_by, plan, &admission, || true);
    let (page_budget, produced) = produced.await;
    let began = Instant::now();
    let mut outcome = settle(page_budget, produced).await;
    if plan.output.timing {
        note_settled(&mut outcome, began.elapsed());
    }
    outcome
}

/// Adds the last step to the timing of a page: what came before it is the page's own time.
fn note_settled(outcome: &mut PageOutcome, took: Duration) {
    let start = outcome.elapsed.unwrap_or_default();
    let metadata = outcome.fields.metadata.as_mut();
    let steps = metadata.and_then(|metadata| metadata.get_mut(TIMING)?.as_array_mut());
    if let Some(steps) = steps {
        steps.push(timing::entry("settle", start, took));
    }
}

/// [`produce`] with a budget of its own. A page that could not be paid because of other pages in
/// flight is tried once more, with all that it needs reserved from the start, unless that would
/// take too long, or `may_retry` does not allow it.
pub async fn produce_paid<'a>(
    run: &RunContext,
    paid_by: PaidBy<'a>,
    plan: &'a PagePlan,
    admission: &Arc<Admission>,
    may_retry: impl Fn() -> bool,
) -> (PageBudget<'a>, Produced) {
    let new_budget = || run.page_budget(paid_by, plan);
    let wait_max = admission_wait_max(plan);
    let in_flight = match run.engine.in_flight.admit(&run.owner, wait_max).await {
        Ok(in_flight) => in_flight,
        Err(failure) => {
            let produced = not_served(plan, wait_max, failure.into());
            return (new_budget(), produced);
        }
    };
    let started = Instant::now();
    let mut least = Nanodollars::ZERO;
    loop {
        let page_budget = new_budget().expecting(least).admitted(in_flight.clone());
        let produced = produce(run, plan, admission, &page_budget).await;
        let is_first = least == Nanodollars::ZERO;
        let needed = match &produced.failed_by {
            Some(FailedBy::Funds(unfunded)) => page_budget.retry_minimum(unfunded),
            _ => None,
        };
        match (needed, &produced.outcome.error) {
            (Some(needed), Some(error))
                if is_first && started.elapsed() < plan.fetch.timeout / 2 && may_retry() =>
            {
                least = needed;
                page_budget.void(&error.message);
            }
            _ => return (page_budget, produced),
        }
    }
}

/// [`produce`] of a page that is not billed. It is one of the pages in flight meanwhile. Decision
/// D294.
pub async fn produce_unbilled(
    run: &RunContext,
    plan: &PagePlan,
    admission: &Arc<Admission>,
) -> Produced {
    let wait_max = admission_wait_max(plan);
    match run.engine.in_flight.admit(&run.owner, wait_max).await {
        Ok(in_flight) => {
            let page_budget = PageBudget::unbilled(plan.ceiling).admitted(in_flight);
            produce(run, plan, admission, &page_budget).await
        }
        Err(failure) => not_served(plan, wait_max, failure.into()),
    }
}

/// How long a page waits until it is one of the pages in flight.
fn admission_wait_max(plan: &PagePlan) -> Duration {
    plan.fetch.timeout + plan.fetch.pace.patience
}

/// The outcome of a page whose URL can never be fetched. It costs nothing, so nothing is reserved.
pub fn refused(page: RefusedPage) -> PageOutcome {
    count("failed", &Usage::default());
    PageOutcome::failed(page.requested, page.failure)
}

/// The outcome of a page that did not begin before the Unlimited plan ended.
pub fn plan_ended(plan: &PagePlan) -> PageOutcome {
    count("failed", &Usage::default());
    let message = "the Unlimited plan ended before this page began";
    PageOutcome::failed(plan.url.as_str(), PageFailure::new(Cause::Funds, message))
}

/// The outcome of a page of a repeated request, while the ledger does not say whether an earlier
/// try was charged for it. It is not fetched: it could not be refunded if it failed.
pub fn charge_unknown(url: &str) -> PageOutcome {
    count("failed", &Usage::default());
    let message = "the ledger does not say whether an earlier try of this request was charged for this page: send the request again later, with another `Idempotency-Key`";
    PageOutcome::failed(url, PageFailure::new(Cause::Internal, message))
}

/// Serves and extracts one page without charging it: what [`run`] does before settling. The budget
/// reserves what the page costs; what it does not cover is not begun, and a page that it does not
/// cover in the end has failed.
pub async fn produce(
    run: &RunContext,
    plan: &PagePlan,
    admission: &Arc<Admission>,
    page_budget: &PageBudget<'_>,
) -> Produced {
    let visit = PageVisit {
        run,
        plan,
        admission,
        page_budget,
        memory: run.memory.page(),
        started: Instant::now(),
    };
    let host = plan.url.host_str().unwrap_or_default();
    let span = tracing::debug_span!("page", host, status = Empty, error = Empty);
    let timeline = plan.output.timing.then(Timeline::begin);
    let produced = visit.produce().instrument(span.clone());
    let produced = timed(timeline.clone(), traced(run.trace, produced));
    let mut produced = on_behalf_of(&run.owner, produced).await;
    span.record("status", i64::from(produced.outcome.status));
    if let Some(failure) = &produced.outcome.error {
        span.record("error", failure.cause.name());
    }
    if let Some(timeline) = timeline {
        let metadata = produced.outcome.fields.metadata.get_or_insert_default();
        metadata.insert(TIMING.to_owned(), timeline.to_json());
    }
    produced.within(span)
}

/// The result of a page that no route served, after this time.
fn not_served(plan: &PagePlan, elapsed: Duration, reason: NotServed) -> Produced {
    let mut outcome = PageOutcome {
        elapsed: Some(elapsed),
        ..PageOutcome::failed(plan.url.as_str(), reason.failure)
    };
    if !reason.provider_attempts.is_empty() {
        let metadata = outcome.fields.metadata.get_or_insert_default();
        let attempts = reason.provider_attempts.into_vec().into();
        metadata.insert("provider_attempts".to_owned(), attempts);
    }
    Produced::failed(outcome, reason.by)
}

/// One page on its way from its plan to its outcome.
struct PageVisit<'a> {
    run: &'a RunContext,
    plan: &'a PagePlan,
    admission: &'a Arc<Admission>,
    page_budget: &'a PageBudget<'a>,
    memory: PageMemory,
    started: Instant,
}

impl PageVisit<'_> {
    /// Serves and extracts the page.
    async fn produce(self) -> Produced {
        let mut served = match self.serve().await {
            Ok(served) => served,
            Err(reason) => return not_served(self.plan, self.started.elapsed(), reason),
        };
        if !has_failed(&served) {
            name_ignored(self.plan, &mut served);
        }
        let mut lease = self.memory.lease_for(MemoryKind::Outputs);
        let mut made = self.outputs(&mut served, &mut lease).await;
        if let Err(failure) = self
            .note_rights(&mut served, made.outputs.statements.as_deref())
            .await
        {
            let reason = NotServed::refused(failure);
            return not_served(self.plan, self.started.elapsed(), reason);
        }
        let mut usage = served.usage;
        usage.compute += made.cpu.parse;
        usage.transform += made.cpu.transform;
        let page = AnalysedPage {
            run: self.run,
            plan: self.plan,
            served: &served,
            page_budget: self.page_budget,
        };
        page.add_finding(&mut made.outputs, &mut usage).await;
        let fetched_by = served.fetched_by();
        let on_paid = OnPaid {
            page: served.cache.into_write(),
            outputs: made.write,
            provider: None,
        };
        let outcome = compose(
            &self.plan.output,
            served.page,
            made.outputs,
            served.metadata,
        );
        let outcome = PageOutcome {
            elapsed: Some(self.started.elapsed()),
            error: served.error.or(outcome.error),
            memory: Some(Arc::new(lease)),
            ..outcome
        };
        let mut produced = match self.cover(&outcome, &usage, fetched_by).await {
            Ok(()) => Produced::new(outcome, usage, on_paid).with_vendor(served.vendor),
            // A page that could not be paid was not served.
            Err(failure) => Produced::new(unpaid(outcome, failure), usage, on_paid),
        };
        if produced.outcome.error.is_some() {
            produced.failed_by = Some(FailedBy::of(self.page_budget).await);
        }
        produced
    }

    /// Gets the page from the first route that has it.
    async fn serve(&self) -> Result<Served, NotServed> {
        let run = self.run;
        let client = VisitContext {
            owner: &run.owner,
            jar: &run.jar,
            memory: &self.memory,
            page_budget: self.page_budget,
            registry: &run.registry,
            may_pool: may_pool(&run.tariff),
        };
        let routing = &run.engine.routing;
        routing.serve(self.plan, self.admission, client).await
    }

    /// Adds what is said about the use of a good page to its metadata, if that is read.
    ///
    /// # Errors
    /// The purpose of the page is refused.
    async fn note_rights(
        &self,
        served: &mut Served,
        head: Option<&HeadStatements>,
    ) -> Result<(), PageFailure> {
        if !self.plan.output.rights || has_failed(served) {
            return Ok(());
        }
        let rights = self.admission.rights(&served.page, head).await?;
        if !rights.is_empty() {
            served
                .metadata
                .insert("rights".to_owned(), rights.to_json());
        }
        Ok(())
    }

    /// Makes the outputs of the served page; they hold the lease.
    async fn outputs(&self, served: &mut Served, lease: &mut MemoryLease) -> Extraction {
        let output = match has_failed(served) {
            // A failed page costs nothing, so no analyst may spend money on it.
            true => analysis::without_analyst(&self.plan.output),
            false => Arc::clone(&self.plan.output),
        };
        let screenshot = served.screenshot.take();
        let deadline = self.started + served.waited + self.plan.time_max();
        let made = match lease.grow_to(served.page.body.len()).await {
            Ok(()) => extract(self.run, &output, served, screenshot, deadline).await,
            Err(error) => Extraction::failed(error.failure()),
        };
        lease.record(usize::try_from(made.outputs.bytes()).unwrap_or(usize::MAX));
        made
    }

    /// Reserves what a good page costs, and notes it for the expected cost of later pages if it was
    /// fetched.
    ///
    /// # Errors
    /// A cap does not cover it.
    async fn cover(
        &self,
        outcome: &PageOutcome,
        usage: &Usage,
        fetched_by: Option<Loader>,
    ) -> Result<(), PageFailure> {
        if outcome.error.is_some() {
            return Ok(());
        }
        if let Some(loader) = fetched_by {
            self.page_budget.note(loader, usage);
        }
        self.page_budget.reserve_for(usage).await.map(drop)
    }
}

/// Whether the page is a failed one whatever is made of it.
fn has_failed(served: &Served) -> bool {
    served.error.is_some() || site_error(served.page.status).is_some()
}

/// A page that could not be paid, without its content.
fn unpaid(outcome: PageOutcome, failure: PageFailure) -> PageOutcome {
    PageOutcome {
        url: outcome.url,
        status: outcome.status,
        elapsed: outcome.elapsed,
        redirects: outcome.redirects,
        error: Some(failure),
        discovered: outcome.discovered,
        ..PageOutcome::default()
    }
}

/// Makes outputs of a page that the caller handed in: [`run`] without serving. Nothing was
/// transferred, so only CPU time is billed.
pub async fn transform(
    run: &RunContext,
    paid_by: PaidBy<'_>,
    input: Input,
    plan: Arc<OutputPlan>,
    deadline: Instant,
) -> PageOutcome {
    let started = Instant::now();
    let url = input.url.to_string();
    let wait_max = deadline.saturating_duration_since(started);
    let page_budget = PageBudget::without_page(paid_by, run.tariff, &url, deadline);
    let page_budget = match run.engine.in_flight.admit(&run.owner, wait_max).await {
        Ok(in_flight) => page_budget.admitted(in_flight),
        Err(failure) => {
            let outcome = PageOutcome::failed(url.clone(), failure);
            let produced = Produced::new(outcome, Usage::default(), OnPaid::default());
            return settle(page_budget, produced).await;
        }
    };
    let expected = Usage {
        transform: TRANSFORM_CPU,
        ..Usage::default()
    };
    if let Err(failure) = page_budget.reserve_for(&expected).await {
        return PageOutcome::failed(url.clone(), failure);
    }
    let memory = run.memory.page();
    let mut lease = memory.lease_for(MemoryKind::Outputs);
    let (outputs, cpu) = match lease.grow_to(input.body.len()).await {
        Ok(()) => {
            let (registry, workers) = (Arc::clone(&run.registry), &run.engine.workers);
            let turn = (run.owner.as_str(), deadline);
            workers.run(registry, input, plan, turn).await
        }
        Err(error) => (Outputs::failed(error.failure()), CpuTime::default()),
    };
    lease.record(usize::try_from(outputs.bytes()).unwrap_or(usize::MAX));
    let usage = Usage {
        compute: cpu.parse,
        transform: cpu.transform,
        ..Usage::default()
    };
    let mut outcome = PageOutcome {
        memory: Some(Arc::new(lease)),
        ..handed_in(url.clone(), outputs, started.elapsed())
    };
    if outcome.error.is_none()
        && let Err(failure) = page_budget.reserve_for(&usage).await
    {
        outcome = PageOutcome::failed(outcome.url, failure);
    }
    let produced = Produced::new(outcome, usage, OnPaid::default());
    settle(page_budget, produced).await
}
