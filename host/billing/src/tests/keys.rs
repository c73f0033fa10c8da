//! Budgets and usage of keys.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use trawl_model::clock::{Clock, Timestamp};
use trawl_model::{Charge, Nanodollars, Terms};
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, KeyPrefix};

use super::faults::{FAILS, FAILS_AFTER_WRITE, FaultyStore, WORKS};
use super::world::{World, world};
use crate::{
    AccountId, Billing, BillingError, Cap, FundsError, KeySpent, Reservation, RunBudget, Spender,
};

const BUDGET: Nanodollars = Nanodollars(1_000);
const BALANCE: Nanodollars = Nanodollars(1_000_000);

fn charge(amount: i64) -> Charge {
    Charge {
        compute: Nanodollars(amount),
        ..Charge::default()
    }
}

/// A key of an account, with this budget.
async fn new_key(billing: &Billing, account: &AccountId, budget: Option<Nanodollars>) -> KeyPrefix {
    let key = billing.create_key(account, "ci", budget).await;
    let key = key.expect("a key");
    let found = billing.authenticate(key.expose());
    let found = found.expect("the account of the key");
    assert_eq!(found.id, *account);
    assert!(key.expose().starts_with(found.key.as_str()));
    found.key
}

/// What a key was charged in this month.
fn spent(billing: &Billing, account: &AccountId, key: KeyPrefix) -> Nanodollars {
    let keys = billing.keys(account);
    let key = keys.iter().find(|found| found.prefix == key.as_str());
    key.expect("the key").spending.spent
}

impl World {
    fn spender(&self, key: KeyPrefix) -> Spender<'_> {
        Spender {
            account: &self.account,
            key,
        }
    }

    fn reserve_with(&self, key: KeyPrefix, likely: i64) -> Result<Reservation, FundsError> {
        let likely = Nanodollars(likely);
        self.billing
            .reserve_likely(self.spender(key), likely, "u", "r")
    }

    fn run_with(&self, key: KeyPrefix) -> RunBudget {
        let (no_ceiling, nothing) = (Nanodollars::MAX, Nanodollars::ZERO);
        let spender = self.spender(key);
        let budget = self.billing.run_budget(spender, "c", no_ceiling, nothing);
        budget.expect("a budget")
    }

    async fn spend_with(&self, key: KeyPrefix, amount: i64) {
        let page = self.reserve_with(key, amount).expect("money");
        page.post(&charge(amount)).await.expect("posted");
    }
}

#[tokio::test]
async fn pages_and_runs_of_a_key_share_its_budget() {
    let world = world(BALANCE).await;
    let key = new_key(&world.billing, &world.account, Some(BUDGET)).await;
    world.spend_with(key, 500).await;
    // Other keys and pages without one are not limited by it.
    let other = new_key(&world.billing, &world.account, None).await;
    world.spend_with(other, 5_000).await;
    world.spend_with(KeyPrefix::default(), 5_000).await;

    let run = world.run_with(key);
    let page = run.reserve_now(Nanodollars(900), "u", "1").expect("money");
    assert_eq!(page.ceiling(), Nanodollars(500), "what is left");
    let waits = world.reserve_with(key, 1).err();
    assert_eq!(waits, Some(FundsError::AllHeld));
    let charged = page.post(&charge(400)).await;
    assert_eq!(charged.expect("posted"), charge(400));
    let last = world.reserve_with(key, 500).expect("the rest");
    assert_eq!(last.ceiling(), Nanodollars(100));
    last.void("failed");
    world.spend_with(key, 100).await;

    let refusal = world.reserve_with(key, 1).err();
    let used_up = FundsError::KeySpent(KeySpent {
        key,
        budget: BUDGET,
        spent: BUDGET,
        until: Timestamp::parse("2023-12-01").expect("a time"),
    });
    assert_eq!(refusal, Some(used_up));
    let text = used_up.to_string();
    assert!(
        text.contains(key.as_str()) && text.contains("2023-12-01"),
        "{text}"
    );
    let refusal = run.reserve_now(Nanodollars(1), "u", "2").err();
    assert_eq!(refusal, Some(used_up));
    let admit = |key| world.billing.admit(world.spender(key), Terms::PayAsYouGo);
    assert_eq!((admit(key), admit(other)), (Err(used_up), Ok(())));
    let free = world.billing.admit(world.spender(key), Terms::Unlimited);
    assert_eq!(free, Ok(()));
    world.reserve_with(key, 0).expect("it is free").void("free");
    drop(run);
    world.check_sums().await;
}

#[tokio::test]
async fn a_budget_is_raised_removed_and_begins_anew_with_the_month() {
    let world = world(BALANCE).await;
    let key = new_key(&world.billing, &world.account, Some(BUDGET)).await;
    world.spend_with(key, 1_000).await;
    let set = async |budget: Option<i64>| {
        let budget = budget.map(Nanodollars);
        let set = world
            .billing
            .set_key_budget(&world.account, key.as_str(), budget)
            .await;
        set.map(|key| key.map(|key| key.spending))
    };
    let raised = set(Some(1_300)).await.expect("set").expect("the key");
    assert_eq!(
        (raised.budget, raised.spent),
        (Some(Nanodollars(1_300)), BUDGET)
    );
    world.spend_with(key, 300).await;
    assert!(world.reserve_with(key, 1).is_err());
    set(None).await.expect("set").expect("the key");
    assert_eq!(world.billing.key_budget(world.spender(key)), None);
    world.spend_with(key, 5_000).await;
    set(Some(1_000)).await.expect("set").expect("the key");
    assert!(world.reserve_with(key, 1).is_err(), "more is spent");
    let refused = set(Some(-1)).await;
    assert!(matches!(refused, Err(BillingError::BadBudget { .. })));
    let unknown = world.billing.set_key_budget(&world.account, "tr_x", None);
    assert_eq!(unknown.await.expect("no key"), None);

    world.clock.advance(Duration::from_secs(31 * 24 * 60 * 60));
    assert_eq!(
        spent(&world.billing, &world.account, key),
        Nanodollars::ZERO
    );
    world.spend_with(key, 1_000).await;
    assert!(world.reserve_with(key, 1).is_err());
    world.check_sums().await;
}

#[tokio::test]
async fn spending_and_usage_of_a_key_outlive_a_restart() {
    let world = world(BALANCE).await;
    let key = new_key(&world.billing, &world.account, Some(BUDGET)).await;
    world.spend_with(key, 100).await;
    let run = world.run_with(key);
    let page = run.reserve_now(Nanodollars(700), "u", "1").expect("money");
    page.post(&charge(600)).await.expect("posted");
    let failed = run.reserve_now(Nanodollars(200), "u", "2");
    failed.expect("money").void("failed");
    world.spend_with(KeyPrefix::default(), 50).await;
    let unsettled = world.reserve_with(key, 300).expect("money");
    world.billing.flush().await.expect("flushed");
    // As if the process were killed here, before the reservation is settled.
    std::mem::forget((unsettled, run));

    let world = world.restarted().await;
    assert_eq!(spent(&world.billing, &world.account, key), Nanodollars(700));
    let page = world.reserve_with(key, 500).expect("money");
    assert_eq!(page.ceiling(), Nanodollars(300));
    drop(page);
    let usage = world
        .billing
        .usage_of_keys(&world.account, (Timestamp::MIN, Timestamp::MAX))
        .await;
    let usage = usage.expect("sums").into_iter();
    let usage: Vec<_> = usage
        .map(|one| {
            (
                one.key,
                one.name,
                one.used.n_pages,
                one.used.n_failed,
                one.used.charge,
            )
        })
        .collect();
    // Failed: one of the run, the one that was open, and the one that was dropped.
    let expected = [
        (KeyPrefix::default(), String::new(), 1, 0, charge(50)),
        (key, "ci".to_owned(), 2, 3, charge(700)),
    ];
    assert_eq!(usage, expected);

    // A revoked key authenticates no more, and its budget holds for what it has started.
    let revoked = world.billing.revoke_key(&world.account, key.as_str()).await;
    assert!(revoked.expect("revoked"));
    let budget = world.billing.key_budget(world.spender(key));
    assert_eq!(budget, Some(BUDGET));
    world.spend_with(key, 300).await;
    let world = world.restarted().await;
    assert!(matches!(
        world.reserve_with(key, 1),
        Err(FundsError::KeySpent(_))
    ));
    assert_eq!(world.billing.keys(&world.account).len(), 1);
}

#[tokio::test]
async fn a_page_that_grows_beyond_the_budget_is_refused_with_its_name() {
    let world = world(BALANCE).await;
    let key = new_key(&world.billing, &world.account, Some(BUDGET)).await;
    let soon = tokio::time::Instant::now() + Duration::from_secs(20);
    let run = world.run_with(key);
    let of_run = run.reserve_now(Nanodollars(100), "u", "1").expect("money");
    let alone = world.reserve_with(key, 100).expect("money");
    // The second page holds a part of the budget while the first one grows.
    for (mut page, expected) in [(of_run, 900), (alone, 1_000)] {
        let (needed, preferred) = (Nanodollars(900), Nanodollars(5_000));
        page.grow(needed, preferred, soon).await.expect("it fits");
        assert_eq!(page.ceiling(), Nanodollars(expected));
        let more = page.grow(Nanodollars(1_001), preferred, soon).await;
        let Err(FundsError::Short(short)) = more else {
            panic!("{more:?}");
        };
        assert_eq!((short.cap, short.of), (Cap::Key(key), BUDGET));
        assert!(short.to_string().contains(key.as_str()), "{short}");
        page.void("too large");
        assert_eq!(
            spent(&world.billing, &world.account, key),
            Nanodollars::ZERO
        );
    }
    drop(run);
    world.check_sums().await;
}

#[tokio::test]
async fn new_pages_of_a_key_wait_while_one_in_flight_needs_more_of_its_budget() {
    let world = world(BALANCE).await;
    let key = new_key(&world.billing, &world.account, Some(BUDGET)).await;
    let soon = tokio::time::Instant::now() + Duration::from_secs(20);
    let mut first = world.reserve_with(key, 100).expect("money");
    let other = world.reserve_with(key, 800).expect("money");
    let grown = tokio::spawn(async move {
        let wanted = Nanodollars(400);
        let grown = first.grow(wanted, wanted, soon).await;
        (grown, first)
    });
    let wallets = world.billing.accounts.wallets(world.spender(key));
    let wallet = wallets.expect("wallets").key;
    while !wallet.reserved_pages.is_starving() {
        assert!(tokio::time::Instant::now() < soon, "it does not wait");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // A tenth of the budget is left, but not for a new page.
    let new = world.reserve_with(key, 50).err();
    assert_eq!(new, Some(FundsError::AllHeld));
    world.spend_with(KeyPrefix::default(), 50).await;
    other.post(&charge(600)).await.expect("posted");
    let (grown, page) = grown.await.expect("no panic");
    assert_eq!((grown, page.ceiling()), (Ok(()), Nanodollars(400)));
    assert!(!wallet.reserved_pages.is_starving());
    page.post(&charge(400)).await.expect("posted");
    assert_eq!(spent(&world.billing, &world.account, key), BUDGET);
    world.check_sums().await;
}

/// An account on a store that fails when it is told to.
struct Faulty {
    billing: Billing,
    store: Arc<FaultyStore>,
    account: AccountId,
    _directory: tempfile::TempDir,
}

impl Faulty {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let data = DataDir::create(directory.path()).expect("a data directory");
        let store = SqliteStore::open(data).await.expect("a store");
        let store = Arc::new(FaultyStore::new(store));
        let billing = Billing::start(store.clone(), Clock::wall(), &TaskTracker::new()).await;
        let billing = billing.expect("billing starts");
        let created = billing.create_account("alice", BALANCE).await;
        Self {
            account: created.expect("a new account").0.id.clone(),
            billing,
            store,
            _directory: directory,
        }
    }

    /// What a key was charged in this month, by its row in the store.
    async fn stored(&self, key: KeyPrefix) -> Nanodollars {
        let stored = trawl_store::LedgerStore::keys(&*self.store).await;
        let stored = stored.expect("keys");
        let stored = stored.iter().find(|stored| stored.prefix == key.as_str());
        stored.expect("the key").spending.spent
    }
}

#[tokio::test]
async fn a_charge_that_is_not_written_returns_to_the_budget() {
    let faulty = Faulty::new().await;
    let (billing, store, account) = (&faulty.billing, &faulty.store, &faulty.account);
    let key = new_key(billing, account, Some(BUDGET)).await;
    let spender = Spender { account, key };
    let nothing = Nanodollars::ZERO;
    let run = billing.run_budget(spender, "c", Nanodollars::MAX, nothing);
    let run = run.expect("a budget");
    // The failing write is of the post alone, so that it fails alone.
    let alone = async || {
        let page = billing.reserve_likely(spender, Nanodollars(300), "u", "r");
        billing.flush().await.expect("the store works");
        page.expect("money")
    };
    let of_run = async |id: &str| {
        let page = run.reserve_now(Nanodollars(300), "u", id);
        billing.flush().await.expect("the store works");
        page.expect("money")
    };
    for (mode, expected) in [(FAILS, 0), (FAILS_AFTER_WRITE, 200)] {
        for page in [alone().await, of_run(&mode.to_string()).await] {
            store.set(mode);
            assert!(page.post(&charge(100)).await.is_err());
            store.set(WORKS);
            billing.flush().await.expect("the store works");
        }
        let spent = spent(billing, account, key);
        assert_eq!(spent, Nanodollars(expected), "{mode}");
        assert_eq!(faulty.stored(key).await, spent, "{mode}");
    }
    drop(run);
    billing.close().await;
}

#[tokio::test]
async fn a_refund_that_is_repeated_after_a_failure_returns_to_the_budget_once() {
    let faulty = Faulty::new().await;
    let (billing, account) = (&faulty.billing, &faulty.account);
    let key = new_key(billing, account, Some(BUDGET)).await;
    let spender = Spender { account, key };
    let run = billing.run_budget(spender, "c", Nanodollars::MAX, Nanodollars::ZERO);
    let run = run.expect("a budget");
    for mode in [FAILS, FAILS_AFTER_WRITE] {
        let id = mode.to_string();
        let page = run.reserve_now(Nanodollars(300), "u", &id).expect("money");
        page.post(&charge(300)).await.expect("posted");
        billing.flush().await.expect("the store works");
        assert_eq!(spent(billing, account, key), Nanodollars(300), "{mode}");
        faulty.store.set(mode);
        let refund = async || {
            run.refund(("u", id.as_str()), &charge(300), "it failed")
                .await
        };
        assert!(refund().await.is_err(), "{mode}");
        faulty.store.set(WORKS);
        for _ in 0..2 {
            refund().await.expect("the store works");
            assert_eq!(spent(billing, account, key), Nanodollars::ZERO, "{mode}");
            assert_eq!(faulty.stored(key).await, Nanodollars::ZERO, "{mode}");
            assert_eq!(run.spent(), Nanodollars::ZERO, "{mode}");
            assert_eq!(billing.funds(account).balance, BALANCE, "{mode}");
        }
    }
    drop(run);
    billing.close().await;
}

#[tokio::test]
async fn a_refund_counts_in_the_month_in_which_it_is_made() {
    let world = world(BALANCE).await;
    let key = new_key(&world.billing, &world.account, Some(BUDGET)).await;
    let soon = tokio::time::Instant::now() + Duration::from_secs(20);
    let run = world.run_with(key);
    let page = run.reserve(Nanodollars(300), "u", "1", soon).await;
    let page = page.expect("money");
    page.post(&charge(300)).await.expect("posted");
    // One month later.
    world.clock.advance(Duration::from_secs(30 * 86_400));
    assert_eq!(
        spent(&world.billing, &world.account, key),
        Nanodollars::ZERO
    );
    let refunded = run.refund(("u", "1"), &charge(300), "it failed").await;
    refunded.expect("refunded");
    drop(run);
    let expected = Nanodollars(-300);
    assert_eq!(spent(&world.billing, &world.account, key), expected);
    world.check_sums().await;
    let world = world.restarted().await;
    assert_eq!(spent(&world.billing, &world.account, key), expected);
    world.spend_with(key, 1_300).await;
    assert_eq!(spent(&world.billing, &world.account, key), BUDGET);
    assert!(world.reserve_with(key, 1).is_err());
    world.check_sums().await;
}
