//! The heart: one page in five steps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use url::Url;

use super::compose::{compose, site_error};
use super::{PageOutcome, VendorPart, analysis};
use crate::ai::Ai;
use crate::extract::{Input, Made, Workers};
use crate::routing::{Client, NotServed, Routing, Served, Vendor};
use trawl_billing::{AccountId, Billing, Consumed, FundsError, Hold, Tariff};
use trawl_model::failure::status;
use trawl_model::{FetchedPage, Nanodollars, PageFailure, Usage, VendorUse};
use trawl_net::fetch::{BODY_BYTES_MAX, CookieJar};
use trawl_plan::{OutputPlan, PagePlan};
use trawl_plugins::Registry;

/// What serves pages: built once, shared by every run.
pub struct PageEngine {
    /// The ways to get a page.
    pub routing: Routing,
    /// The threads that transform it.
    pub workers: Workers,
    /// The language model that analysts may ask, if the operator configured one.
    pub ai: Option<Arc<Ai>>,
}

/// What the pages of one run share.
#[derive(Clone)]
pub struct RunContext {
    /// The plugins as the run found them; kept from first page to last.
    pub registry: Arc<Registry>,
    /// Cookies that sites set during the run.
    pub jar: Arc<CookieJar>,
    /// Who the pages are for: accounts have their turn at what is scarce.
    pub owner: String,
    /// Prices of the run, by which a page that outgrows its ceiling is given up early.
    pub tariff: Tariff,
}

/// Who pays for the pages of a run, and at which prices.
#[derive(Clone, Debug)]
pub struct Payer {
    /// The money.
    pub billing: Billing,
    /// The account that pays.
    pub account: AccountId,
    /// Name of the run in the ledger: the request's id.
    pub run_id: String,
    /// Prices of the run.
    pub tariff: Tariff,
}

impl Payer {
    /// Sets aside this much, or what is left when that is less.
    async fn hold(
        &self,
        ceiling: Nanodollars,
        url: &str,
        deadline: Instant,
    ) -> Result<Hold, FundsError> {
        self.billing
            .hold_when_free(&self.account, ceiling, url, &self.run_id, deadline.into())
            .await
    }
}

/// The most that a page can consume in this time.
fn largest(time_max: Duration) -> Usage {
    Usage {
        content_bytes: BODY_BYTES_MAX as u64,
        compute: time_max,
        transform: time_max,
        ..Usage::default()
    }
}

/// The most that a page of this plan can cost: its own ceiling, or the price of the largest page when that is less.
pub fn ceiling(
    rooms: &PageEngine,
    registry: &Registry,
    plan: &PagePlan,
    tariff: &Tariff,
) -> Nanodollars {
    let ours = Usage {
        pool_price: rooms.routing.pool_price_max(plan),
        ..largest(plan.fetch.timeout)
    };
    let a_providers = Usage {
        vendor: rooms.routing.vendor_max(plan, registry, may_pool(tariff)),
        ..largest(plan.fetch.timeout)
    };
    let max_cost = [ours, a_providers].map(|usage| {
        let ai = analysis::max_cost(rooms, &plan.output);
        trawl_billing::price(&Usage { ai, ..usage }, tariff).total()
    });
    plan.ceiling.min(max_cost[0].max(max_cost[1]))
}

/// Decision D102: Unlimited pages use own keys only.
fn may_pool(tariff: &Tariff) -> bool {
    matches!(tariff, Tariff::PayAsYouGo(_))
}

/// Runs one page from plan to outcome. Whatever goes wrong is in the outcome, at no charge.
pub async fn run(
    rooms: &PageEngine,
    run: &RunContext,
    payer: &Payer,
    plan: &PagePlan,
) -> PageOutcome {
    let deadline = Instant::now() + plan.fetch.timeout;
    let ceiling = ceiling(rooms, &run.registry, plan, &payer.tariff);
    let hold = match payer.hold(ceiling, &plan.requested, deadline).await {
        Ok(hold) => hold,
        Err(error) => {
            return failed(
                plan,
                PageFailure::new(status::UNKNOWN, error.to_string()),
                None,
            );
        }
    };
    let (outcome, usage) = produce(rooms, run, plan, hold.ceiling()).await;
    settle(hold, &payer.tariff, usage, outcome).await
}

/// Serves and extracts one page without money: what [`run`] does between its hold and its settling. `limit` is what was set aside
/// for it: what a provider could charge beyond it is not begun.
pub async fn produce(
    rooms: &PageEngine,
    run: &RunContext,
    plan: &PagePlan,
    limit: Nanodollars,
) -> (PageOutcome, Usage) {
    let started = Instant::now();
    let url = match &plan.url {
        Ok(url) => url,
        Err(failure) => return (failed(plan, failure.clone(), None), Usage::default()),
    };
    let Served {
        page,
        told,
        cpu,
        loaded_bytes,
        picture,
        pool_price,
        waited,
        is_kept,
        keeping,
        body_hash,
        is_shareable,
        vendor,
        error,
    } = match serve(rooms, run, plan, url, started, limit).await {
        Ok(served) => served,
        Err(NotServed { failure, vendor }) => {
            let outcome = failed(plan, failure, Some(started.elapsed()));
            let vendor = vendor.map(|vendor| *vendor);
            return (with_vendor(outcome, vendor), Usage::default());
        }
    };
    let has_failed = error.is_some() || site_error(page.status).is_some();
    let output = match has_failed {
        // Nobody asks about a page that failed.
        true => analysis::without_analyst(&plan.output),
        false => Arc::clone(&plan.output),
    };
    let sharing = match is_shareable {
        true => Sharing::Shareable { body_hash },
        false => Sharing::Private,
    };
    let deadline = started + waited + plan.fetch.timeout;
    let mut made = extract(rooms, run, &output, &page, picture, sharing, deadline).await;
    let analysis = made.outputs.analysis.take();
    let analysis = analysis.filter(|_| made.outputs.failure.is_none());
    let mut usage = Usage {
        content_bytes: page.body.len() as u64,
        compute: made.cpu.parse,
        transform: made.cpu.transform,
        ..Usage::default()
    };
    usage.compute += cpu;
    usage.content_bytes = loaded_bytes.unwrap_or(usage.content_bytes);
    if is_kept {
        // Decision D54: a page of the cache was paid for when it came.
        usage.content_bytes = 0;
    }
    usage.pool_price = pool_price;
    usage.vendor = vendor.as_ref().map(|vendor| VendorUse {
        cost: vendor.cost,
        byok: vendor.byok,
    });
    if let Some(analysis) = analysis {
        let page = analysis::Analysed {
            rooms,
            run,
            plan,
            page: &page,
            limit,
        };
        match page.finish(analysis, &mut usage).await {
            Ok(finding) => made.outputs.fields.finding = Some(finding),
            Err(failure) => made.outputs.failure = Some(failure),
        }
    }
    let outcome = compose(&plan.output, page, made.outputs, told);
    let outcome = PageOutcome {
        elapsed: Some(started.elapsed()),
        error: error.or(outcome.error),
        keeping,
        keeping_outputs: made.keeping,
        ..outcome
    };
    (with_vendor(outcome, vendor), usage)
}

/// The provider that served the page, or tried last; what is billed for it is settled later.
fn with_vendor(outcome: PageOutcome, vendor: Option<Vendor>) -> PageOutcome {
    let Some(vendor) = vendor else {
        return outcome;
    };
    let part = VendorPart {
        provider: vendor.provider,
        route: vendor.route,
        vendor_cost: vendor.cost,
        billed_cost: Nanodollars::ZERO,
        byok: vendor.byok,
        attempts: vendor.attempts,
    };
    PageOutcome {
        vendor: Some(part),
        tally: Some(vendor.tally),
        ..outcome
    }
}

async fn serve(
    rooms: &PageEngine,
    run: &RunContext,
    plan: &PagePlan,
    url: &Url,
    started: Instant,
    limit: Nanodollars,
) -> Result<Served, NotServed> {
    let deadline = started + plan.fetch.timeout + plan.fetch.pace.patience;
    let pool_price = rooms.routing.pool_price_max(plan);
    let client = Client {
        owner: &run.owner,
        jar: &run.jar,
        bytes_max: trawl_billing::bytes_for(plan.ceiling.min(limit), &run.tariff, pool_price),
        registry: &run.registry,
        may_pool: may_pool(&run.tariff),
        affords: &|used| affords(limit, &run.tariff, used),
    };
    let served = rooms.routing.serve(plan, url, client);
    tokio::time::timeout_at(deadline.into(), served)
        .await
        .unwrap_or_else(|_| {
            let seconds = plan.fetch.timeout.as_secs();
            let message = format!("timed out after {seconds} s");
            Err(PageFailure::new(status::TIMED_OUT, message).into())
        })
}

/// Whether a page may cost what a provider's work costs.
fn affords(limit: Nanodollars, tariff: &Tariff, used: VendorUse) -> bool {
    let usage = Usage {
        vendor: Some(used),
        ..Usage::default()
    };
    trawl_billing::price(&usage, tariff).total() <= limit
}

/// Whether what is made of a page may be kept for others, and serve from what was kept.
pub(super) enum Sharing {
    /// Anyone who asks gets this page. The hash of its body, when it is known.
    Shareable { body_hash: Option<blake3::Hash> },
    /// Something of the caller was sent for it, a provider or a browser made it, or it is not to be kept.
    Private,
}

pub(super) async fn extract(
    rooms: &PageEngine,
    run: &RunContext,
    output: &Arc<OutputPlan>,
    page: &FetchedPage,
    picture: Option<Bytes>,
    sharing: Sharing,
    deadline: Instant,
) -> Made {
    let input = Input {
        url: page.final_url.clone(),
        body: page.body.clone(),
        content_type: page.content_type.clone(),
        picture,
    };
    let (registry, output) = (Arc::clone(&run.registry), Arc::clone(output));
    let workers = &rooms.workers;
    match sharing {
        Sharing::Shareable { body_hash } => {
            let made = workers.run_for_everyone(registry, input, output, deadline, body_hash);
            made.await
        }
        Sharing::Private => {
            let (outputs, cpu) = workers.run(registry, input, output, deadline).await;
            Made {
                outputs,
                cpu,
                keeping: None,
            }
        }
    }
}

/// Makes outputs of a page that the caller handed in: [`run`] without serving. Nothing was transferred, so only CPU is billed.
pub async fn transform(
    rooms: &PageEngine,
    run: &RunContext,
    payer: &Payer,
    input: Input,
    plan: Arc<OutputPlan>,
    deadline: Instant,
) -> PageOutcome {
    let started = Instant::now();
    let url = input.url.to_string();
    let time_max = deadline.saturating_duration_since(started);
    let ceiling = trawl_billing::price(&largest(time_max), &payer.tariff).total();
    let hold = match payer.hold(ceiling, &url, deadline).await {
        Ok(hold) => hold,
        Err(error) => {
            return PageOutcome {
                url,
                status: status::UNKNOWN,
                error: Some(error.to_string()),
                ..PageOutcome::default()
            };
        }
    };
    let (outputs, cpu) = rooms
        .workers
        .run(Arc::clone(&run.registry), input, plan, deadline)
        .await;
    let usage = Usage {
        compute: cpu.parse,
        transform: cpu.transform,
        ..Usage::default()
    };
    let outcome = PageOutcome::handed_in(url, outputs, started.elapsed());
    settle(hold, &payer.tariff, usage, outcome).await
}

/// Posts the charge of a good page, voids a failed one. Content leaves here only once its charge is durable, to the caller,
/// to the page cache and to the outputs that are kept.
pub async fn settle(
    hold: Hold,
    tariff: &Tariff,
    usage: Usage,
    mut outcome: PageOutcome,
) -> PageOutcome {
    let (keeping, outputs) = (outcome.keeping.take(), outcome.keeping_outputs.take());
    let hold = hold.with_consumed(Consumed {
        n_bytes: usage.content_bytes,
        cpu: usage.compute + usage.transform,
    });
    if let Some(error) = &outcome.error {
        hold.void(error);
        count("failed", &usage);
        return outcome;
    }
    let charge = trawl_billing::price(&usage, tariff);
    let posted = hold.post(&charge).await;
    count(if posted.is_ok() { "ok" } else { "failed" }, &usage);
    match posted {
        Ok(charge) => {
            if let Some(keeping) = keeping {
                keeping.keep();
            }
            if let Some(outputs) = outputs {
                outputs.keep();
            }
            if let Some(tally) = &outcome.tally {
                tally.billed(charge.vendor_billed);
            }
            let vendor = outcome.vendor.map(|part| VendorPart {
                billed_cost: charge.vendor_billed,
                ..part
            });
            PageOutcome {
                charge,
                vendor,
                ..outcome
            }
        }
        Err(error) => PageOutcome {
            url: outcome.url,
            status: outcome.status,
            elapsed: outcome.elapsed,
            error: Some(error.to_string()),
            vendor: outcome.vendor,
            ..PageOutcome::default()
        },
    }
}

/// Counts a page and the bytes of its decoded body.
fn count(outcome: &'static str, usage: &Usage) {
    metrics::counter!("trawl_pages_total", "outcome" => outcome).increment(1);
    metrics::counter!("trawl_page_bytes_total").increment(usage.content_bytes);
}

fn failed(plan: &PagePlan, failure: PageFailure, elapsed: Option<Duration>) -> PageOutcome {
    let url = plan
        .url
        .as_ref()
        .map_or_else(|_| plan.requested.clone(), Url::to_string);
    PageOutcome {
        url,
        status: failure.status,
        error: Some(failure.message),
        elapsed,
        ..PageOutcome::default()
    }
}
