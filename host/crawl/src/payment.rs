//! The charge of a page, also by an earlier process, and the end of a crawl whose pages cannot be
//! paid.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use url::Url;

use trawl_billing::{Billing, BillingError, Cap, FundsError, RunBudget};
use trawl_engine::page::{self, FailedBy, PageBudget, PaidBy, Produced, Unfunded, Unpaid};
use trawl_model::outcome::PageOutcome;
use trawl_model::{Charge, PageFailure, StopReason};
use trawl_plan::PagePlan;

use super::paid::PaidPage;
use super::run::CrawlRun;

/// Pages in a row that could not be paid, after which the crawl ends. One alone may be larger than
/// the others, which can still be paid.
const REFUSED_IN_A_ROW_MAX: u32 = 3;
/// How long the ledger is left alone that did not accept the charge of a page.
const UNPAID_RETRY_DELAY: Duration = Duration::from_millis(500);
/// How often a charge is tried on a ledger that accepts other entries.
const UNPAID_RETRIES_MAX: usize = 20;

/// What an earlier process charged for the page of this id and URL. While the store is full or
/// cannot be reached, the page waits: if it was charged and fails now, it is to be refunded.
///
/// # Errors
/// [`NotKnown`] if the crawl is stopped, paused or parked before, or the store fails for another
/// reason, again and again.
pub(super) async fn charged_before(
    run: &CrawlRun,
    page: (&str, &Url),
) -> Result<Option<PaidPage>, NotKnown> {
    let Some(pages) = &run.money.paid else {
        return Ok(None);
    };
    let look_up = || pages.find(&run.frontier, page);
    if let Ok(found) = look_up().await {
        return Ok(found);
    }
    let look_up_again = |()| async {
        match look_up().await {
            Ok(found) => Attempt::Done(found),
            Err(BillingError::Store(error)) if error.is_full() || error.is_unreachable() => {
                Attempt::Unheard(())
            }
            Err(_failed) => Attempt::Refused(()),
        }
    };
    match retried((), ends(run), look_up_again).await {
        Some(Ok(found)) => Ok(found),
        Some(Err(())) | None => Err(NotKnown),
    }
}

/// It is not known whether an earlier process charged a page.
pub(super) struct NotKnown;

/// A page once its charge is durable. While the ledger accepts none, as on a full disk, or other
/// pages hold the money for it, the page waits with its content, unless the crawl is stopped. One
/// that is given up has failed and costs nothing. `None` if the crawl is paused or parked before:
/// it is fetched again when that continues.
pub(super) async fn settled(
    run: &CrawlRun,
    paid_by: PaidBy<'_>,
    plan: &PagePlan,
    (page_budget, produced): (PageBudget<'_>, Produced),
) -> Option<PageOutcome> {
    let unpaid = match page::try_settle(page_budget, produced).await {
        Ok(outcome) => return Some(outcome),
        Err(unpaid) => unpaid,
    };
    let settle_again = |unpaid: Box<Unpaid>| async move {
        // Then it knows, too, what became of the charges that it did not accept.
        if run.money.payer.billing.flush().await.is_err() {
            return Attempt::Unheard(unpaid);
        }
        let page_budget = run.context.page_budget(paid_by, plan);
        match page::settle_again(page_budget, unpaid).await {
            Ok(outcome) => Attempt::Done(outcome),
            Err(unpaid) => Attempt::Refused(unpaid),
        }
    };
    let ended = retried(unpaid, ends(run), settle_again);
    let outcome = match ended.await? {
        Ok(outcome) => outcome,
        Err(unpaid) => unpaid.failed(),
    };
    if let (Some(failure), PaidBy::Run { page_id, .. }) = (&outcome.error, paid_by) {
        let page = (plan.requested.as_str(), page_id);
        let (billing, budget) = (&run.money.payer.billing, &run.money.budget);
        if let Err(error) = refund_given_up(billing, budget, page, &failure.message).await {
            tracing::error!(error = %error, "it is not known whether a page that failed was charged");
        }
    }
    Some(outcome)
}

/// Refunds a page of this URL and id that is given up because its charge was not accepted, if the
/// charge has reached the ledger after all.
///
/// # Errors
/// The ledger does not say, or does not accept the refund.
async fn refund_given_up(
    billing: &Billing,
    budget: &RunBudget,
    (url, page_id): (&str, &str),
    reason: &str,
) -> Result<(), BillingError> {
    // Then it is known what became of the charge.
    billing.flush().await?;
    match billing.charged(budget.payment(), page_id).await? {
        Some(charge) => budget.refund((url, page_id), &charge, reason).await,
        None => Ok(()),
    }
}

/// What a page costs that an earlier process charged and that has failed now: nothing, once its
/// charge is refunded. While the ledger does not accept that, the page waits, unless the crawl is
/// stopped; then it costs what it was charged. `None` as of [`settled`].
pub(super) async fn refunded(
    run: &CrawlRun,
    paid: &PaidPage,
    failure: &PageFailure,
) -> Option<Charge> {
    let (page, reason) = (
        (paid.url.as_str(), paid.id.as_str()),
        failure.message.as_str(),
    );
    let refund = || run.money.budget.refund(page, &paid.charge, reason);
    if refund().await.is_ok() {
        return Some(Charge::default());
    }
    let refund_again = |()| async {
        if run.money.payer.billing.flush().await.is_err() {
            return Attempt::Unheard(());
        }
        match refund().await {
            Ok(()) => Attempt::Done(Charge::default()),
            Err(_refused) => Attempt::Refused(()),
        }
    };
    let ended = retried((), ends(run), refund_again);
    Some(ended.await?.unwrap_or(paid.charge))
}

/// How a try to pay, or to learn what was paid, ended.
enum Attempt<T, U> {
    Done(T),
    /// Not yet.
    Refused(U),
    /// The ledger does not answer: it was not tried.
    Unheard(U),
}

/// What ends the tries of a page.
#[derive(Clone, Copy)]
struct Ends<'a> {
    stopped: &'a CancellationToken,
    paused: &'a CancellationToken,
}

fn ends(run: &CrawlRun) -> Ends<'_> {
    Ends {
        stopped: &run.stopped,
        paused: &run.paused,
    }
}

/// Tries to pay again until that succeeds, so many tries were refused, or the crawl is stopped.
/// `None` if it is paused or parked before.
async fn retried<T, U, A: Future<Output = Attempt<T, U>>>(
    mut unpaid: U,
    ends: Ends<'_>,
    attempt: impl Fn(U) -> A,
) -> Option<Result<T, U>> {
    let mut n_refused = 0;
    while n_refused < UNPAID_RETRIES_MAX {
        tokio::select! {
            biased;
            () = ends.stopped.cancelled() => break,
            () = ends.paused.cancelled() => return None,
            () = tokio::time::sleep(UNPAID_RETRY_DELAY) => {}
        }
        let ended = tokio::select! {
            biased;
            ended = attempt(unpaid) => ended,
            () = ends.paused.cancelled() => return None,
        };
        unpaid = match ended {
            Attempt::Done(done) => return Some(Ok(done)),
            Attempt::Refused(unpaid) => {
                n_refused += 1;
                unpaid
            }
            Attempt::Unheard(unpaid) => unpaid,
        };
    }
    Some(Err(unpaid))
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
    use std::time::Instant;

    use trawl_billing::testing::billing_with;
    use trawl_model::Nanodollars;

    use super::*;

    #[tokio::test]
    async fn a_page_that_is_given_up_is_refunded_once_if_it_was_charged() {
        let directory = tempfile::tempdir().expect("a directory");
        let (billing, account) = billing_with(directory.path(), Nanodollars(1_000)).await;
        let budget = billing.run_budget(&account, "run", Nanodollars::MAX, Nanodollars::ZERO);
        let budget = budget.expect("a budget");
        let (url, soon) = (
            "http://a.example/",
            Instant::now() + Duration::from_secs(20),
        );
        let reserved = budget.reserve(Nanodollars(10), url, "charged", soon.into());
        let charge = Charge {
            bytes_transferred: Nanodollars(3),
            ..Charge::default()
        };
        let posted = reserved.await.expect("money").post(&charge).await;
        posted.expect("a charge");
        assert_eq!(billing.funds(&account).balance, Nanodollars(997));
        for page_id in ["not charged", "charged", "charged"] {
            let refunded = refund_given_up(&billing, &budget, (url, page_id), "it failed").await;
            refunded.expect("the ledger is open");
        }
        assert_eq!(billing.funds(&account).balance, Nanodollars(1_000));
        assert_eq!(budget.spent(), Nanodollars::ZERO);
        let charged = async |page_id| billing.charged("run", page_id).await.expect("a store");
        assert_eq!(charged("charged").await, Some(Charge::default()));
        assert_eq!(charged("not charged").await, None);
    }

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

    /// A page that is paid at the second try.
    fn second(n_tries: u8) -> std::future::Ready<Attempt<u8, u8>> {
        std::future::ready(match n_tries {
            0 => Attempt::Refused(1),
            n => Attempt::Done(n),
        })
    }

    #[tokio::test]
    async fn a_page_that_is_not_paid_yet_is_tried_until_its_crawl_ends() {
        let (stopped, paused) = (CancellationToken::new(), CancellationToken::new());
        let ends = Ends {
            stopped: &stopped,
            paused: &paused,
        };
        assert_eq!(retried(0, ends, second).await, Some(Ok(1)));
        // The ledger waits for money that other pages hold.
        let held = |_: u8| std::future::pending::<Attempt<u8, u8>>();
        let parked = async {
            tokio::time::sleep(2 * UNPAID_RETRY_DELAY).await;
            paused.cancel();
        };
        let (given_up, ()) = tokio::join!(retried(0, ends, held), parked);
        assert_eq!(given_up, None);
        assert_eq!(retried(0, ends, second).await, None);
        stopped.cancel();
        let failed = retried(0, ends, second).await;
        assert_eq!(failed, Some(Err(0)), "a stopped crawl does not continue");
    }
}
