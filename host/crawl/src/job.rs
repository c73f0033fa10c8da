//! A crawl that runs: what others see of it and how they stop it.

use std::sync::Mutex;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::frontier::Counts;
use super::lock;
use trawl_billing::AccountId;
use trawl_model::{Nanodollars, StopReason, Terms};
use trawl_store::{CrawlRecord, CrawlState};

/// A crawl that runs or waits to run.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: String,
    pub(super) account: AccountId,
    pub(super) in_background: bool,
    /// What its pages cost and what they may use.
    pub(super) terms: Terms,
    /// Set by the caller who wants it stopped.
    pub(super) cancel: CancellationToken,
    /// Set when the crawl has ended and everything of it is in the store.
    pub(super) ended: CancellationToken,
    /// Number of the last page that is in the store; followers wait for it to grow.
    pub(super) recorded: watch::Sender<u64>,
    tally: Mutex<CrawlProgress>,
}

/// What a crawl has come to so far.
#[derive(Clone, Copy, Debug)]
pub struct CrawlProgress {
    /// Where it stands.
    pub state: CrawlState,
    /// Why it ended or is about to end.
    pub stop: Option<StopReason>,
    /// Pages delivered, failed ones included.
    pub n_pages: u64,
    /// Pages that failed.
    pub n_failed: u64,
    /// Decoded bytes of the pages.
    pub n_bytes: u64,
    /// What the pages cost.
    pub spent: Nanodollars,
    /// The frontier's counts; zeros for a crawl that has ended and left memory.
    pub urls: Counts,
}

impl CrawlProgress {
    /// Nothing yet.
    pub(super) fn new(state: CrawlState) -> Self {
        Self {
            state,
            stop: None,
            n_pages: 0,
            n_failed: 0,
            n_bytes: 0,
            spent: Nanodollars::ZERO,
            urls: Counts::default(),
        }
    }
}

impl Job {
    pub(super) fn new(record: &CrawlRecord, tally: CrawlProgress) -> Self {
        Self {
            id: record.id.clone(),
            account: record.account.clone(),
            in_background: record.in_background,
            terms: record.terms,
            cancel: CancellationToken::new(),
            ended: CancellationToken::new(),
            recorded: watch::Sender::new(tally.n_pages),
            tally: Mutex::new(tally),
        }
    }

    pub(super) fn tally(&self) -> CrawlProgress {
        *lock(&self.tally)
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut CrawlProgress)) {
        change(&mut lock(&self.tally));
    }
}
