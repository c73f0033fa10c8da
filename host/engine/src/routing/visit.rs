//! A page on its way through the routes, and for whom.

use std::sync::Arc;
use std::time::Duration;

use trawl_model::memory::PageMemory;
use trawl_net::fetch::CookieJar;
use trawl_plan::PagePlan;
use trawl_plugins::Registry;

use super::admission::Admission;
use super::clock::PageClock;
use crate::page_budget::PageBudget;

/// For whom a page is served.
#[derive(Clone, Copy)]
pub struct VisitContext<'a> {
    /// The account that pays, or another name for the client.
    pub owner: &'a str,
    /// Cookies of the run.
    pub jar: &'a CookieJar,
    /// The page's claim on the memory of its account.
    pub memory: &'a PageMemory,
    /// The money of the page.
    pub page_budget: &'a PageBudget<'a>,
    /// The plugins of the run: providers are among them.
    pub registry: &'a Registry,
    /// Whether the operator's credentials at providers may pay.
    pub may_pool: bool,
}

/// One page on its way through the routes.
#[derive(Clone, Copy)]
pub(super) struct Visit<'a> {
    pub(super) plan: &'a PagePlan,
    pub(super) client: VisitContext<'a>,
    pub(super) clock: PageClock,
    pub(super) admission: &'a Arc<Admission>,
}

impl Visit<'_> {
    /// The same on another route, with this time from now on.
    pub(super) fn within(self, time: Duration) -> Self {
        let clock = self.clock.restarted(time);
        Self { clock, ..self }
    }
}
