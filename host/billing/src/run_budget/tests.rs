//! Ceilings are respected, no money is lost, and the allotment of a killed process is returned
//! exactly.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use trawl_model::clock::{Clock, Timestamp};
use trawl_model::{Charge, Nanodollars};
use trawl_store::sqlite::SqliteStore;
use trawl_store::{AccountId, DataDir, EntryKind, Store};

use super::RunBudget;
use crate::{Billing, Cap, FundsError, Reservation, Window};

struct World {
    billing: Billing,
    store: Arc<dyn Store>,
    account: AccountId,
    _directory: tempfile::TempDir,
}

impl World {
    async fn with(balance: i64) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let data = DataDir::create(directory.path()).expect("a data directory");
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(data).await.expect("a store"));
        let billing = started(&store).await;
        let (account, _) = billing
            .create_account("alice", Nanodollars(balance))
            .await
            .expect("an account");
        Self {
            account: account.id.clone(),
            billing,
            store,
            _directory: directory,
        }
    }

    fn budget(&self, run: &str, ceiling: i64) -> RunBudget {
        let ceiling = Nanodollars(ceiling);
        let budget = self
            .billing
            .run_budget(&self.account, run, ceiling, Nanodollars::ZERO);
        budget.expect("a budget")
    }

    async fn assert_consistent(&self, balance: i64, held: i64) {
        self.billing.flush().await.expect("written");
        let funds = self.billing.funds(&self.account);
        assert_eq!((funds.balance.0, funds.held.0), (balance, held));
        let audit = self.store.audit().await.expect("an audit");
        assert_eq!(audit.disagreements, []);
        let accounts = self.store.accounts().await.expect("accounts");
        assert_eq!((accounts[0].balance.0, accounts[0].held.0), (balance, held));
    }
}

async fn started(store: &Arc<dyn Store>) -> Billing {
    let billing = Billing::start(store.clone(), Clock::wall(), &TaskTracker::new()).await;
    billing.expect("billing starts")
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// Polls until this is so.
async fn until(is_so: impl Fn() -> bool) {
    let deadline = soon();
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn charge(amount: i64) -> Charge {
    Charge {
        bytes_transferred: Nanodollars(amount),
        ..Charge::default()
    }
}

#[tokio::test]
async fn pages_are_charged_to_one_allotment() {
    let world = World::with(1_000_000).await;
    let budget = world.budget("run", i64::MAX);
    for page in 0..100 {
        let reservation = budget
            .reserve(Nanodollars(1_000), "http://a/", &page.to_string(), soon())
            .await
            .expect("a reservation");
        assert_eq!(reservation.ceiling(), Nanodollars(1_000));
        if page % 4 == 0 {
            reservation.void("it failed");
        } else {
            reservation.post(&charge(10)).await.expect("posted");
        }
    }
    assert_eq!(budget.spent(), Nanodollars(750));
    budget.close();
    world.assert_consistent(1_000_000 - 750, 0).await;
    let entries = world.store.audit().await.expect("an audit").n_entries;
    assert!(
        entries < 100 + 10,
        "{entries} entries: the allotment grew too often"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_pages_never_exceed_the_ceiling() {
    let world = World::with(1_000_000).await;
    let budget = Arc::new(world.budget("run", 1_000));
    let pages = (0..200).map(|page| {
        let budget = Arc::clone(&budget);
        tokio::spawn(async move {
            let page = page.to_string();
            match budget
                .reserve(Nanodollars(90), "http://a/", &page, soon())
                .await
            {
                Ok(reservation) => reservation.post(&charge(17)).await.is_ok(),
                Err(error) => {
                    assert_eq!(error, FundsError::CeilingReached);
                    false
                }
            }
        })
    });
    let mut n_posted = 0;
    for page in pages.collect::<Vec<_>>() {
        n_posted += i64::from(page.await.expect("no panic"));
    }
    assert_eq!(budget.spent(), Nanodollars(17 * n_posted));
    // Only a remainder that is too small for a page is left.
    assert!((1_000 - 17 * n_posted) < 17, "{n_posted} pages");
    budget.close();
    world.assert_consistent(1_000_000 - 17 * n_posted, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runs_use_up_the_balance_without_deadlock() {
    let world = World::with(10_000).await;
    let runs = ["one", "two"].map(|run| {
        let budget = world.budget(run, i64::MAX);
        tokio::spawn(async move {
            let mut spent = 0;
            for page in 0.. {
                let name = page.to_string();
                match budget
                    .reserve(Nanodollars(6_000), "http://a/", &name, soon())
                    .await
                {
                    Ok(reservation) => {
                        spent += 700 * i64::from(reservation.post(&charge(700)).await.is_ok())
                    }
                    Err(FundsError::Empty) => break,
                    Err(error) => panic!("{error}"),
                }
                if spent == 0 && page > 100 || page > 1_000 {
                    break;
                }
            }
            budget.close();
            spent
        })
    });
    let mut spent = 0;
    for run in runs {
        spent += run.await.expect("no panic");
    }
    assert!(spent <= 10_000 && 10_000 - spent < 700, "{spent}");
    world.assert_consistent(10_000 - spent, 0).await;
}

#[tokio::test]
async fn the_allotment_of_a_killed_process_is_returned() {
    let world = World::with(100_000).await;
    let budget = world.budget("run", i64::MAX);
    let reserve =
        |page: &'static str| budget.reserve(Nanodollars(5_000), "http://a/", page, soon());
    let paid = reserve("paid").await.expect("a reservation");
    paid.post(&charge(1_234)).await.expect("posted");
    let open = reserve("open").await.expect("a reservation");
    world.billing.flush().await.expect("written");
    // The process is killed here: neither the page nor the budget is closed.
    std::mem::forget(open);
    std::mem::forget(budget);
    world.billing.close().await;
    let again = World {
        billing: started(&world.store).await,
        ..world
    };
    again.assert_consistent(100_000 - 1_234, 0).await;
    let charged = again.billing.charged("run", "paid").await;
    assert_eq!(charged.expect("an answer"), Some(charge(1_234)));
    let open = again.billing.charged("run", "open").await;
    assert_eq!(open.expect("an answer"), None);
}

#[tokio::test]
async fn a_page_that_an_earlier_process_charged_is_not_charged_again() {
    let world = World::with(100_000).await;
    let budget = world.budget("run", 10_000);
    let reserve = |budget: RunBudget, page: &'static str| async move {
        let reserved = budget.reserve(Nanodollars(5_000), "u", page, soon()).await;
        (budget, reserved.expect("a reservation"))
    };
    let (budget, first) = reserve(budget, "page").await;
    first.post(&charge(1_234)).await.expect("posted");
    std::mem::forget(budget);
    world.billing.close().await;

    let again = World {
        billing: started(&world.store).await,
        ..world
    };
    let spent = again.billing.spent_by_run("run").await.expect("a sum");
    assert_eq!(spent, Nanodollars(1_234));
    let other = again.billing.spent_by_run("ru").await;
    assert_eq!(other.expect("a sum"), Nanodollars::ZERO);
    let budget = again
        .billing
        .run_budget(&again.account, "run", Nanodollars(10_000), spent);
    let (budget, second) = reserve(budget.expect("a budget"), "page").await;
    let charged = second.post(&charge(999)).await.expect("charged before");
    assert_eq!(charged, charge(1_234));
    assert_eq!(budget.spent(), Nanodollars(1_234));
    budget.close();
    again.assert_consistent(100_000 - 1_234, 0).await;
}

#[tokio::test]
async fn an_idle_run_returns_its_allotment_to_others() {
    let world = World::with(10_000).await;
    let idle = world.budget("idle", i64::MAX);
    let first = idle.reserve(Nanodollars(10_000), "u", "1", soon()).await;
    first.expect("all there is").void("it failed");
    assert_eq!(world.billing.funds(&world.account).held.0, 10_000);

    let other = world.budget("other", i64::MAX);
    let page = other.reserve(Nanodollars(4_000), "u", "1", soon()).await;
    let page = page.expect("the idle run returned it");
    assert_eq!(page.ceiling().0, 4_000);
    let plain = world
        .billing
        .reserve(&world.account, Nanodollars(7_000), "u", "plain");
    assert_eq!(plain.expect("the rest").ceiling().0, 6_000);
    page.post(&charge(4_000)).await.expect("posted");
    drop((idle, other));
    world.assert_consistent(6_000, 0).await;
}

#[tokio::test]
async fn a_page_grows_to_the_last_nanodollar_and_is_then_refused_with_the_cap() {
    let world = World::with(10_000).await;
    let budget = world.budget("run", 1_000);
    let reserve = async |page| {
        let reserved = budget.reserve(Nanodollars(300), "u", page, soon()).await;
        reserved.expect("a reservation")
    };
    let (mut page, other) = (reserve("1").await, reserve("2").await);
    let all = Nanodollars(700);
    page.grow(all, all, soon()).await.expect("700 are left");
    assert_eq!(page.ceiling(), all);
    let more = Nanodollars(1_001);
    let error = page.grow(more, more, Instant::now()).await;
    let Err(FundsError::Short(short)) = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (short.cap, short.wanted, short.of),
        (Cap::Run, more, Nanodollars(1_000))
    );
    assert_eq!((short.elsewhere.0, short.may_pass()), (300, false));
    other.post(&charge(100)).await.expect("posted");
    page.post(&charge(700)).await.expect("posted");
    assert_eq!(budget.left(), Nanodollars(200));
    let mut last = reserve("3").await;
    assert_eq!(last.ceiling(), Nanodollars(200));
    // It is alone, so there is nothing to wait for.
    let error = last.grow(Nanodollars(201), Nanodollars(201), soon()).await;
    assert!(matches!(error, Err(FundsError::Short(_))), "{error:?}");
    last.post(&charge(200)).await.expect("posted");
    let next = budget.reserve(Nanodollars(1), "u", "4", soon()).await;
    assert_eq!(next.err(), Some(FundsError::CeilingReached));
    budget.close();
    world.assert_consistent(9_000, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_grow_beyond_what_they_share_end_one_by_one() {
    let world = World::with(100_000).await;
    let budget = Arc::new(world.budget("run", 1_000));
    let pages = (0..10).map(|page| {
        let budget = Arc::clone(&budget);
        tokio::spawn(async move {
            let mut refusals = 0;
            loop {
                let id = page.to_string();
                let likely = Nanodollars(if refusals == 0 { 10 } else { 100 });
                let mut page = budget
                    .reserve(likely, "u", &id, soon())
                    .await
                    .expect("money");
                for total in [20, 40, 100] {
                    tokio::task::yield_now().await;
                    let total = Nanodollars(total);
                    if page.grow(total, total, soon()).await.is_err() {
                        break;
                    }
                }
                if page.ceiling().0 >= 100 {
                    return page.post(&charge(100)).await.expect("posted");
                }
                refusals += 1;
                assert!(refusals < 3, "refused again with its whole cost reserved");
                page.void("refused");
            }
        })
    });
    for page in pages.collect::<Vec<_>>() {
        page.await.expect("no panic");
    }
    assert_eq!(budget.spent(), Nanodollars(1_000));
    budget.close();
    world.assert_consistent(99_000, 0).await;
}

#[tokio::test]
async fn a_page_without_a_run_grows_and_a_kill_returns_all_of_it() {
    let world = World::with(10_000).await;
    let reserve = || {
        world
            .billing
            .reserve(&world.account, Nanodollars(100), "u", "r")
    };
    let (mut killed, mut paid) = (reserve().expect("money"), reserve().expect("money"));
    for page in [&mut killed, &mut paid] {
        let (needed, preferred) = (Nanodollars(150), Nanodollars(300));
        page.grow(needed, preferred, soon()).await.expect("money");
        page.grow(Nanodollars(400), Nanodollars(400), soon())
            .await
            .expect("money");
        assert_eq!(page.ceiling().0, 400);
    }
    world.assert_consistent(10_000, 800).await;
    let error = paid
        .grow(Nanodollars(9_601), Nanodollars(9_601), Instant::now())
        .await;
    let Err(FundsError::Short(short)) = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (short.cap, short.of.0, short.elsewhere.0),
        (Cap::Balance, 10_000, 400)
    );
    paid.post(&charge(399)).await.expect("posted");
    world.assert_consistent(9_601, 400).await;
    std::mem::forget(killed);
    world.billing.close().await;
    let again = World {
        billing: started(&world.store).await,
        ..world
    };
    again.assert_consistent(9_601, 0).await;
}

#[tokio::test]
async fn a_waiting_page_learns_that_the_balance_is_used_up() {
    let world = World::with(100).await;
    let budget = Arc::new(world.budget("run", i64::MAX));
    let page = budget.reserve(Nanodollars(100), "u", "1", soon()).await;
    let page = page.expect("all there is");
    let same = Arc::clone(&budget);
    let next = tokio::spawn(async move {
        let next = same.reserve(Nanodollars(100), "u", "2", soon()).await;
        next.err()
    });
    tokio::task::yield_now().await;
    page.post(&charge(100)).await.expect("posted");
    let error = tokio::time::timeout(Duration::from_secs(20), next).await;
    let error = error.expect("in time").expect("no panic");
    assert_eq!(error, Some(FundsError::Empty));
}

#[tokio::test]
async fn a_failed_page_is_recorded_with_url_and_reason_at_zero() {
    let world = World::with(10_000).await;
    let budget = world.budget("run", i64::MAX);
    let page = budget
        .reserve(Nanodollars(500), "http://a/x", "1", soon())
        .await;
    page.expect("a reservation").void("timed out");
    budget.close();
    assert_eq!(
        budget.reserve(Nanodollars(1), "u", "2", soon()).await.err(),
        Some(FundsError::CeilingReached)
    );
    let window = Window {
        from: Timestamp::MIN,
        to: Timestamp::MAX,
        after: 0,
        limit: 100,
    };
    let statement = world.billing.statement(&world.account, window).await;
    let entries = statement.expect("a statement").entries;
    let void = entries
        .iter()
        .find(|posted| &*posted.entry.url == "http://a/x");
    let void = &void.expect("the page's void").entry;
    assert_eq!(
        (void.kind, void.amount, void.held, void.reason.as_str()),
        (
            EntryKind::Void,
            Nanodollars::ZERO,
            Nanodollars::ZERO,
            "timed out"
        )
    );
    world.assert_consistent(10_000, 0).await;
}

#[tokio::test]
async fn money_that_is_given_back_can_be_reserved_again() {
    let world = World::with(10_000).await;
    let budget = world.budget("run", 4_000);
    for _ in 0..3 {
        let page = budget.reserve(Nanodollars(4_000), "http://a/x", "1", soon());
        let page = page.await.expect("the whole ceiling");
        page.give_back();
    }
    let page = budget.reserve(Nanodollars(4_000), "http://a/x", "1", soon());
    let page = page.await.expect("the whole ceiling");
    page.post(&charge(1_000)).await.expect("posted");
    let plain = || {
        world
            .billing
            .reserve(&world.account, Nanodollars(5_000), "http://a/y", "plain")
    };
    plain().expect("money").give_back();
    let again = plain().expect("money");
    assert_eq!(again.ceiling(), Nanodollars(5_000));
    again.post(&charge(500)).await.expect("posted");
    budget.close();
    world.assert_consistent(8_500, 0).await;
    let usage = world.store.usage(Timestamp::MIN, Timestamp::MAX).await;
    let usage = usage.expect("the usage");
    // A page that releases its money continues: it has not failed.
    assert_eq!((usage[0].n_pages, usage[0].n_failed), (2, 0));
}

#[tokio::test]
async fn a_page_that_lacks_the_accounts_money_after_its_runs_stops_new_pages() {
    let world = World::with(1_000).await;
    let budget = world.budget("run", 500);
    let reserve = async |amount: i64, page| {
        let page = budget.reserve(Nanodollars(amount), "u", page, soon());
        page.await.expect("money")
    };
    let (mut waiting, other) = (reserve(100, "1").await, reserve(300, "2").await);
    let grown = tokio::spawn(async move {
        let wanted = Nanodollars(300);
        let grown = waiting.grow(wanted, wanted, soon()).await;
        (grown, waiting)
    });
    let wallet = world
        .billing
        .accounts
        .wallet(&world.account)
        .expect("a wallet");
    until(|| budget.allotment.reserved_pages.is_starving()).await;
    assert!(!wallet.reserved_pages.is_starving(), "the account has more");
    // The run's money is free again, but another page has all of the account's by now.
    other.void("it failed");
    let plain = |amount: i64| {
        let billing = &world.billing;
        billing.reserve(&world.account, Nanodollars(amount), "u", "plain")
    };
    let (some, rest) = (plain(50), plain(850));
    let (some, rest) = (some.expect("money"), rest.expect("money"));
    assert_eq!(rest.ceiling(), Nanodollars(850));
    until(|| wallet.reserved_pages.is_starving()).await;
    assert!(!budget.allotment.reserved_pages.is_starving());
    some.void("it failed");
    let new = world
        .billing
        .reserve_likely(&world.account, Nanodollars(10), "u", "new");
    assert_eq!(new.err(), Some(FundsError::AllHeld));
    rest.void("it failed");
    let (grown, page) = grown.await.expect("no panic");
    assert_eq!((grown, page.ceiling()), (Ok(()), Nanodollars(300)));
    page.post(&charge(300)).await.expect("posted");
    budget.close();
    world.assert_consistent(700, 0).await;
}

/// One operation on an account with three runs.
#[derive(Clone, Debug)]
enum Step {
    /// A run, a ceiling and a page, which may have been charged before.
    Reserve(usize, i64, u8),
    Plain(i64),
    Grow(usize, i64),
    Post(usize, i64),
    Void(usize),
    Drop(usize),
    Close(usize),
    TopUp(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3_usize, 0..4_000_i64, 0..6_u8).prop_map(|(run, ceiling, page)| Step::Reserve(run, ceiling, page)),
        1 => (0..4_000_i64).prop_map(Step::Plain),
        3 => (any::<usize>(), 0..6_000_i64).prop_map(|(n, to)| Step::Grow(n, to)),
        4 => (any::<usize>(), 0..4_500_i64).prop_map(|(n, charge)| Step::Post(n, charge)),
        1 => any::<usize>().prop_map(Step::Void),
        1 => any::<usize>().prop_map(Step::Drop),
        1 => (0..12_usize).prop_map(Step::Close),
        1 => (1..2_000_i64).prop_map(Step::TopUp),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn runs_respect_their_ceilings_and_entries_add_up_under_any_interleaving(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(play(steps));
    }
}

/// Ceilings of the three runs; together they exceed the balance.
const CEILINGS: [i64; 3] = [3_000, 9_000, i64::MAX];

async fn play(steps: Vec<Step>) {
    let world = World::with(10_000).await;
    let runs = ["a", "b", "c"];
    let budgets: Vec<RunBudget> = (0..3).map(|n| world.budget(runs[n], CEILINGS[n])).collect();
    let mut paid_in = 10_000;
    let mut reservations: Vec<(Option<(usize, u8)>, Reservation)> = Vec::new();
    let mut paid = std::collections::HashMap::<(usize, u8), Charge>::new();
    let mut plain = 0;
    for step in steps {
        let mut pick = |n: usize| {
            let n_open = reservations.len();
            (n_open > 0).then(|| reservations.swap_remove(n % n_open))
        };
        match step {
            Step::Reserve(run, ceiling, page) => {
                let id = page.to_string();
                let now = Instant::now();
                let reservation = budgets[run]
                    .reserve(Nanodollars(ceiling), "u", &id, now)
                    .await;
                reservations.extend(
                    reservation
                        .ok()
                        .map(|reservation| (Some((run, page)), reservation)),
                );
            }
            Step::Plain(ceiling) => {
                let reservation =
                    world
                        .billing
                        .reserve(&world.account, Nanodollars(ceiling), "u", "r");
                reservations.extend(reservation.ok().map(|reservation| (None, reservation)));
            }
            Step::Grow(n, to) => {
                if let Some((page, mut reservation)) = pick(n) {
                    let (before, to) = (reservation.ceiling(), Nanodollars(to));
                    let grown = reservation.grow(to, to, Instant::now()).await;
                    let expected = if grown.is_ok() {
                        before.max(to)
                    } else {
                        before
                    };
                    assert_eq!(reservation.ceiling(), expected);
                    reservations.push((page, reservation));
                }
            }
            Step::Post(n, amount) => {
                if let Some((page, reservation)) = pick(n) {
                    let fits = amount <= reservation.ceiling().0;
                    let posted = reservation.post(&charge(amount)).await;
                    assert_eq!(posted.is_ok(), fits);
                    match (posted, page) {
                        (Ok(charged), Some(page)) => {
                            assert_eq!(*paid.entry(page).or_insert(charged), charged);
                        }
                        (Ok(charged), None) => plain += charged.total().0,
                        (Err(_), _) => {}
                    }
                }
            }
            Step::Void(n) => pick(n)
                .into_iter()
                .for_each(|(_, reservation)| reservation.void("failed")),
            Step::Drop(n) => drop(pick(n)),
            Step::Close(run) => {
                if let Some(budget) = budgets.get(run) {
                    budget.close();
                }
            }
            Step::TopUp(amount) => {
                let done = world
                    .billing
                    .top_up(&world.account, Nanodollars(amount), None);
                done.await.expect("paid in");
                paid_in += amount;
            }
        }
        let funds = world.billing.funds(&world.account);
        let reserved: i64 = reservations
            .iter()
            .map(|(_, reservation)| reservation.ceiling().0)
            .sum();
        assert!(reserved <= funds.held.0 && funds.held <= funds.balance);
        for (run, budget) in budgets.iter().enumerate() {
            let pages = paid.iter().filter(|((of, _), _)| *of == run);
            let billed: i64 = pages.map(|(_, charge)| charge.total().0).sum();
            let held = reservations
                .iter()
                .filter(|(page, _)| page.is_some_and(|(of, _)| of == run));
            let held: i64 = held.map(|(_, reservation)| reservation.ceiling().0).sum();
            assert_eq!(budget.spent().0, billed);
            assert!(
                held <= CEILINGS[run] - billed,
                "the run may exceed its ceiling"
            );
        }
        let billed: i64 = paid.values().map(|charge| charge.total().0).sum();
        world
            .assert_consistent(paid_in - billed - plain, funds.held.0)
            .await;
    }
    drop((reservations, budgets));
    let billed: i64 = paid.values().map(|charge| charge.total().0).sum();
    world.assert_consistent(paid_in - billed - plain, 0).await;
    assert_eq!(world.store.open_reserves().await.expect("a search"), []);
}

#[tokio::test]
async fn a_run_that_must_end_soon_waits_for_no_money() {
    let world = World::with(1_000).await;
    let budget = Arc::new(world.budget("run", i64::MAX));
    let likely = Nanodollars(1_000);
    let first = budget.reserve(likely, "http://a/", "1", soon()).await;
    let first = first.expect("all of it");
    // Far above the time that the test takes.
    let deadline = Instant::now() + Duration::from_secs(3_600);
    let waiting = tokio::spawn({
        let budget = Arc::clone(&budget);
        async move { budget.reserve(likely, "http://a/", "2", deadline).await }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!waiting.is_finished(), "the first page holds the money");
    budget.end_waits();
    let ended = tokio::time::timeout(Duration::from_secs(20), waiting).await;
    let refused = ended.expect("in time").expect("no panic");
    assert!(matches!(refused, Err(FundsError::Short(_))), "{refused:?}");
    // What is available at once is still reserved.
    first.void("done");
    let last = budget.reserve(likely, "http://a/", "3", deadline).await;
    last.expect("available").void("done");
}

#[tokio::test]
async fn a_page_of_a_run_that_must_end_soon_waits_for_no_more_than_it_has() {
    let world = World::with(1_000).await;
    let budget = world.budget("run", i64::MAX);
    let first = budget.reserve(Nanodollars(600), "http://a/", "1", soon());
    let first = first.await.expect("a part");
    let second = budget.reserve(Nanodollars(400), "http://a/", "2", soon());
    let mut second = second.await.expect("the rest");
    // Far above the time that the test takes.
    let deadline = Instant::now() + Duration::from_secs(3_600);
    let needed = Nanodollars(900);
    let growing = async {
        tokio::join!(second.grow(needed, needed, deadline), async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            budget.end_waits();
        })
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), growing).await;
    let (grown, ()) = ended.expect("in time");
    assert!(matches!(grown, Err(FundsError::Short(_))), "{grown:?}");
    assert_eq!(second.ceiling(), Nanodollars(400));
    first.void("done");
    // What is available at once is still reserved.
    let grown = second.grow(needed, needed, deadline).await;
    assert_eq!(grown, Ok(()));
    second.void("done");
}
