//! The suite of [`LedgerStore`], on an empty store.

pub(crate) mod accounts;
pub(crate) mod entries;

use std::time::Duration;

use trawl_model::clock::Timestamp;
use trawl_model::{Charge, Nanodollars};

use super::fixtures::{account, key};
use crate::{Consumed, Entry, EntryKind, LedgerStore, Window};

/// An entry of `acc_1`; negative amounts are charges for bytes.
fn entry(id: &str, kind: EntryKind, amount: i64, held: i64) -> Entry {
    Entry {
        id: id.to_owned(),
        account: account(1).id,
        kind,
        amount: Nanodollars(amount),
        held: Nanodollars(held),
        reservation: id.get(2..).unwrap_or_default().to_owned(),
        run: "run".into(),
        url: "https://example.com/".into(),
        charge: Charge {
            bytes_transferred: Nanodollars(-amount.min(0)),
            ..Charge::default()
        },
        consumed: Consumed {
            n_bytes: 7,
            cpu: Duration::from_micros(5),
        },
        reason: "why".to_owned(),
        at: Timestamp(10),
    }
}

fn top_up(amount: i64) -> Entry {
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
    (statement.balance.0, statement.held.0)
}
