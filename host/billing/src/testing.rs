//! A fixture for the tests of crates that depend on this one.
//! It is always compiled, because unit tests of the engine use it; the server never does.

use std::path::Path;
use std::sync::Arc;

use tokio_util::task::TaskTracker;

use trawl_model::Nanodollars;
use trawl_model::clock::Clock;
use trawl_store::sqlite::SqliteStore;
use trawl_store::{AccountId, DataDir, Store};

use crate::Billing;

/// Billing on a new ledger in this directory, with one account of this balance.
///
/// # Panics
/// When the directory cannot hold a ledger, or has one already.
pub async fn billing_with(directory: &Path, balance: Nanodollars) -> (Billing, AccountId) {
    let (billing, _store) = open(directory).await;
    let created = billing.create_account("alice", balance).await;
    let (account, _key) = created.expect("a new account");
    (billing, account.id.clone())
}

/// Billing on a ledger in this directory that can be read no more.
///
/// # Panics
/// As [`billing_with`].
pub async fn unreadable_billing(directory: &Path) -> Billing {
    let (billing, store) = open(directory).await;
    store.close().await;
    billing
}

async fn open(directory: &Path) -> (Billing, Arc<SqliteStore>) {
    let data = DataDir::create(directory).expect("a data directory");
    let store = Arc::new(SqliteStore::open(data).await.expect("a store"));
    let billing = Billing::start(store.clone(), Clock::wall(), &TaskTracker::new()).await;
    (billing.expect("billing starts"), store)
}
