//! A fixture for the tests of this crate and of those that depend on it. It is always compiled,
//! because unit tests of other crates use it; the server never does.

use trawl_model::Terms;
use trawl_model::clock::Timestamp;

use crate::{AccountId, CrawlCounts, CrawlRecord, CrawlState, KeyPrefix};

/// A background crawl that is stored as running, as a killed process leaves it.
pub fn running_crawl(account: &AccountId, id: &str) -> CrawlRecord {
    CrawlRecord {
        id: id.to_owned(),
        account: account.clone(),
        key: KeyPrefix::default(),
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
