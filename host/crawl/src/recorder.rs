//! What a crawl leaves in the store, written in groups: entries into its page log, addresses and places into the tables.
//!
//! A page's entry is in the log before the table says the page is done, so a crawl that goes on after a crash fetches again
//! what it cannot show, and nothing else.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::events::Events;
use super::frontier::Frontier;
use super::job::Job;
use super::lock;
use crate::webhooks::Event;
use trawl_model::clock::Timestamp;
use trawl_model::{Nanodollars, StopReason, UrlRow, UrlState};
use trawl_store::{CrawlCounts, PageLog, PageRow, Progress, Store, StoreError};

/// Pages that may wait to be written; a crawl that is faster than the disk waits for it.
const WAITING_MAX: usize = 256;
/// How long a page waits for company. A group costs one flush to disk, and a second of work is lost by no crash.
const GROUP_TIME: Duration = Duration::from_millis(100);
/// A group that failed is tried again after this, so often, before the crawl is given up.
const RETRY_DELAY: Duration = Duration::from_millis(500);
const RETRIES_MAX: usize = 20;
/// Addresses that are written in one transaction: the ledger has the same writer, and waits for some hundredths of a second at most.
const URLS_AT_ONCE: usize = 4_000;

/// A page to be written down.
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
    task: JoinHandle<()>,
}

struct Writer {
    job: Arc<Job>,
    frontier: Arc<Mutex<Frontier>>,
    store: Arc<dyn Store>,
    log: Arc<Mutex<PageLog>>,
    events: Option<Arc<Events>>,
    /// Pages that the frontier calls done and whose entry has not come yet.
    unwritten: Vec<UrlRow>,
    /// Pages whose entry came before the frontier called them done.
    early: HashSet<u32>,
    last_seq: u64,
    /// What the pages that are written come to.
    counts: CrawlCounts,
}

impl Recorder {
    pub(super) fn start(
        job: Arc<Job>,
        frontier: Arc<Mutex<Frontier>>,
        store: Arc<dyn Store>,
        log: PageLog,
        events: Option<Arc<Events>>,
        counts: CrawlCounts,
    ) -> Self {
        let (pages, waiting) = mpsc::channel(WAITING_MAX);
        let last_seq = *job.recorded.borrow();
        let writer = Writer {
            job,
            frontier,
            store,
            log: Arc::new(Mutex::new(log)),
            events,
            unwritten: Vec::new(),
            early: HashSet::new(),
            last_seq,
            counts,
        };
        let task = tokio::spawn(writer.run(waiting));
        Self { pages, task }
    }

    /// A way to hand in pages.
    pub(super) fn sender(&self) -> mpsc::Sender<Recorded> {
        self.pages.clone()
    }

    /// Returns once everything is written. All other senders must be gone.
    pub(super) async fn finish(self) {
        drop(self.pages);
        if let Err(error) = self.task.await {
            tracing::error!(error = %error, "the recorder of a crawl ended badly");
        }
    }
}

impl Writer {
    async fn run(mut self, mut waiting: mpsc::Receiver<Recorded>) {
        let mut is_open = true;
        while is_open {
            let mut pages = Vec::new();
            let until = tokio::time::Instant::now() + GROUP_TIME;
            while is_open && pages.len() < WAITING_MAX {
                match tokio::time::timeout_at(until, waiting.recv()).await {
                    Ok(Some(page)) => pages.push(page),
                    Ok(None) => is_open = false,
                    Err(_) => break,
                }
            }
            if !self.write_down(pages).await {
                lock(&self.frontier).stop(StopReason::Failed);
                self.job.cancel.cancel();
                // What is left is taken and dropped, so that nobody waits for it.
                while waiting.recv().await.is_some() {}
                return;
            }
        }
    }

    /// Writes a group and what changed in the frontier; `false` when the store does not take it.
    async fn write_down(&mut self, pages: Vec<Recorded>) -> bool {
        let changes = lock(&self.frontier).take_changes();
        let urls = self.writable(changes, &pages);
        if pages.is_empty() && urls.is_empty() {
            return true;
        }
        let counts = self.counts_with(&pages);
        for attempt in 0..RETRIES_MAX {
            match self.write(&pages, &urls, counts).await {
                Ok(()) => {
                    self.last_seq += pages.len() as u64;
                    self.counts = counts;
                    self.job.recorded.send_replace(self.last_seq);
                    return true;
                }
                Err(error) => {
                    tracing::error!(crawl = self.job.id, attempt, error = %error, "a crawl's pages could not be written");
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
        false
    }

    /// The rows that may be written now: a done page only together with its entry, until then it counts as waiting.
    fn writable(&mut self, changes: Vec<UrlRow>, pages: &[Recorded]) -> Vec<UrlRow> {
        self.early.extend(pages.iter().map(|page| page.n));
        let mut rows = Vec::with_capacity(changes.len());
        for row in std::mem::take(&mut self.unwritten) {
            match self.early.remove(&row.n) {
                true => rows.push(row),
                false => self.unwritten.push(row),
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
            self.unwritten.push(row);
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

    async fn write(
        &self,
        pages: &[Recorded],
        urls: &[UrlRow],
        counts: CrawlCounts,
    ) -> Result<(), StoreError> {
        let urls = self.write_ahead(urls).await?;
        let entries: Vec<Bytes> = pages.iter().map(|page| page.entry.clone()).collect();
        let log = Arc::clone(&self.log);
        let must_last = self.job.in_background;
        let places = tokio::task::spawn_blocking(move || {
            let mut log = lock(&log);
            let entries: Vec<&[u8]> = entries.iter().map(|entry| &entry[..]).collect();
            let places = log.append(&entries)?;
            if must_last {
                log.sync()?;
            }
            Ok::<_, StoreError>(places)
        })
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        if let Some(events) = &self.events {
            let told = pages.iter().flat_map(|page| page.events.iter().cloned());
            events.push(told.collect()).await?;
        }
        let rows = pages.iter().zip(places).zip(self.last_seq + 1..);
        let progress = Progress {
            urls,
            pages: rows
                .map(|((page, place), seq)| PageRow {
                    seq,
                    n: page.n,
                    status: page.status,
                    is_failed: page.is_failed,
                    place,
                    at: Some(page.at),
                    cost: page.charge,
                    error: page.error.clone(),
                })
                .collect(),
            counts,
        };
        self.store
            .save_crawl_progress(&self.job.id, &progress)
            .await
    }

    /// Writes addresses in transactions of their own as long as there are too many for one, and returns those that are left for the
    /// one with the pages.
    async fn write_ahead(&self, urls: &[UrlRow]) -> Result<Vec<UrlRow>, StoreError> {
        let (ahead, last) = parted(urls);
        for urls in ahead {
            let progress = Progress {
                urls,
                pages: Vec::new(),
                counts: self.counts,
            };
            self.store
                .save_crawl_progress(&self.job.id, &progress)
                .await?;
        }
        Ok(last)
    }
}

/// Rows in groups of [`URLS_AT_ONCE`] that are written ahead of the pages, and those that are written with them. A page is done only
/// together with its entry, and numbers are stored without gaps: ahead of that it waits.
fn parted(urls: &[UrlRow]) -> (Vec<Vec<UrlRow>>, Vec<UrlRow>) {
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
    fn many_addresses_are_written_in_groups_and_done_pages_with_their_entries() {
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
        let (ahead, last) = parted(&urls);
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
        let (ahead, last) = parted(&urls[..URLS_AT_ONCE]);
        assert_eq!((ahead.len(), last.len()), (0, URLS_AT_ONCE));
    }
}
