//! How many pages were taken, and which caps that uses up.

use super::scope::is_under;
use super::{Frontier, SkipReason, StopReason};

impl Frontier {
    /// The cap of the whole crawl that is used up.
    pub(super) fn used_up(&self) -> Option<StopReason> {
        if self.plan.limit.is_some_and(|limit| self.n_taken >= limit) {
            return Some(StopReason::Limit);
        }
        let mut budgets = self.plan.budget.iter();
        let is_whole = budgets.any(|budget| budget.prefix == "*" && self.n_taken >= budget.pages);
        is_whole.then_some(StopReason::Budget)
    }

    /// Whether an entry of `budget` that fits this address has no page left.
    pub(super) fn is_over_budget(&self, n: u32) -> bool {
        let budgets = self.plan.budget.iter().zip(&self.taken_by_budget);
        let mut own = budgets.filter(|(budget, _)| is_under(self.table.url(n), &budget.prefix));
        own.any(|(budget, taken)| *taken >= budget.pages)
    }

    /// Counts a page that is taken for fetching.
    pub(super) fn take(&mut self, n: u32) {
        self.n_taken += 1;
        self.change_budgets(n, |taken| taken + 1);
    }

    /// Takes that back.
    pub(super) fn give_back(&mut self, n: u32) {
        self.n_taken -= 1;
        self.change_budgets(n, |taken| taken - 1);
    }

    fn change_budgets(&mut self, n: u32, change: impl Fn(u64) -> u64) {
        let url = self.table.url(n);
        for (budget, taken) in self.plan.budget.iter().zip(&mut self.taken_by_budget) {
            if is_under(url, &budget.prefix) {
                *taken = change(*taken);
            }
        }
    }

    /// Why the crawl ended when nothing waits any more: the first cap that left something out.
    pub(super) fn natural_stop(&self) -> StopReason {
        let left_out = |skip: SkipReason| self.n_skipped[usize::from(skip.number())] > 0;
        if left_out(SkipReason::Depth) {
            StopReason::Depth
        } else if left_out(SkipReason::Budget) {
            StopReason::Budget
        } else {
            StopReason::Completed
        }
    }
}
