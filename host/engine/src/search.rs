//! One web search of a request: a search service is asked, and the search is charged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use trawl_billing::{BillingError, FundsError};
pub use trawl_contract::search::Hit;
use trawl_model::memory::MemoryLease;
use trawl_model::outcome::VendorPart;
use trawl_model::{Cause, Charge, PageFailure, Usage, VendorUse};
use trawl_net::egress::{on_behalf_of, traced};
use trawl_plan::search::SearchPlan;

use crate::page::RunContext;
use crate::page_budget::{PageBudget, PaidBy};
use crate::providers::{Found, Providers, SearchBackend, VendorFailure};
use crate::scrape::{ScrapeRun, result_of};

/// Time of a search with all services that are asked for it.
const SEARCH_TIME_MAX: Duration = Duration::from_secs(30);
/// The search in its request, whichever service answers: a repeated request is charged once.
const SEARCH_ID: &str = "0";

/// What a search found, and what it costs.
#[derive(Clone, Debug)]
pub struct SearchOutcome {
    /// The search service that was asked, and what it charged.
    pub vendor: VendorPart,
    /// The results, the best first.
    pub hits: Vec<Hit>,
    /// The place of the first of them, from 1.
    pub first_position: u64,
    /// What the account was charged for the search.
    pub charge: Charge,
    /// Parameters that the service does not respect.
    pub without_effect: Vec<&'static str>,
    /// The memory of the results.
    pub memory: Option<Arc<MemoryLease>>,
}

/// Why a search has no results.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// No search service is configured, or its credentials are missing.
    #[error("no search service is configured")]
    NotConfigured,
    /// Nothing can be reserved at the start.
    #[error(transparent)]
    Funds(#[from] FundsError),
    /// The money does not cover the price of a search: why.
    #[error("{0}")]
    Unfunded(String),
    /// Every service that was asked failed: what the last of them said.
    #[error("{0}")]
    Failed(String),
    /// The ledger did not accept the charge.
    #[error(transparent)]
    Unpaid(#[from] BillingError),
}

impl ScrapeRun {
    /// Searches the web. The services are asked in the order of `named`, or of the manifest if that
    /// is empty, until one answers; only that one is charged.
    ///
    /// A service charges for an answer whether or not anybody waits for it. So once one is asked,
    /// dropping the future does not end the search: what it answers is charged, and no other is
    /// asked.
    ///
    /// # Errors
    /// [`SearchError`].
    pub fn search(
        self: Arc<Self>,
        plan: SearchPlan,
        named: Arc<[String]>,
    ) -> BoxFuture<'static, Result<SearchOutcome, SearchError>> {
        async move {
            let caller = CancellationToken::new();
            let (run, gone) = (Arc::clone(&self), caller.clone());
            let searching = async move { run.search_for(&gone, &plan, &named).await };
            let _hangs_up = caller.drop_guard();
            result_of(self.tasks.spawn(searching.in_current_span())).await
        }
        .boxed()
    }

    /// Searches for a caller, who is gone once that is cancelled.
    async fn search_for(
        &self,
        gone: &CancellationToken,
        plan: &SearchPlan,
        named: &[String],
    ) -> Result<SearchOutcome, SearchError> {
        let context = &self.context;
        let Some(providers) = context.engine.routing.providers() else {
            return Err(SearchError::NotConfigured);
        };
        let backends = providers.search_backends(&context.registry, &context.owner, named);
        if backends.is_empty() {
            return Err(SearchError::NotConfigured);
        }
        self.admit()?;
        let asked = self.ask(gone, providers, &backends, plan);
        on_behalf_of(&context.owner, traced(context.trace, asked)).await
    }

    async fn ask(
        &self,
        gone: &CancellationToken,
        providers: &Providers,
        backends: &[SearchBackend],
        plan: &SearchPlan,
    ) -> Result<SearchOutcome, SearchError> {
        let budget = self.budget()?;
        let paid_by = self.paid_by(SEARCH_ID, budget.as_ref()).await?;
        let asked = self.ask_each(gone, providers, (backends, plan), paid_by);
        let outcome = asked.await;
        if let Err(error) = &outcome
            && !gone.is_cancelled()
        {
            self.refund(plan, paid_by, error).await;
        }
        outcome
    }

    /// Asks the services in turn.
    async fn ask_each(
        &self,
        gone: &CancellationToken,
        providers: &Providers,
        (backends, plan): (&[SearchBackend], &SearchPlan),
        paid_by: PaidBy<'_>,
    ) -> Result<SearchOutcome, SearchError> {
        let deadline = Instant::now() + SEARCH_TIME_MAX;
        let context = &self.context;
        let in_flight = &context.engine.in_flight;
        let admitted = in_flight.admit(&context.owner, SEARCH_TIME_MAX);
        let admitted = gone.run_until_cancelled(admitted).await;
        let in_flight = admitted.ok_or_else(hung_up)?.map_err(failed)?;
        let mut last = SearchError::NotConfigured;
        for (n, backend) in backends.iter().enumerate() {
            let entry = ledger_text(backend, plan);
            let page_budget = PageBudget::without_page(paid_by, context.tariff, &entry, deadline)
                .admitted(in_flight.clone());
            let most = usage(backend.most());
            let reserved = gone.run_until_cancelled(page_budget.reserve_for(&most));
            if let Err(failure) = reserved.await.ok_or_else(hung_up)? {
                last = SearchError::Unfunded(failure.message);
                continue;
            }
            let memory = context.memory.page();
            match providers.search(backend, plan, deadline, &memory).await {
                Ok(found) => {
                    let charge = charge(page_budget, &found).await?;
                    return Ok(SearchOutcome {
                        vendor: vendor(backend, &found, &charge, n),
                        first_position: found.first_position,
                        hits: found.hits,
                        memory: found.memory,
                        charge,
                        without_effect: backend.without_effect(plan),
                    });
                }
                Err(failure) => {
                    let reason = reason(backend, &failure);
                    page_budget.void(&reason);
                    last = SearchError::Failed(reason);
                }
            }
        }
        Err(last)
    }

    /// Refunds what an earlier try of the request was charged for a search that has failed now.
    async fn refund(&self, plan: &SearchPlan, paid_by: PaidBy<'_>, error: &SearchError) {
        let failure = PageFailure::new(Cause::Provider, error.to_string());
        let (entry, now) = (format!("search: {}", plan.text), Instant::now());
        let page_budget = PageBudget::without_page(paid_by, self.context.tariff, &entry, now);
        let _charge = page_budget.settle_before(Some(&failure)).await;
    }
}

/// Searches without an account, for the command line. Returns what was found, and the parameters
/// that the service does not respect.
///
/// # Errors
/// [`SearchError`]: no service is configured, or none answers.
pub async fn unbilled(
    context: &RunContext,
    plan: &SearchPlan,
    named: &[String],
) -> Result<(Found, Vec<&'static str>), SearchError> {
    let Some(providers) = context.engine.routing.providers() else {
        return Err(SearchError::NotConfigured);
    };
    let deadline = Instant::now() + SEARCH_TIME_MAX;
    let mut last = SearchError::NotConfigured;
    for backend in providers.search_backends(&context.registry, &context.owner, named) {
        let memory = context.memory.page();
        match providers.search(&backend, plan, deadline, &memory).await {
            Ok(found) => return Ok((found, backend.without_effect(plan))),
            Err(failure) => last = SearchError::Failed(reason(&backend, &failure)),
        }
    }
    Err(last)
}

/// Charges a search that has results.
async fn charge(page_budget: PageBudget<'_>, found: &Found) -> Result<Charge, SearchError> {
    if let Some(charge) = page_budget.settle_before(None).await {
        return Ok(charge);
    }
    let usage = usage(VendorUse {
        cost: found.cost,
        byok: false,
    });
    if let Err(failure) = page_budget.reserve_for(&usage).await {
        return Err(SearchError::Unfunded(failure.message));
    }
    let charge = trawl_billing::price(&usage, page_budget.tariff());
    match page_budget.into_reservation() {
        Some(reservation) => Ok(reservation.post(&charge).await?),
        None => Err(BillingError::Unavailable.into()),
    }
}

/// The service that answered, after this many others.
fn vendor(backend: &SearchBackend, found: &Found, charge: &Charge, n_before: usize) -> VendorPart {
    VendorPart {
        provider: backend.name().to_owned(),
        route: format!("{}.search", backend.name()),
        vendor_cost: found.cost,
        billed_cost: charge.vendor_billed,
        byok: false,
        attempts: u32::try_from(n_before + 1).unwrap_or(u32::MAX),
    }
}

/// A search costs what its service charges, like the page of a provider.
fn usage(vendor: VendorUse) -> Usage {
    Usage {
        vendor: Some(vendor),
        ..Usage::default()
    }
}

/// What the ledger has in place of a page's URL.
fn ledger_text(backend: &SearchBackend, plan: &SearchPlan) -> String {
    format!("search {}: {}", backend.name(), plan.text)
}

fn reason(backend: &SearchBackend, failure: &VendorFailure) -> String {
    format!("{}: {}", backend.name(), failure.message)
}

/// What is left to say of a search whose caller is gone before a service was asked.
fn hung_up() -> SearchError {
    SearchError::Failed("the caller hung up".to_owned())
}

fn failed(failure: PageFailure) -> SearchError {
    SearchError::Failed(failure.message)
}
