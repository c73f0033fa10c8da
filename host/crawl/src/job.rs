//! A running crawl as others see it: its progress, and how to cancel it.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use trawl_billing::{AccountId, KeyPrefix, Spender};
use trawl_model::{Nanodollars, RequestTrace, StopReason, Terms};
use trawl_store::{CrawlCounts, CrawlRecord, CrawlState};

use super::frontier::Counts;
use super::lock;

/// A crawl that runs or waits to run.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: String,
    pub(super) account: AccountId,
    /// The key that it was requested with; empty if that is not known.
    pub(super) key: KeyPrefix,
    pub(super) in_background: bool,
    /// What its pages cost and what they may use.
    pub(super) terms: Terms,
    /// The trace that its request is part of, if this process got it.
    pub(super) trace: Option<RequestTrace>,
    /// Cancelled by the caller.
    pub(super) cancel: CancellationToken,
    /// Cancelled when the crawl has ended and is stored completely.
    pub(super) ended: CancellationToken,
    /// Number of the last stored page; followers wait for it to grow.
    pub(super) recorded: watch::Sender<u64>,
    progress: Mutex<CrawlProgress>,
}

/// Progress of a crawl.
#[derive(Clone, Copy, Debug)]
pub struct CrawlProgress {
    /// Its state.
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
    /// URLs by status; zeros for a crawl that is not in memory and has not ended.
    pub urls: Counts,
}

impl CrawlProgress {
    /// The stored progress of a crawl.
    pub(super) fn stored(record: &CrawlRecord) -> Self {
        Self {
            state: record.state,
            stop: record.stop,
            n_pages: record.counts.n_pages,
            n_failed: record.counts.n_failed,
            n_bytes: record.counts.n_bytes,
            spent: record.counts.spent,
            urls: Counts::default(),
        }
    }

    /// The same of a crawl that has ended, with the number of URLs that it knew: each is a page or
    /// was skipped.
    pub(super) fn with_urls(self, known: u64) -> Self {
        let done = self.n_pages.min(known);
        let urls = Counts {
            known,
            done,
            skipped: known - done,
            ..Counts::default()
        };
        Self { urls, ..self }
    }

    /// The counts that are stored.
    pub(super) fn counts(&self) -> CrawlCounts {
        CrawlCounts {
            n_pages: self.n_pages,
            n_failed: self.n_failed,
            n_bytes: self.n_bytes,
            spent: self.spent,
        }
    }
}

impl Job {
    /// A crawl that is about to run, or to wait for its turn.
    pub(super) fn begun(record: &CrawlRecord, trace: Option<RequestTrace>) -> Arc<Self> {
        let progress = CrawlProgress {
            state: first_state(record.in_background),
            stop: None,
            ..CrawlProgress::stored(record)
        };
        Arc::new(Self {
            trace,
            ..Self::new(record, progress)
        })
    }

    pub(super) fn new(record: &CrawlRecord, progress: CrawlProgress) -> Self {
        Self {
            id: record.id.clone(),
            account: record.account.clone(),
            key: record.key,
            in_background: record.in_background,
            terms: record.terms,
            trace: None,
            cancel: CancellationToken::new(),
            ended: CancellationToken::new(),
            recorded: watch::Sender::new(progress.n_pages),
            progress: Mutex::new(progress),
        }
    }

    /// Who its pages are charged to.
    pub(super) fn spender(&self) -> Spender<'_> {
        Spender {
            account: &self.account,
            key: self.key,
        }
    }

    pub(super) fn progress(&self) -> CrawlProgress {
        *lock(&self.progress)
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut CrawlProgress)) {
        change(&mut lock(&self.progress));
    }
}

/// The state of a crawl that begins.
pub(super) fn first_state(in_background: bool) -> CrawlState {
    if in_background {
        CrawlState::Queued
    } else {
        CrawlState::Running
    }
}
