//! Page caps: how many pages were leased, and which of `limit` and `budget` that uses up.

use std::sync::Arc;

use trawl_model::StopReason;
use trawl_plan::crawl::CrawlPlan;

use super::scope::is_under;

/// Counts leased pages against `limit` and `budget` of the plan.
#[derive(Debug)]
pub(super) struct Caps {
    plan: Arc<CrawlPlan>,
    /// Pages that were leased and not skipped.
    n_taken: u64,
    /// The same for each entry of the plan's `budget`.
    taken_by_budget: Vec<u64>,
}

impl Caps {
    pub(super) fn new(plan: Arc<CrawlPlan>) -> Self {
        Self {
            n_taken: 0,
            taken_by_budget: vec![0; plan.budget.len()],
            plan,
        }
    }

    /// The cap of the whole crawl that is used up.
    pub(super) fn used_up(&self) -> Option<StopReason> {
        if self.plan.limit.is_some_and(|limit| self.n_taken >= limit) {
            return Some(StopReason::Limit);
        }
        let mut budgets = self.plan.budget.iter();
        let is_used_up = budgets.any(|budget| budget.prefix == "*" && self.n_taken >= budget.pages);
        is_used_up.then_some(StopReason::Budget)
    }

    /// Whether an entry of `budget` that applies to this URL is used up.
    pub(super) fn is_over(&self, url: &str) -> bool {
        let budgets = self.plan.budget.iter().zip(&self.taken_by_budget);
        let mut own = budgets.filter(|(budget, _)| is_under(url, &budget.prefix));
        own.any(|(budget, taken)| *taken >= budget.pages)
    }

    /// Counts a page.
    pub(super) fn take(&mut self, url: &str) {
        self.n_taken += 1;
        self.change(url, |taken| taken + 1);
    }

    /// Takes a page out of the count again.
    pub(super) fn give_back(&mut self, url: &str) {
        self.n_taken -= 1;
        self.change(url, |taken| taken - 1);
    }

    fn change(&mut self, url: &str, change: impl Fn(u64) -> u64) {
        for (budget, taken) in self.plan.budget.iter().zip(&mut self.taken_by_budget) {
            if is_under(url, &budget.prefix) {
                *taken = change(*taken);
            }
        }
    }
}
