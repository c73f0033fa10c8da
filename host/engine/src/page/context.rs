//! What the pages of a run share, and who pays for them.

use std::sync::Arc;

use trawl_billing::Tariff;
use trawl_model::TraceContext;
use trawl_model::memory::{MemoryBudget, MemoryShare};
use trawl_net::fetch::CookieJar;
use trawl_plan::PagePlan;
use trawl_plugins::Registry;

use crate::ai::Ai;
use crate::extract::Workers;
use crate::in_flight::PagesInFlight;
use crate::page_budget::{CostMemory, Expectations, PageBudget, PaidBy};
use crate::routing::{Admission, Routing};

/// What serves and transforms pages: built once, shared by every run.
pub struct PageEngine {
    /// Gets pages.
    pub routing: Routing,
    /// The threads that transform them.
    pub workers: Workers,
    /// The language model that analysts may ask, if the operator configured one.
    pub ai: Option<Arc<Ai>>,
    /// The memory that pages in flight may hold.
    pub memory: Arc<MemoryBudget>,
    /// What the pages of hosts cost lately.
    pub costs: Arc<CostMemory>,
    /// The pages in flight.
    pub in_flight: PagesInFlight,
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
    /// The account's share of the memory budget.
    pub memory: MemoryShare,
    /// Prices of the run. A page that would exceed its ceiling at these prices is given up early.
    pub tariff: Tariff,
    /// What its pages are expected to cost.
    pub expectations: Expectations,
    /// The span below which its requests are; `None` if they carry no trace context.
    pub trace: Option<TraceContext>,
}

impl RunContext {
    /// Creates a context with an empty cookie jar.
    pub fn new(
        engine: Arc<PageEngine>,
        registry: Arc<Registry>,
        owner: String,
        tariff: Tariff,
    ) -> Self {
        Self {
            memory: engine.memory.share(&owner),
            expectations: Expectations {
                hosts: Arc::clone(&engine.costs),
                run: Arc::default(),
            },
            engine,
            registry,
            jar: Arc::new(CookieJar::new()),
            owner,
            tariff,
            trace: None,
        }
    }

    /// The same with requests that carry a trace context below this one.
    #[must_use]
    pub fn with_trace(self, trace: Option<TraceContext>) -> Self {
        Self { trace, ..self }
    }

    /// The budget of a page of the run, which has reserved nothing yet.
    pub fn page_budget<'a>(&self, paid_by: PaidBy<'a>, plan: &'a PagePlan) -> PageBudget<'a> {
        PageBudget::new(paid_by, &self.expectations, self.tariff, plan)
    }

    /// The admission of a page with this plan, without rules of the run.
    pub fn admission(&self, plan: &PagePlan) -> Admission {
        self.engine.routing.admission(&plan.fetch)
    }
}
