//! Crawls as they are stored: what was asked, every address, and where the entry of every page is.

use super::AccountId;
use trawl_model::clock::Timestamp;
use trawl_model::{Nanodollars, StopReason, Terms, UrlRow};

/// Where a crawl stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CrawlState {
    /// It waits for its turn.
    Queued,
    /// It runs.
    Running,
    /// It waits for secrets that a restart has lost.
    Parked,
    /// It is over.
    Ended,
}

impl CrawlState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Running, Self::Parked, Self::Ended];

    /// Its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Parked => "parked",
            Self::Ended => "ended",
        }
    }

    /// The state with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// One crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawlRecord {
    /// Its id: lower-case hexadecimal.
    pub id: String,
    /// Who asked and pays.
    pub account: AccountId,
    /// The request object as JSON, without the caller's secrets.
    pub request: String,
    /// `crawl` or `links`.
    pub verb: String,
    /// What its pages cost and what they may use.
    pub terms: Terms,
    /// Whether it cannot go on without secrets that are not stored.
    pub needs_secrets: bool,
    /// Whether it goes on without a caller who listens.
    pub in_background: bool,
    /// Where it stands.
    pub state: CrawlState,
    /// Why it ended.
    pub stop: Option<StopReason>,
    /// When it was asked for.
    pub created: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// What its pages come to.
    pub counts: CrawlCounts,
}

/// What the pages of a crawl come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrawlCounts {
    /// Pages, failed ones included.
    pub n_pages: u64,
    /// Pages that failed.
    pub n_failed: u64,
    /// Decoded bytes of all.
    pub n_bytes: u64,
    /// What all cost.
    pub spent: Nanodollars,
}

/// The entry of one page in its crawl's page log, and what lists show of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRow {
    /// Its number in the order of finishing, from 1.
    pub seq: u64,
    /// The number of its address.
    pub n: u32,
    /// Status of the entry.
    pub status: u16,
    /// Whether the page failed.
    pub is_failed: bool,
    /// Where the entry is.
    pub place: LogPosition,
    /// When it was finished; `None` for one that was written before this was kept.
    pub at: Option<Timestamp>,
    /// What it cost.
    pub cost: Nanodollars,
    /// Why it failed.
    pub error: Option<String>,
}

/// Where an entry is in a page log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// Offset in bytes.
    pub offset: u64,
    /// Bytes as they are stored.
    pub length: u32,
}

/// A group of a crawl's work that is written together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Addresses that are new or have changed, each once.
    pub urls: Vec<UrlRow>,
    /// Pages that are new.
    pub pages: Vec<PageRow>,
    /// What all pages come to now.
    pub counts: CrawlCounts,
}
