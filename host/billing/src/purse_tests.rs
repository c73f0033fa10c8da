//! The purse: ceilings hold, nothing is lost, and a slice that a killed process left is given back to the nanodollar.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::*;
use trawl_model::Charge;
use trawl_model::clock::Timestamp;
use trawl_store::DataDir;
use trawl_store::sqlite::SqliteStore;

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

    fn purse(&self, run: &str, ceiling: i64) -> RunBudget {
        let ceiling = Nanodollars(ceiling);
        let purse = self
            .billing
            .purse(&self.account, run, ceiling, Nanodollars::ZERO);
        purse.expect("a purse")
    }

    async fn assert_right(&self, balance: i64, held: i64) {
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
    let billing = Billing::start(Arc::clone(store), Clock::wall(), &TaskTracker::new()).await;
    billing.expect("billing starts")
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn charge(amount: i64) -> Charge {
    Charge {
        bytes_transferred: Nanodollars(amount),
        ..Charge::default()
    }
}

#[tokio::test]
async fn pages_are_paid_out_of_one_slice() {
    let world = World::with(1_000_000).await;
    let purse = world.purse("run", i64::MAX);
    for page in 0..100 {
        let hold = purse
            .hold(Nanodollars(1_000), "http://a/", &page.to_string(), soon())
            .await
            .expect("a hold");
        assert_eq!(hold.ceiling(), Nanodollars(1_000));
        match page % 4 {
            0 => hold.void("it failed"),
            _ => drop(hold.post(&charge(10)).await.expect("posted")),
        }
    }
    assert_eq!(purse.spent(), Nanodollars(750));
    purse.close();
    world.assert_right(1_000_000 - 750, 0).await;
    let entries = world.store.audit().await.expect("an audit").n_entries;
    assert!(
        entries < 100 + 10,
        "{entries} entries: the slice grew too often"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ceiling_is_never_passed_whatever_runs_at_once() {
    let world = World::with(1_000_000).await;
    let purse = Arc::new(world.purse("run", 1_000));
    let pages = (0..200).map(|page| {
        let purse = Arc::clone(&purse);
        tokio::spawn(async move {
            let page = page.to_string();
            match purse
                .hold(Nanodollars(90), "http://a/", &page, soon())
                .await
            {
                Ok(hold) => hold.post(&charge(17)).await.is_ok(),
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
    assert_eq!(purse.spent(), Nanodollars(17 * n_posted));
    // The last share may be too small for a page, and no more than that is left over.
    assert!((1_000 - 17 * n_posted) < 17, "{n_posted} pages");
    purse.close();
    world.assert_right(1_000_000 - 17 * n_posted, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runs_share_the_last_cent_and_neither_waits_for_ever() {
    let world = World::with(10_000).await;
    let runs = ["one", "two"].map(|run| {
        let purse = world.purse(run, i64::MAX);
        tokio::spawn(async move {
            let mut spent = 0;
            for page in 0.. {
                let name = page.to_string();
                match purse
                    .hold(Nanodollars(6_000), "http://a/", &name, soon())
                    .await
                {
                    Ok(hold) => spent += 700 * i64::from(hold.post(&charge(700)).await.is_ok()),
                    Err(FundsError::Empty) => break,
                    Err(error) => panic!("{error}"),
                }
                if spent == 0 && page > 100 || page > 1_000 {
                    break;
                }
            }
            purse.close();
            spent
        })
    });
    let mut spent = 0;
    for run in runs {
        spent += run.await.expect("no panic");
    }
    assert!(spent <= 10_000 && 10_000 - spent < 700, "{spent}");
    world.assert_right(10_000 - spent, 0).await;
}

#[tokio::test]
async fn what_a_killed_process_left_of_a_slice_is_given_back() {
    let world = World::with(100_000).await;
    let purse = world.purse("run", i64::MAX);
    let hold = |page: &'static str| purse.hold(Nanodollars(5_000), "http://a/", page, soon());
    let paid = hold("paid").await.expect("a hold");
    paid.post(&charge(1_234)).await.expect("posted");
    let open = hold("open").await.expect("a hold");
    world.billing.flush().await.expect("written");
    // The process ends here: neither the page nor the purse is ended.
    std::mem::forget(open);
    std::mem::forget(purse);
    world.billing.close().await;
    let again = World {
        billing: started(&world.store).await,
        ..world
    };
    again.assert_right(100_000 - 1_234, 0).await;
    let charged = again.billing.charged("run", "paid").await;
    assert_eq!(charged.expect("an answer"), Some(charge(1_234)));
    let open = again.billing.charged("run", "open").await;
    assert_eq!(open.expect("an answer"), None);
}

#[tokio::test]
async fn a_page_that_an_earlier_process_paid_is_not_paid_again() {
    let world = World::with(100_000).await;
    let purse = world.purse("run", 10_000);
    let hold = |purse: RunBudget, page: &'static str| async move {
        let held = purse.hold(Nanodollars(5_000), "u", page, soon()).await;
        (purse, held.expect("a hold"))
    };
    let (purse, first) = hold(purse, "page").await;
    first.post(&charge(1_234)).await.expect("posted");
    std::mem::forget(purse);
    world.billing.close().await;

    let again = World {
        billing: started(&world.store).await,
        ..world
    };
    let spent = again.billing.spent_by_run("run").await.expect("a sum");
    assert_eq!(spent, Nanodollars(1_234));
    let other = again.billing.spent_by_run("ru").await;
    assert_eq!(other.expect("a sum"), Nanodollars::ZERO);
    let purse = again
        .billing
        .purse(&again.account, "run", Nanodollars(10_000), spent);
    let (purse, second) = hold(purse.expect("a purse"), "page").await;
    let stands = second.post(&charge(999)).await.expect("it stands");
    assert_eq!(stands, charge(1_234));
    assert_eq!(purse.spent(), Nanodollars(1_234));
    purse.close();
    again.assert_right(100_000 - 1_234, 0).await;
}

#[tokio::test]
async fn an_idle_run_keeps_nothing_from_others() {
    let world = World::with(10_000).await;
    let idle = world.purse("idle", i64::MAX);
    let first = idle.hold(Nanodollars(10_000), "u", "1", soon()).await;
    first.expect("all there is").void("it failed");
    assert_eq!(world.billing.funds(&world.account).held.0, 10_000);

    let other = world.purse("other", i64::MAX);
    let page = other.hold(Nanodollars(4_000), "u", "1", soon()).await;
    let page = page.expect("the idle run gave it back");
    assert_eq!((page.ceiling().0, page.shortage()), (4_000, None));
    let plain = world
        .billing
        .hold(&world.account, Nanodollars(7_000), "u", "plain");
    assert_eq!(plain.expect("the rest").ceiling().0, 6_000);
    page.post(&charge(4_000)).await.expect("posted");
    drop((idle, other));
    world.assert_right(6_000, 0).await;
}

#[tokio::test]
async fn who_waits_hears_that_the_last_money_is_spent() {
    let world = World::with(100).await;
    let purse = Arc::new(world.purse("run", i64::MAX));
    let page = purse.hold(Nanodollars(100), "u", "1", soon()).await;
    let page = page.expect("all there is");
    let waits = Arc::clone(&purse);
    let next = tokio::spawn(async move {
        let next = waits.hold(Nanodollars(100), "u", "2", soon()).await;
        next.err()
    });
    tokio::task::yield_now().await;
    page.post(&charge(100)).await.expect("posted");
    let told = tokio::time::timeout(Duration::from_secs(5), next).await;
    let told = told.expect("in time").expect("no panic");
    assert_eq!(told, Some(FundsError::Empty));
}

#[tokio::test]
async fn a_failed_page_stands_with_its_address_and_reason_at_nothing() {
    let world = World::with(10_000).await;
    let purse = world.purse("run", i64::MAX);
    let page = purse
        .hold(Nanodollars(500), "http://a/x", "1", soon())
        .await;
    page.expect("a hold").void("timed out");
    purse.close();
    assert_eq!(
        purse.hold(Nanodollars(1), "u", "2", soon()).await.err(),
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
    world.assert_right(10_000, 0).await;
}

/// One thing that can happen to an account with three runs.
#[derive(Clone, Debug)]
enum Step {
    /// Of a run, with a ceiling and a page, which may be one that was paid before.
    Hold(usize, i64, u8),
    Plain(i64),
    Post(usize, i64),
    Void(usize),
    Drop(usize),
    Close(usize),
    TopUp(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3_usize, 0..4_000_i64, 0..6_u8).prop_map(|(run, ceiling, page)| Step::Hold(run, ceiling, page)),
        1 => (0..4_000_i64).prop_map(Step::Plain),
        4 => (any::<usize>(), 0..4_500_i64).prop_map(|(hold, charge)| Step::Post(hold, charge)),
        1 => any::<usize>().prop_map(Step::Void),
        1 => any::<usize>().prop_map(Step::Drop),
        1 => (0..12_usize).prop_map(Step::Close),
        1 => (1..2_000_i64).prop_map(Step::TopUp),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn runs_stay_under_their_ceilings_and_entries_add_up_at_any_interleaving(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(play(steps));
    }
}

/// Ceilings of the three runs; the account has less than all of them.
const CEILINGS: [i64; 3] = [3_000, 9_000, i64::MAX];

async fn play(steps: Vec<Step>) {
    let world = World::with(10_000).await;
    let runs = ["a", "b", "c"];
    let purses: Vec<RunBudget> = (0..3).map(|n| world.purse(runs[n], CEILINGS[n])).collect();
    let mut paid_in = 10_000;
    let mut holds: Vec<(Option<(usize, u8)>, Hold)> = Vec::new();
    let mut paid = std::collections::HashMap::<(usize, u8), Charge>::new();
    let mut plain = 0;
    for step in steps {
        let mut pick = |n: usize| {
            let n_holds = holds.len();
            (n_holds > 0).then(|| holds.swap_remove(n % n_holds))
        };
        match step {
            Step::Hold(run, ceiling, page) => {
                let id = page.to_string();
                let now = Instant::now();
                let hold = purses[run].hold(Nanodollars(ceiling), "u", &id, now).await;
                holds.extend(hold.ok().map(|hold| (Some((run, page)), hold)));
            }
            Step::Plain(ceiling) => {
                let hold = world
                    .billing
                    .hold(&world.account, Nanodollars(ceiling), "u", "r");
                holds.extend(hold.ok().map(|hold| (None, hold)));
            }
            Step::Post(n, amount) => {
                if let Some((page, hold)) = pick(n) {
                    let fits = amount <= hold.ceiling().0;
                    let posted = hold.post(&charge(amount)).await;
                    assert_eq!(posted.is_ok(), fits);
                    match (posted, page) {
                        (Ok(stands), Some(page)) => {
                            assert_eq!(*paid.entry(page).or_insert(stands), stands);
                        }
                        (Ok(stands), None) => plain += stands.total().0,
                        (Err(_), _) => {}
                    }
                }
            }
            Step::Void(n) => pick(n)
                .into_iter()
                .for_each(|(_, hold)| hold.void("failed")),
            Step::Drop(n) => drop(pick(n)),
            Step::Close(run) => {
                if let Some(purse) = purses.get(run) {
                    purse.close();
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
        let promised: i64 = holds.iter().map(|(_, hold)| hold.ceiling().0).sum();
        assert!(promised <= funds.held.0 && funds.held <= funds.balance);
        for (run, purse) in purses.iter().enumerate() {
            let pages = paid.iter().filter(|((of, _), _)| *of == run);
            let billed: i64 = pages.map(|(_, charge)| charge.total().0).sum();
            let held = holds
                .iter()
                .filter(|(page, _)| page.is_some_and(|(of, _)| of == run));
            let held: i64 = held.map(|(_, hold)| hold.ceiling().0).sum();
            assert_eq!(purse.spent().0, billed);
            assert!(
                held <= CEILINGS[run] - billed,
                "the run may pass its ceiling"
            );
        }
        let billed: i64 = paid.values().map(|charge| charge.total().0).sum();
        world
            .assert_right(paid_in - billed - plain, funds.held.0)
            .await;
    }
    drop((holds, purses));
    let billed: i64 = paid.values().map(|charge| charge.total().0).sum();
    world.assert_right(paid_in - billed - plain, 0).await;
    assert_eq!(world.store.open_reserves().await.expect("a search"), []);
}
