//! Accounts, keys, entries and crawls.

use std::time::Duration;

use trawl_model::clock::Timestamp;
use trawl_model::{Charge, Nanodollars};

use crate::testing::running_crawl;
use crate::{
    AccountId, AccountRecord, Consumed, CrawlRecord, EntryKind, KeyPrefix, KeyRecord, KeySpending,
    LedgerEntry, LedgerStore, LogPosition, Notice, PageRow,
};

pub(crate) fn account(n: u8) -> AccountRecord {
    AccountRecord {
        id: AccountId::new(format!("acc_{n}")),
        name: format!("name {n}"),
        created: Timestamp(1),
        balance: Nanodollars::ZERO,
        held: Nanodollars::ZERO,
        notice: Notice::default(),
    }
}

pub(crate) fn key(account: u8, n: u8) -> KeyRecord {
    KeyRecord {
        prefix: format!("tr_{n}"),
        account: AccountId::new(format!("acc_{account}")),
        hash: [n; 32],
        created: Timestamp(2),
        name: String::new(),
        last_used: None,
        revoked: None,
        spending: KeySpending::default(),
    }
}

/// An entry of `acc_1`; negative amounts are charges for bytes.
pub(crate) fn entry(id: &str, kind: EntryKind, amount: i64, held: i64) -> LedgerEntry {
    LedgerEntry {
        id: id.to_owned(),
        account: account(1).id,
        kind,
        amount: Nanodollars(amount),
        held: Nanodollars(held),
        reservation: id.get(2..).unwrap_or_default().to_owned(),
        run: "run".into(),
        url: "https://example.com/".into(),
        key: KeyPrefix::new("tr_1"),
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

/// Creates `acc_1` and `acc_2`, which crawls, events and contacts refer to.
pub(crate) async fn with_accounts(store: &dyn LedgerStore) {
    for n in [1, 2] {
        let created = store.create_account(&account(n), &key(n, n), &[]).await;
        created.expect("a new account");
    }
}

/// A running background crawl of the first account.
pub(crate) fn crawl(id: &str) -> CrawlRecord {
    CrawlRecord {
        key: KeyPrefix::new("tr_1"),
        ..running_crawl(&account(1).id, id)
    }
}

/// The first page of a crawl, whose entry is at this place.
pub(crate) fn first_page(place: LogPosition) -> PageRow {
    PageRow {
        seq: 1,
        n: 0,
        status: 200,
        is_failed: false,
        place,
        at: None,
        cost: Nanodollars::ZERO,
        cause: None,
        error: None,
        content: None,
    }
}
