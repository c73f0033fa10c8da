//! The end of a crawl: why it stops, and why the URLs that wait are skipped then.

use trawl_model::{SkipReason, StopReason};

use super::state::Frontier;
use super::table::UrlStatus;

impl Frontier {
    /// Stops leasing and skips all waiting URLs. The first reason wins.
    pub(crate) fn stop(&mut self, reason: StopReason) {
        if self.stop.is_some() {
            return;
        }
        self.stop = Some(reason);
        self.skip_waiting(skip_after(reason));
    }

    /// Stops for this reason if a page could still be leased, and returns whether it did.
    /// Otherwise the crawl ends by itself and has its own reason.
    pub(crate) fn stop_unless_complete(&mut self, reason: StopReason) -> bool {
        let is_at_end = self.stop.is_some() || self.caps.used_up().is_some();
        let waits = self.first_waiting().is_some() || self.hosts.has_turns_left();
        let is_complete = is_at_end || !waits;
        if !is_complete {
            self.stop(reason);
        }
        !is_complete
    }

    /// Why the crawl ends when nothing waits any more: the first cap that skipped a URL.
    pub(super) fn natural_stop(&self) -> StopReason {
        let has_skipped = |skip: SkipReason| self.n_skipped[usize::from(skip.number())] > 0;
        if has_skipped(SkipReason::Depth) {
            StopReason::Depth
        } else if has_skipped(SkipReason::Budget) {
            StopReason::Budget
        } else if has_skipped(SkipReason::HostLimit) {
            StopReason::HostLimit
        } else {
            StopReason::Completed
        }
    }

    /// Skips all waiting URLs for this reason, or for that which holds them back.
    pub(super) fn skip_waiting(&mut self, skip: SkipReason) {
        for (n, is_capped) in self.hosts.drain() {
            let skip = if is_capped {
                SkipReason::HostLimit
            } else {
                skip
            };
            if self.table.status(n) == UrlStatus::Waiting {
                self.move_to(n, UrlStatus::Skipped(skip));
            }
        }
        for (n, is_over_budget) in self.queues.drain() {
            if self.table.status(n) == UrlStatus::Waiting {
                let skip = if is_over_budget {
                    SkipReason::Budget
                } else {
                    skip
                };
                self.move_to(n, UrlStatus::Skipped(skip));
            }
        }
    }
}

/// Why the URLs that wait are skipped when the crawl stops for this reason.
pub(super) fn skip_after(reason: StopReason) -> SkipReason {
    match reason {
        StopReason::Limit => SkipReason::Limit,
        StopReason::Budget => SkipReason::Budget,
        StopReason::HostLimit => SkipReason::HostLimit,
        StopReason::Depth => SkipReason::Depth,
        StopReason::Spend | StopReason::Balance | StopReason::KeyBudget => SkipReason::Spend,
        StopReason::Completed
        | StopReason::Timeout
        | StopReason::Cancelled
        | StopReason::HungUp
        | StopReason::ServerStopped
        | StopReason::Storage
        | StopReason::PlanEnded
        | StopReason::Failed => SkipReason::Stopped,
    }
}
