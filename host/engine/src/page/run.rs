//! The five steps of one page.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use trawl_billing::{AccountId, Billing, FundsError, Reservation, Tariff};
use trawl_model::failure::status;
use trawl_model::outcome::PageOutcome;
use trawl_model::{FetchedPage, Nanodollars, PageFailure, Usage, VendorUse};
use trawl_net::fetch::{BODY_BYTES_MAX, CookieJar};
use trawl_plan::{OutputPlan, PagePlan, RefusedPage};
use trawl_plugins::Registry;

use super::analysis;
use super::compose::{compose, handed_in, site_error};
use super::settle::{OnPaid, Produced, count, settle};
use crate::ai::Ai;
use crate::extract::{Extraction, Input, Workers};
use crate::routing::{CacheOutcome, Client, NotServed, Routing, Served};

/// What serves and transforms pages: built once, shared by every run.
pub struct PageEngine {
    /// Gets pages.
    pub routing: Routing,
    /// The threads that transform them.
    pub workers: Workers,
    /// The language model that analysts may ask, if the operator configured one.
    pub ai: Option<Arc<Ai>>,
}

/// What the pages of one run share.
#[derive(Clone)]
pub struct RunContext {
    /// What serves the pages.
    pub engine: Arc<PageEngine>,
    /// Snapshot of the plugins, the same from the first page to the last.
    pub registry: Arc<Registry>,
    /// Cookies that sites set during the run.
    pub jar: Arc<CookieJar>,
    /// The account the pages are for: scarce resources are shared fairly between accounts.
    pub owner: String,
    /// Prices of the run. A page that would exceed its ceiling at these prices is given up early.
    pub tariff: Tariff,
}

/// Who pays for the pages of a run.
#[derive(Clone, Debug)]
pub struct Payer {
    /// The ledger.
    pub billing: Billing,
    /// The account that pays.
    pub account: AccountId,
    /// Name of the run in the ledger: the request's id.
    pub run_id: String,
}

impl RunContext {
    /// The context of a run that begins, with an empty cookie jar.
    pub fn new(
        engine: Arc<PageEngine>,
        registry: Arc<Registry>,
        owner: String,
        tariff: Tariff,
    ) -> Self {
        Self {
            engine,
            registry,
            jar: Arc::new(CookieJar::new()),
            owner,
            tariff,
        }
    }
}

impl Payer {
    /// Reserves this much, or the rest of the balance if that is less.
    async fn reserve(
        &self,
        ceiling: Nanodollars,
        url: &str,
        deadline: Instant,
    ) -> Result<Reservation, FundsError> {
        self.billing
            .reserve_when_available(&self.account, ceiling, url, &self.run_id, deadline.into())
            .await
    }
}

/// The most that a page can consume in this time.
fn max_usage(time_max: Duration) -> Usage {
    Usage {
        content_bytes: BODY_BYTES_MAX as u64,
        compute: time_max,
        transform: time_max,
        ..Usage::default()
    }
}

/// The most that a page of this plan can cost: its own ceiling, or the price of the largest page if
/// that is less.
pub fn ceiling(run: &RunContext, plan: &PagePlan) -> Nanodollars {
    let routing = &run.engine.routing;
    let own = Usage {
        pool_price: routing.pool_price_max(plan),
        ..max_usage(plan.fetch.timeout)
    };
    let by_provider = Usage {
        vendor: routing.vendor_max(plan, &run.registry, may_pool(&run.tariff)),
        ..max_usage(plan.fetch.timeout)
    };
    let max_cost = [own, by_provider].map(|usage| {
        let ai = analysis::max_cost(&run.engine, &plan.output);
        trawl_billing::price(&Usage { ai, ..usage }, &run.tariff).total()
    });
    plan.ceiling.min(max_cost[0].max(max_cost[1]))
}

/// Decision D102: Unlimited pages use the caller's own keys only.
fn may_pool(tariff: &Tariff) -> bool {
    matches!(tariff, Tariff::PayAsYouGo(_))
}

/// Runs one page from plan to outcome. Every failure is part of the outcome, at no charge.
pub async fn run(run: &RunContext, payer: &Payer, plan: &PagePlan) -> PageOutcome {
    let deadline = Instant::now() + plan.fetch.timeout;
    let ceiling = ceiling(run, plan);
    match payer.reserve(ceiling, &plan.requested, deadline).await {
        Ok(hold) => {
            let produced = produce(run, plan, hold.ceiling()).await;
            settle(hold, &run.tariff, produced).await
        }
        Err(error) => not_reserved(plan.url.to_string(), &error),
    }
}

/// The outcome of a page whose URL can never be fetched. It costs nothing, so nothing is reserved.
pub fn refused(page: RefusedPage) -> PageOutcome {
    count("failed", &Usage::default());
    failed(page.requested, page.failure)
}

fn not_reserved(url: String, error: &FundsError) -> PageOutcome {
    failed(url, PageFailure::new(status::UNKNOWN, error.to_string()))
}

/// Serves and extracts one page without paying for it: what [`run`] does between reserving and
/// settling. `limit` is the reservation: provider requests and model questions that could cost more
/// are not sent.
pub async fn produce(run: &RunContext, plan: &PagePlan, limit: Nanodollars) -> Produced {
    let started = Instant::now();
    let mut served = match serve(run, plan, started, limit).await {
        Ok(served) => served,
        Err(NotServed { failure, vendor }) => {
            let outcome = PageOutcome {
                elapsed: Some(started.elapsed()),
                ..failed(plan.url.to_string(), failure)
            };
            let produced = Produced::new(outcome, Usage::default(), OnPaid::default());
            return produced.with_vendor(vendor.map(|vendor| *vendor));
        }
    };
    let has_failed = served.error.is_some() || site_error(served.page.status).is_some();
    let output = if has_failed {
        // A failed page costs nothing, so no analyst may spend money on it.
        analysis::without_analyst(&plan.output)
    } else {
        Arc::clone(&plan.output)
    };
    let screenshot = served.screenshot.take();
    let deadline = started + served.waited + plan.fetch.timeout;
    let mut made = extract(
        run,
        &output,
        &served.page,
        screenshot,
        &served.cache,
        deadline,
    )
    .await;
    let mut usage = served.usage;
    usage.compute += made.cpu.parse;
    usage.transform += made.cpu.transform;
    let analysis = made.outputs.analysis.take();
    if let Some(analysis) = analysis.filter(|_| made.outputs.failure.is_none()) {
        let page = analysis::AnalysedPage {
            run,
            plan,
            page: &served.page,
            limit,
        };
        match page.finish(analysis, &mut usage).await {
            Ok(finding) => made.outputs.fields.finding = Some(finding),
            Err(failure) => made.outputs.failure = Some(failure),
        }
    }
    let outcome = compose(&plan.output, served.page, made.outputs, served.metadata);
    let outcome = PageOutcome {
        elapsed: Some(started.elapsed()),
        error: served.error.or(outcome.error),
        ..outcome
    };
    let on_paid = OnPaid {
        page: served.cache.into_write(),
        outputs: made.write,
        provider: None,
    };
    Produced::new(outcome, usage, on_paid).with_vendor(served.vendor)
}

async fn serve(
    run: &RunContext,
    plan: &PagePlan,
    started: Instant,
    limit: Nanodollars,
) -> Result<Served, NotServed> {
    let routing = &run.engine.routing;
    let deadline = started + plan.fetch.timeout + plan.fetch.pace.patience;
    let pool_price = routing.pool_price_max(plan);
    let client = Client {
        owner: &run.owner,
        jar: &run.jar,
        bytes_max: trawl_billing::bytes_for(plan.ceiling.min(limit), &run.tariff, pool_price),
        registry: &run.registry,
        may_pool: may_pool(&run.tariff),
        affords: &|used| affords(limit, &run.tariff, used),
    };
    let served = routing.serve(plan, client);
    tokio::time::timeout_at(deadline.into(), served)
        .await
        .unwrap_or_else(|_| {
            let seconds = plan.fetch.timeout.as_secs();
            let message = format!("timed out after {seconds} s");
            Err(PageFailure::new(status::TIMED_OUT, message).into())
        })
}

/// Whether the limit of a page pays for this provider request.
fn affords(limit: Nanodollars, tariff: &Tariff, used: VendorUse) -> bool {
    let usage = Usage {
        vendor: Some(used),
        ..Usage::default()
    };
    trawl_billing::price(&usage, tariff).total() <= limit
}

/// Makes the outputs of a page, or takes them from the output cache if the page is shareable.
pub(super) async fn extract(
    run: &RunContext,
    output: &Arc<OutputPlan>,
    page: &FetchedPage,
    screenshot: Option<Bytes>,
    cache: &CacheOutcome,
    deadline: Instant,
) -> Extraction {
    let input = Input {
        url: page.final_url.clone(),
        body: page.body.clone(),
        content_type: page.content_type.clone(),
        screenshot,
    };
    let (registry, output) = (Arc::clone(&run.registry), Arc::clone(output));
    let workers = &run.engine.workers;
    if cache.is_shareable() {
        let made = workers.run_cached(registry, input, output, deadline, cache.body_hash());
        made.await
    } else {
        let (outputs, cpu) = workers.run(registry, input, output, deadline).await;
        Extraction {
            outputs,
            cpu,
            write: None,
        }
    }
}

/// Makes outputs of a page that the caller handed in: [`run`] without serving. Nothing was
/// transferred, so only CPU time is billed.
pub async fn transform(
    run: &RunContext,
    payer: &Payer,
    input: Input,
    plan: Arc<OutputPlan>,
    deadline: Instant,
) -> PageOutcome {
    let started = Instant::now();
    let url = input.url.to_string();
    let time_max = deadline.saturating_duration_since(started);
    let ceiling = trawl_billing::price(&max_usage(time_max), &run.tariff).total();
    let hold = match payer.reserve(ceiling, &url, deadline).await {
        Ok(hold) => hold,
        Err(error) => {
            return not_reserved(url, &error);
        }
    };
    let (registry, workers) = (Arc::clone(&run.registry), &run.engine.workers);
    let (outputs, cpu) = workers.run(registry, input, plan, deadline).await;
    let usage = Usage {
        compute: cpu.parse,
        transform: cpu.transform,
        ..Usage::default()
    };
    let outcome = handed_in(url, outputs, started.elapsed());
    let produced = Produced::new(outcome, usage, OnPaid::default());
    settle(hold, &run.tariff, produced).await
}

fn failed(url: String, failure: PageFailure) -> PageOutcome {
    PageOutcome {
        url,
        status: failure.status,
        error: Some(failure.message),
        ..PageOutcome::default()
    }
}
