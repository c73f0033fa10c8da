//! The suite of [`LedgerStore`], on an empty store.

pub(crate) mod accounts;
pub(crate) mod entries;

use trawl_model::clock::Timestamp;

use super::fixtures::{account, entry, key};
use crate::{EntryKind, LedgerEntry, LedgerStore, Window};

fn top_up(amount: i64) -> LedgerEntry {
    entry("t:1", EntryKind::TopUp, amount, 0)
}

fn whole_ledger() -> Window {
    Window {
        from: Timestamp::MIN,
        to: Timestamp::MAX,
        after: 0,
        limit: 1000,
    }
}

/// Creates `acc_1` with one key and this balance.
async fn with_account(store: &dyn LedgerStore, amount: i64) {
    let created = store
        .create_account(&account(1), &key(1, 1), &[top_up(amount)])
        .await;
    created.expect("a new account");
}

/// Balance and reserved money of `acc_1`, which must agree with its entries.
async fn sums(store: &dyn LedgerStore) -> (i64, i64) {
    let statement = store
        .statement(&account(1).id, whole_ledger())
        .await
        .expect("a statement");
    let audit = store.audit().await.expect("an audit");
    assert_eq!(audit.disagreements, []);
    assert_eq!(audit.key_disagreements, []);
    (statement.balance.0, statement.held.0)
}
