use std::time::Duration;

use tempfile::TempDir;
use tokio::time::timeout;

use trawl_billing::testing::billing_with;
use trawl_plan::FetchPlan;
use trawl_plan::testing::page_plan;

use super::*;

const TEN_MINUTES: Duration = Duration::from_secs(600);

/// Who pays from an account with this balance, and the directory of the ledger.
pub(crate) async fn payer(balance: i64) -> (Payer, TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let (billing, account) = billing_with(directory.path(), Nanodollars(balance)).await;
    let payer = Payer {
        billing,
        account,
        key: KeyPrefix::default(),
        run_id: "run".to_owned(),
    };
    (payer, directory)
}

/// Reserves money for another page.
pub(crate) fn other_page(payer: &Payer, amount: i64) -> Reservation {
    let amount = Nanodollars(amount);
    let reserved = payer.billing.reserve(&payer.account, amount, "u", "other");
    reserved.expect("money")
}

pub(crate) fn page_budget<'a>(payer: &'a Payer, plan: &'a PagePlan) -> PageBudget<'a> {
    let paid_by = PaidBy::Account(payer);
    PageBudget::new(paid_by, &Expectations::default(), Tariff::default(), plan)
}

fn plan(timeout: Duration) -> PagePlan {
    PagePlan {
        fetch: Arc::new(FetchPlan::bare(timeout)),
        ..page_plan("http://site.example/")
    }
}

/// What costs this much.
fn usage(amount: u64) -> Usage {
    Usage {
        content_bytes: amount,
        ..Usage::default()
    }
}

fn held(payer: &Payer) -> i64 {
    payer.billing.funds(&payer.account).held.0
}

#[tokio::test]
async fn a_wait_for_money_that_time_ends_names_the_money() {
    let (payer, _directory) = payer(1_000_000).await;
    let (other, plan) = (other_page(&payer, 900_000), plan(TEN_MINUTES));
    let page_budget = page_budget(&payer, &plan);
    page_budget
        .reserve_for(&usage(100_000))
        .await
        .expect("all that is left");
    assert!(
        page_budget.funds_timeout().await.is_none(),
        "it did not wait"
    );
    let more = usage(500_000);
    let reserved = timeout(Duration::from_millis(50), page_budget.reserve_for(&more)).await;
    assert!(reserved.is_err(), "it waits for the other page");
    let failure = page_budget.funds_timeout().await.expect("a wait for money");
    assert_eq!(
        failure.message,
        "the page needs 5 credits: the balance is 10, of which 9 are reserved for other pages"
    );
    assert!(page_budget.funds_timeout().await.is_none(), "reported once");
    drop(other);
    page_budget.reserve_for(&more).await.expect("released");
    assert!(page_budget.funds_timeout().await.is_none());
    page_budget.void("done");
}

#[tokio::test]
async fn a_ledger_that_accepts_nothing_is_not_a_lack_of_money() {
    let (payer, _directory) = payer(1_000_000).await;
    let plan = plan(TEN_MINUTES);
    let page_budget = page_budget(&payer, &plan);
    payer.billing.close().await;
    let opened = page_budget
        .reserve_initial(Loader::Http, Nanodollars::ZERO)
        .await;
    assert!(matches!(opened, Err(ReserveError::Wait)), "{opened:?}");
    let failure = page_budget.funds_timeout().await.expect("a wait");
    assert_eq!(failure.message, FundsError::Busy.to_string());
    let expected = Unfunded {
        error: FundsError::Busy,
        is_reserved: false,
        was_underfunded: false,
    };
    assert_eq!(page_budget.unfunded().await, Some(expected));
}

#[tokio::test]
async fn what_a_page_can_do_without_waits_for_a_short_time() {
    let (payer, _directory) = payer(1_000_000).await;
    let _other = other_page(&payer, 900_000);
    let plan = PagePlan {
        ceiling: Nanodollars(950_000),
        ..plan(TEN_MINUTES)
    };
    let page_budget = page_budget(&payer, &plan);
    let is_of_page = |error: Option<FundsError>| matches!(error, Some(FundsError::Short(short)) if short.cap == Cap::Page);
    assert!(page_budget.reserve_for(&usage(960_000)).await.is_err());
    assert!(is_of_page(page_budget.refusal().await));
    let begun = Instant::now();
    let wait_until = begun + Duration::from_millis(50);
    let refused = page_budget
        .try_reserve_for(&usage(500_000), wait_until)
        .await;
    assert!(refused.is_err());
    // A tenth of the page's own deadline: far above the wait, far below a wait until then.
    assert!(begun.elapsed() < TEN_MINUTES / 10);
    assert!(
        is_of_page(page_budget.refusal().await),
        "the earlier refusal"
    );
    assert!(page_budget.funds_timeout().await.is_none());
}

#[tokio::test]
async fn a_page_for_which_a_provider_was_asked_is_not_tried_again() {
    let (payer, _directory) = payer(1_000_000).await;
    let (_other, plan) = (other_page(&payer, 900_000), plan(Duration::ZERO));
    let page_budget = page_budget(&payer, &plan);
    assert!(page_budget.reserve_for(&usage(500_000)).await.is_err());
    let needed = Some(Nanodollars(500_000));
    let unfunded = page_budget.unfunded().await.expect("too little money");
    assert_eq!(page_budget.retry_minimum(&unfunded), needed);
    page_budget.note_provider();
    assert_eq!(page_budget.retry_minimum(&unfunded), None);
}

#[tokio::test]
async fn a_page_that_gave_its_money_back_can_reserve_again() {
    let (payer, _directory) = payer(1_000_000).await;
    let plan = plan(TEN_MINUTES);
    let page_budget = page_budget(&payer, &plan);
    for _ in 0..2 {
        let opened = page_budget
            .reserve_initial(Loader::Http, Nanodollars::ZERO)
            .await;
        assert!(opened.is_ok(), "{opened:?}");
        assert!(held(&payer) > 0);
        page_budget.unreserve().await;
        assert_eq!(held(&payer), 0);
        assert!(!page_budget.is_open().await);
    }
    page_budget.reserve_for(&usage(1_000)).await.expect("money");
    page_budget.void("done");
    assert_eq!(held(&payer), 0);
}
