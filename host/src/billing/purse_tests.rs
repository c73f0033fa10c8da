//! The purse: ceilings hold, nothing is lost, and a slice that a killed process left is given back to the nanodollar.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::*;
use crate::model::Charge;
use crate::store::DataDir;
use crate::store::sqlite::SqliteStore;

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
        let billing = Billing::start(Arc::clone(&store), Clock::wall(), &TaskTracker::new()).await;
        let billing = billing.expect("billing");
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

    fn purse(&self, run: &str, ceiling: i64) -> Purse {
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
            _ => hold.post(&charge(10)).await.expect("posted"),
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
    let tasks = TaskTracker::new();
    let again = Billing::start(Arc::clone(&world.store), Clock::wall(), &tasks).await;
    let again = World {
        billing: again.expect("billing"),
        ..world
    };
    again.assert_right(100_000 - 1_234, 0).await;
    let charged = again.billing.charged("run", "paid").await;
    assert_eq!(charged.expect("an answer"), Some(charge(1_234)));
    let open = again.billing.charged("run", "open").await;
    assert_eq!(open.expect("an answer"), None);
}
