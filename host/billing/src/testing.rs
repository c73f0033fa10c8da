//! A fixture for the tests of crates that depend on this one.
//! It is always compiled, because unit tests of the engine use it; the server never does.

use std::path::Path;
use std::sync::Arc;

use tokio_util::task::TaskTracker;

use trawl_model::Nanodollars;
use trawl_model::clock::Clock;
use trawl_store::sqlite::SqliteStore;
use trawl_store::{AccountId, DataDir};

use crate::Billing;

/// Billing on a new ledger in this directory, with one account of this balance.
///
/// # Panics
/// When the directory cannot hold a ledger, or has one already.
pub async fn billing_with(directory: &Path, balance: Nanodollars) -> (Billing, AccountId) {
    let data = DataDir::create(directory).expect("a data directory");
    let store = SqliteStore::open(data).await.expect("a store");
    let billing = Billing::start(Arc::new(store), Clock::wall(), &TaskTracker::new()).await;
    let billing = billing.expect("billing starts");
    let created = billing.create_account("alice", balance).await;
    let (account, _key) = created.expect("a new account");
    (billing, account.id.clone())
}
