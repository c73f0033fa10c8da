//! The charge of a page, and the end of a crawl whose pages cannot be paid.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use trawl_billing::{Cap, FundsError};
use trawl_engine::page::{self, FailedBy, PageBudget, PaidBy, Produced, Unfunded};
use trawl_model::StopReason;
use trawl_model::outcome::PageOutcome;
use trawl_plan::PagePlan;

use super::run::CrawlRun;

/// Pages in a row that could not be paid, after which the crawl ends. One alone may be larger than
/// the others, which can still be paid.
const REFUSED_IN_A_ROW_MAX: u32 = 3;
/// How long the ledger is left alone that did not accept the charge of a page.
const UNPAID_RETRY_DELAY: Duration = Duration::from_millis(500);
/// How often a charge is tried on a ledger that accepts other entries.
const UNPAID_RETRIES_MAX: usize = 20;

/// A page once its charge is durable. While the ledger accepts none, as on a full disk, or other
/// pages hold the money for it, the page waits with its content, unless the crawl is stopped.
/// `None` if the server stops before: the next process fetches it again.
pub(super) async fn settled(
    run: &CrawlRun,
    paid_by: PaidBy<'_>,
    plan: &PagePlan,
    (page_budget, produced): (PageBudget<'_>, Produced),
) -> Option<PageOutcome> {
    let mut unpaid = match page::try_settle(page_budget, produced).await {
        Ok(outcome) => return Some(outcome),
        Err(unpaid) => unpaid,
    };
    let mut n_retries = 0;
    while n_retries < UNPAID_RETRIES_MAX {
        tokio::select! {
            biased;
            () = run.stopped.cancelled() => return Some(unpaid.failed()),
            () = run.server_stops.cancelled(), if run.job.in_background => return None,
            () = tokio::time::sleep(UNPAID_RETRY_DELAY) => {}
        }
        // Then it knows, too, what became of the charges that it did not accept.
        if run.money.payer.billing.flush().await.is_err() {
            continue;
        }
        n_retries += 1;
        let page_budget = run.context.page_budget(paid_by, plan);
        let settling = page::settle_again(page_budget, unpaid);
        let parks = run.job.in_background;
        unpaid = match unless_parked(settling, parks, &run.server_stops).await? {
            Ok(outcome) => return Some(outcome),
            Err(unpaid) => unpaid,
        };
    }
    Some(unpaid.failed())
}

/// The result of `work`; `None` if the server stops before, for a crawl that `parks` then.
async fn unless_parked<T>(
    work: impl Future<Output = T>,
    parks: bool,
    server_stops: &CancellationToken,
) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = server_stops.cancelled(), if parks => None,
    }
}

/// Whether no page can be paid any more, and this one reserved nothing: it is as if it was not
/// leased.
pub(super) fn is_spent(unfunded: &Unfunded) -> bool {
    let is_spent = matches!(
        unfunded.error,
        FundsError::Empty | FundsError::KeySpent(_) | FundsError::CeilingReached
    );
    is_spent && !unfunded.is_reserved
}

/// Ends the crawl if its pages cannot be paid any more, by what made this one fail.
pub(super) fn note_unfunded(run: &CrawlRun, failed_by: Option<FailedBy>) {
    let Some(FailedBy::Funds(unfunded)) = failed_by else {
        run.money.refused_in_a_row.store(0, Ordering::Relaxed);
        return;
    };
    match unfunded.error {
        // Its own ceiling says nothing about other pages.
        FundsError::Short(short) if short.cap == Cap::Page => {}
        error => {
            let in_a_row = run.money.refused_in_a_row.fetch_add(1, Ordering::Relaxed) + 1;
            let is_page_special = in_a_row < REFUSED_IN_A_ROW_MAX && !unfunded.was_underfunded;
            if !is_page_special {
                out_of_funds(run, &error);
            }
        }
    }
}

/// Ends the crawl because no page can be paid any more: the run has reached its ceiling, or the
/// budget of its key or the balance is used up, or what is left of them is not enough for a page
/// even once all others ended.
pub(super) fn out_of_funds(run: &CrawlRun, error: &FundsError) {
    let stop = match error {
        FundsError::CeilingReached => StopReason::Spend,
        FundsError::Empty => StopReason::Balance,
        FundsError::KeySpent(_) => StopReason::KeyBudget,
        FundsError::Short(short) if short.may_pass() => return,
        FundsError::Short(short) => match short.cap {
            Cap::Page => return,
            Cap::Run => StopReason::Spend,
            Cap::Key(_) => StopReason::KeyBudget,
            Cap::Balance => StopReason::Balance,
        },
        FundsError::AllHeld | FundsError::Busy => return,
        FundsError::UnknownAccount => StopReason::Failed,
    };
    run.stop(stop);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_reserved_something_is_not_skipped_for_the_money() {
        for (error, is_reserved, expected) in [
            (FundsError::Empty, false, true),
            (FundsError::CeilingReached, false, true),
            (FundsError::Empty, true, false),
            (FundsError::AllHeld, false, false),
        ] {
            let unfunded = Unfunded {
                error,
                is_reserved,
                was_underfunded: false,
            };
            assert_eq!(is_spent(&unfunded), expected, "{unfunded:?}");
        }
    }

    #[tokio::test]
    async fn a_page_that_waits_for_money_is_given_up_when_its_crawl_is_parked() {
        let stops = CancellationToken::new();
        let paid = unless_parked(std::future::ready(1), true, &stops).await;
        assert_eq!(paid, Some(1));
        stops.cancel();
        let parked = unless_parked(std::future::pending::<u8>(), true, &stops).await;
        assert_eq!(parked, None);
        let streamed = unless_parked(std::future::ready(1), false, &stops).await;
        assert_eq!(streamed, Some(1), "its crawl does not continue later");
    }
}
