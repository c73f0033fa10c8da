//! Accounts, keys and crawls.

use trawl_model::clock::Timestamp;
use trawl_model::{Nanodollars, Terms};

use crate::{
    AccountId, AccountRecord, CrawlCounts, CrawlRecord, CrawlState, KeyRecord, LedgerStore, Notice,
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
        id: id.to_owned(),
        account: account(1).id,
        request: "{}".to_owned(),
        verb: "crawl".to_owned(),
        terms: Terms::PayAsYouGo,
        needs_secrets: false,
        in_background: true,
        state: CrawlState::Running,
        stop: None,
        created: Timestamp(1),
        ended: None,
        counts: CrawlCounts::default(),
        left_out: None,
    }
}
