//! Caps of the whole crawl: how many pages were leased, and whether that uses up `limit` or the `*`
//! of `budget`. The other keys of `budget` are in `queues.rs`.

use trawl_model::StopReason;
use trawl_plan::crawl::CrawlPlan;

/// The key of `budget` that caps the whole crawl.
pub(super) const WHOLE_CRAWL: &str = "*";

/// Counts leased pages.
#[derive(Debug)]
pub(super) struct Caps {
    limit: u64,
    budget: u64,
    /// Pages that were leased and not skipped.
    n_taken: u64,
}

impl Caps {
    pub(super) fn new(plan: &CrawlPlan) -> Self {
        let mut budgets = plan.budget.iter();
        let whole = budgets.find(|budget| budget.prefix == WHOLE_CRAWL);
        Self {
            limit: plan.limit.unwrap_or(u64::MAX),
            budget: whole.map_or(u64::MAX, |budget| budget.pages),
            n_taken: 0,
        }
    }

    /// The cap that is used up.
    pub(super) fn used_up(&self) -> Option<StopReason> {
        if self.n_taken >= self.limit {
            return Some(StopReason::Limit);
        }
        (self.n_taken >= self.budget).then_some(StopReason::Budget)
    }

    /// Counts a page.
    pub(super) fn take(&mut self) {
        self.n_taken += 1;
    }

    /// Takes a page out of the count again.
    pub(super) fn give_back(&mut self) {
        self.n_taken -= 1;
    }
}
