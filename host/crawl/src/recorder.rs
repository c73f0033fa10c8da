//! Stores a crawl in batches: entries go to its page log, URLs and log positions to the database.
//!
//! The entry of a page is in the log before the database says that the page is done. After a crash
//! a crawl therefore fetches again exactly the pages whose entries are lost.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use trawl_model::clock::Timestamp;
use trawl_model::{Nanodollars, StopReason, UrlRow, UrlState};
use trawl_store::{CrawlCounts, CrawlStore, PageLog, PageRow, Progress, Storage, StoreError};

use super::events::Events;
use super::frontier::Frontier;
use super::job::Job;
use super::lock;
use super::webhooks::Event;

/// Pages that may wait to be stored; a crawl that is faster than the disk is slowed down.
const WAITING_MAX: usize = 256;
/// How long a batch is collected. A batch costs one flush to disk, and a crash loses less than a
/// second of work.
const BATCH_TIME: Duration = Duration::from_millis(100);
/// Delay before a failed batch is retried, and how often it is retried before the crawl fails. A
/// background crawl on a full disk is not counted: it waits for space, because its pages are paid
/// and are nowhere else.
const RETRY_DELAY: Duration = Duration::from_millis(500);
const RETRIES_MAX: usize = 20;
/// URLs in one transaction: the ledger shares the writer, and must not wait longer than some 10 ms.
const URLS_AT_ONCE: usize = 4_000;

/// A page to be stored.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) n: u32,
    pub(super) status: u16,
    pub(super) is_failed: bool,
    pub(super) n_bytes: u64,
    pub(super) charge: Nanodollars,
    pub(super) at: Timestamp,
    pub(super) error: Option<String>,
    pub(super) entry: Bytes,
    pub(super) events: Vec<Event>,
}

/// The writer of one crawl.
pub(super) struct Recorder {
    pages: mpsc::Sender<Recorded>,
    task: JoinHandle<bool>,
}

/// Where a crawl is stored.
pub(super) struct Target {
    pub(super) store: Arc<dyn CrawlStore>,
    pub(super) log: Arc<Mutex<PageLog>>,
    /// What the account may store.
    pub(super) storage: Storage,
    /// Cancelled when the server stops.
    pub(super) stop: CancellationToken,
}

struct Writer {
    job: Arc<Job>,
    frontier: Arc<Mutex<Frontier>>,
    target: Target,
    events: Option<Arc<Events>>,
    /// Pages that the frontier completed and whose entries have not arrived yet.
    awaiting_entry: Vec<UrlRow>,
    /// Pages whose entries arrived before the frontier completed them.
    early: HashSet<u32>,
    last_seq: u64,
    /// The counts of the stored pages.
    counts: CrawlCounts,
}

impl Recorder {
    pub(super) fn start(
        job: Arc<Job>,
        frontier: Arc<Mutex<Frontier>>,
        target: Target,
        events: Option<Arc<Events>>,
        counts: CrawlCounts,
    ) -> Self {
        let (pages, incoming) = mpsc::channel(WAITING_MAX);
        let last_seq = *job.recorded.borrow();
        let writer = Writer {
            job,
            frontier,
            target,
            events,
            awaiting_entry: Vec::new(),
            early: HashSet::new(),
            last_seq,
            counts,
        };
        let task = tokio::spawn(writer.run(incoming));
        Self { pages, task }
    }

    /// A sender for pages.
    pub(super) fn sender(&self) -> mpsc::Sender<Recorded> {
        self.pages.clone()
    }

    /// Waits for the end of the recorder and returns whether everything is stored. All other
    /// senders must be dropped before.
    pub(super) async fn finish(self) -> bool {
        drop(self.pages);
        match self.task.await {
            Ok(is_stored) => is_stored,
            Err(_panic) => {
                tracing::error!("the recorder of a crawl panicked");
                false
            }
        }
    }
}

impl Writer {
    /// Stores what comes until all senders are dropped; `false` when something is not stored.
    async fn run(mut self, mut incoming: mpsc::Receiver<Recorded>) -> bool {
        let mut is_open = true;
        while is_open {
            let mut pages = Vec::new();
            let until = tokio::time::Instant::now() + BATCH_TIME;
            while is_open && pages.len() < WAITING_MAX {
                match tokio::time::timeout_at(until, incoming.recv()).await {
                    Ok(Some(page)) => pages.push(page),
                    Ok(None) => is_open = false,
                    Err(_) => break,
                }
            }
            if !self.write_batch(pages).await {
                if !self.target.stop.is_cancelled() {
                    lock(&self.frontier).stop(StopReason::Failed);
                    self.job.cancel.cancel();
                }
                // The rest is received and dropped, so that no sender blocks.
                while incoming.recv().await.is_some() {}
                return false;
            }
        }
        true
    }

    /// Stores a batch with the changes of the frontier; `false` when the store failed repeatedly,
    /// or the server stops before there is space.
    async fn write_batch(&mut self, pages: Vec<Recorded>) -> bool {
        let changes = lock(&self.frontier).take_changes();
        let urls = self.writable(changes, &pages);
        if pages.is_empty() && urls.is_empty() {
            return true;
        }
        let counts = self.counts_with(&pages);
        let mut n_failures = 0;
        while n_failures < RETRIES_MAX {
            match self.write(&pages, &urls, counts).await {
                Ok(stored_bytes) => {
                    self.last_seq += pages.len() as u64;
                    self.counts = counts;
                    self.job.recorded.send_replace(self.last_seq);
                    if !self.target.storage.has_room(stored_bytes) {
                        lock(&self.frontier).stop(StopReason::Storage);
                    }
                    return true;
                }
                Err(error) => {
                    tracing::error!(crawl = self.job.id, n_failures, error = %error, "could not store the pages of a crawl");
                    let waits_for_space = error.is_full() && self.job.in_background;
                    if waits_for_space && self.target.stop.is_cancelled() {
                        // The next process fetches these pages again and does not charge them.
                        return false;
                    }
                    n_failures += usize::from(!waits_for_space);
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
        false
    }

    /// The rows that may be stored now: a completed page only together with its entry, until then
    /// as waiting.
    fn writable(&mut self, changes: Vec<UrlRow>, pages: &[Recorded]) -> Vec<UrlRow> {
        self.early.extend(pages.iter().map(|page| page.n));
        let mut rows = Vec::with_capacity(changes.len());
        for row in std::mem::take(&mut self.awaiting_entry) {
            if self.early.remove(&row.n) {
                rows.push(row);
            } else {
                self.awaiting_entry.push(row);
            }
        }
        for row in changes {
            if row.state != UrlState::Done || self.early.remove(&row.n) {
                rows.push(row);
                continue;
            }
            rows.push(UrlRow {
                state: UrlState::Waiting,
                ..row.clone()
            });
            self.awaiting_entry.push(row);
        }
        rows
    }

    fn counts_with(&self, pages: &[Recorded]) -> CrawlCounts {
        pages.iter().fold(self.counts, |counts, page| CrawlCounts {
            n_pages: counts.n_pages + 1,
            n_failed: counts.n_failed + u64::from(page.is_failed),
            n_bytes: counts.n_bytes + page.n_bytes,
            spent: counts.spent + page.charge,
        })
    }

    /// Stores a batch. Returns the bytes that the account has stored now.
    async fn write(
        &self,
        pages: &[Recorded],
        urls: &[UrlRow],
        counts: CrawlCounts,
    ) -> Result<u64, StoreError> {
        let urls = self.write_ahead(urls).await?;
        let entries: Vec<Bytes> = pages.iter().map(|page| page.entry.clone()).collect();
        let log = Arc::clone(&self.target.log);
        let is_durable = self.job.in_background;
        let positions = tokio::task::spawn_blocking(move || {
            let mut log = lock(&log);
            let entries: Vec<&[u8]> = entries.iter().map(|entry| &entry[..]).collect();
            let positions = log.append(&entries)?;
            if is_durable {
                log.sync()?;
            }
            Ok::<_, StoreError>(positions)
        })
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        if let Some(events) = &self.events {
            let occurred = pages.iter().flat_map(|page| page.events.iter().cloned());
            events.push(occurred.collect()).await?;
        }
        let rows = pages.iter().zip(positions).zip(self.last_seq + 1..);
        let progress = Progress {
            urls,
            pages: rows
                .map(|((page, position), seq)| PageRow {
                    seq,
                    n: page.n,
                    status: page.status,
                    is_failed: page.is_failed,
                    place: position,
                    at: Some(page.at),
                    cost: page.charge,
                    error: page.error.clone(),
                })
                .collect(),
            counts,
        };
        self.target
            .store
            .save_crawl_progress(&self.job.id, &progress)
            .await
    }

    /// Stores URLs in transactions of their own while there are too many for one, and returns the
    /// rest, which are stored together with the pages.
    async fn write_ahead(&self, urls: &[UrlRow]) -> Result<Vec<UrlRow>, StoreError> {
        let (ahead, last) = split(urls);
        for urls in ahead {
            let progress = Progress {
                urls,
                pages: Vec::new(),
                counts: self.counts,
            };
            self.target
                .store
                .save_crawl_progress(&self.job.id, &progress)
                .await?;
        }
        Ok(last)
    }
}

/// Batches of [`URLS_AT_ONCE`] rows that are stored ahead of the pages, and the rows that are
/// stored with them. Numbers are stored without gaps, so a completed page is stored ahead as
/// waiting, and with its entry as done.
fn split(urls: &[UrlRow]) -> (Vec<Vec<UrlRow>>, Vec<UrlRow>) {
    let n_ahead = urls.len().saturating_sub(1) / URLS_AT_ONCE * URLS_AT_ONCE;
    let (ahead, rest) = urls.split_at(n_ahead);
    let done = ahead.iter().filter(|row| row.state == UrlState::Done);
    let last = done.chain(rest).cloned().collect();
    let waiting = |row: &UrlRow| match row.state {
        UrlState::Done => UrlRow {
            state: UrlState::Waiting,
            ..row.clone()
        },
        _ => row.clone(),
    };
    let ahead = ahead.chunks(URLS_AT_ONCE);
    let ahead = ahead.map(|rows| rows.iter().map(waiting).collect());
    (ahead.collect(), last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_urls_are_stored_in_batches_and_completed_pages_with_their_entries() {
        let row = |n: usize| UrlRow {
            n: n as u32,
            url: format!("https://a.example/{n}"),
            depth: 0,
            state: match n {
                5 => UrlState::Done,
                _ => UrlState::Waiting,
            },
        };
        let urls: Vec<UrlRow> = (0..2 * URLS_AT_ONCE + 1).map(row).collect();
        let (ahead, last) = split(&urls);
        assert_eq!(ahead.len(), 2);
        assert!(ahead.iter().all(|group| group.len() == URLS_AT_ONCE));
        assert!(
            ahead
                .concat()
                .iter()
                .all(|row| row.state == UrlState::Waiting)
        );
        let last: Vec<u32> = last.iter().map(|row| row.n).collect();
        assert_eq!(last, [5, 2 * URLS_AT_ONCE as u32]);
        let (ahead, last) = split(&urls[..URLS_AT_ONCE]);
        assert_eq!((ahead.len(), last.len()), (0, URLS_AT_ONCE));
    }
}
