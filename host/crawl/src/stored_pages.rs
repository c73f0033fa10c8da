//! The stored entries of a crawl.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use trawl_model::fair::{FairPermit, FairSemaphore};
use trawl_model::memory::{Held, MemoryKind, MemoryLease, MemoryShare};
use trawl_store::{CrawlStore, LogPosition, PageLogs, PageRow, ReadEntry, StoreError};

/// Positions that are read from the store at once.
const POSITIONS_AT_ONCE: u32 = 64;
/// How long an entry waits for memory. Its reader has what was read before, and loses nothing by
/// waiting.
const MEMORY_WAIT_MAX: Duration = Duration::from_secs(120);

/// Reads the entries of a crawl one after the other. Each is read when it is asked for, under a
/// lease of its own that it holds until it is dropped.
pub struct StoredPages {
    store: Arc<dyn CrawlStore>,
    logs: PageLogs,
    crawl_id: String,
    share: MemoryShare,
    after: u64,
    ahead: VecDeque<PageRow>,
    has_ended: bool,
    turns: Option<Arc<FairSemaphore>>,
}

impl StoredPages {
    /// The entries after number `after`, read under leases of this share.
    pub(crate) fn new(
        store: Arc<dyn CrawlStore>,
        logs: &PageLogs,
        crawl_id: &str,
        share: MemoryShare,
        after: u64,
    ) -> Self {
        Self {
            store,
            logs: logs.clone(),
            crawl_id: crawl_id.to_owned(),
            share,
            after,
            ahead: VecDeque::new(),
            has_ended: false,
            turns: None,
        }
    }

    /// The same, where the account waits for its turn whenever the store is read.
    #[must_use]
    pub fn in_turns(self, turns: Arc<FairSemaphore>) -> Self {
        Self {
            turns: Some(turns),
            ..self
        }
    }

    /// The same of a crawl that has ended or has not.
    pub(crate) fn of_ended(self, has_ended: bool) -> Self {
        Self { has_ended, ..self }
    }

    /// Whether the crawl had ended before the first entry was read: then none is added.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The next entry with its number, from 1 in the order of finishing; `None` if no more is
    /// stored yet.
    ///
    /// # Errors
    /// The store failed, or had no memory for the entry in time. The next call tries again.
    pub async fn next(&mut self) -> Result<Option<(u64, Bytes)>, StoreError> {
        if self.ahead.is_empty() {
            let _turn = self.turn().await;
            let store = Arc::clone(&self.store);
            let rows = store.crawl_pages(&self.crawl_id, self.after, POSITIONS_AT_ONCE);
            self.ahead = rows.await?.into();
        }
        let Some(row) = self.ahead.front() else {
            return Ok(None);
        };
        let (seq, place) = (row.seq, row.place);
        let entry = self.read(place).await?;
        self.ahead.pop_front();
        self.after = seq;
        Ok(Some((seq, entry.into_bytes())))
    }

    /// Number of the last entry that was read.
    pub fn after(&self) -> u64 {
        self.after
    }

    /// Number of the last entry that is stored; 0 if there is none.
    ///
    /// # Errors
    /// The store failed.
    pub async fn last(&self) -> Result<u64, StoreError> {
        let last = self.store.last_crawl_page(&self.crawl_id).await?;
        Ok(last.map_or(0, |row| row.seq))
    }

    async fn turn(&self) -> Option<FairPermit> {
        match &self.turns {
            Some(turns) => Some(turns.acquire(self.share.account()).await),
            None => None,
        }
    }

    async fn read(&self, place: LogPosition) -> Result<Held<Bytes>, StoreError> {
        // A claim of its own: it ends with the reading, however slow the reader of the entry is.
        let memory = self.share.page();
        let mut lease = memory.lease_for(MemoryKind::Stored);
        let deadline = Instant::now() + MEMORY_WAIT_MAX;
        let mut needed = place.length as usize;
        loop {
            grow(&mut lease, needed, deadline).await?;
            // Once there is memory: what waits for it takes no turn from the account's lists.
            let _turn = self.turn().await;
            match self.logs.read(&self.crawl_id, place, lease).await? {
                ReadEntry::Entry(entry) => return Ok(entry),
                ReadEntry::Needs(bytes, back) => (needed, lease) = (bytes, back),
            }
        }
    }
}

/// Takes more bytes, with patience.
async fn grow(lease: &mut MemoryLease, needed: usize, deadline: Instant) -> Result<(), StoreError> {
    loop {
        match lease.grow_to(needed).await {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() >= deadline => return Err(error.into()),
            Err(_) => {}
        }
    }
}
