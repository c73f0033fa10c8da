//! An account on a store in a temporary directory, with a fake clock.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::task::TaskTracker;

use trawl_model::Nanodollars;
use trawl_model::clock::{Clock, Timestamp};
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, DataDirError, Store};

use crate::{AccountId, Billing, FundsError, Reservation, StatementPage, Window};

/// Far longer than a process takes to start.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct World {
    pub(super) billing: Billing,
    store: Arc<dyn Store>,
    pub(super) clock: Clock,
    pub(super) account: AccountId,
    pub(super) directory: tempfile::TempDir,
}

/// An account with this opening top-up.
pub(super) async fn world(top_up: Nanodollars) -> World {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let clock = Clock::fake(Timestamp(1_700_000_000_000));
    let (billing, store) = open(&directory, &clock).await;
    let created = billing.create_account("alice", top_up).await;
    let (account, _key) = created.expect("a new account");
    World {
        billing,
        store,
        clock,
        account: account.id.clone(),
        directory,
    }
}

/// Locks a data directory, also one that was closed a moment ago. A process that another test
/// starts has the files of this one until it runs its own program, the lock among them.
pub(crate) async fn locked(directory: &Path) -> DataDir {
    let started = Instant::now();
    loop {
        match DataDir::create(directory) {
            Err(DataDirError::InUse { .. }) if started.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            data => return data.expect("a data directory"),
        }
    }
}

async fn open(directory: &tempfile::TempDir, clock: &Clock) -> (Billing, Arc<dyn Store>) {
    let data = locked(directory.path()).await;
    let store = SqliteStore::open(data).await.expect("a store");
    let store: Arc<dyn Store> = Arc::new(store);
    let billing = Billing::start(store.clone(), clock.clone(), &TaskTracker::new()).await;
    (billing.expect("billing starts"), store)
}

impl World {
    pub(super) async fn restarted(self) -> Self {
        let Self {
            billing,
            store,
            clock,
            account,
            directory,
        } = self;
        billing.close().await;
        store.close().await;
        drop((billing, store));
        let (billing, store) = open(&directory, &clock).await;
        Self {
            billing,
            store,
            clock,
            account,
            directory,
        }
    }

    pub(super) fn reserve(&self, ceiling: i64) -> Result<Reservation, FundsError> {
        let ceiling = Nanodollars(ceiling);
        self.billing
            .reserve(&self.account, ceiling, "https://example.com/", "run_1")
    }

    pub(super) async fn statement(&self) -> StatementPage {
        let statement = self.billing.statement(&self.account, whole_ledger()).await;
        statement.expect("a statement")
    }

    pub(super) async fn check_sums(&self) {
        let audit = self.billing.verify().await.expect("an audit");
        assert_eq!(audit.disagreements, []);
        assert_eq!(audit.key_disagreements, []);
        let statement = self.statement().await;
        let funds = self.billing.funds(&self.account);
        assert_eq!(statement.balance, funds.balance);
        assert_eq!(statement.held, funds.held);
    }
}

fn whole_ledger() -> Window {
    Window {
        from: Timestamp::MIN,
        to: Timestamp::MAX,
        after: 0,
        limit: u32::MAX,
    }
}
