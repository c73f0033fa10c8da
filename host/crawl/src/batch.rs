//! A batch of a crawl's progress on its way to the disk.
//!
//! Storing takes several steps, any of which may fail, for example on a full disk. The batch
//! remembers which ones are done: a retry continues with the step that failed, so that an entry is
//! in the page log once and a delivered event is not stored again.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use trawl_model::clock::Timestamp;
use trawl_model::{Cause, ContentHash, Nanodollars, SkipReason, UrlRow, UrlState};
use trawl_store::{
    CrawlCounts, CrawlStore, LogPosition, LogWriter, OutboxRow, PageRow, Progress, StoreError,
};

use super::job::Job;
use super::webhooks::{Event, Webhooks};

/// URLs in one transaction: the ledger shares the writer, and must not wait much longer than 10 ms.
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
    pub(super) cause: Option<Cause>,
    pub(super) error: Option<String>,
    /// Its content, if later pages are compared with it.
    pub(super) content: Option<ContentHash>,
    pub(super) entry: Bytes,
    pub(super) events: Vec<Event>,
}

/// Where the parts of a batch are stored.
pub(super) struct Sinks {
    pub(super) store: Arc<dyn CrawlStore>,
    pub(super) log: LogWriter,
    pub(super) webhooks: Arc<Webhooks>,
}

/// Pages and URLs that are stored together.
pub(super) struct Batch {
    /// Number of the last page before this batch.
    last_seq: u64,
    n_pages: u64,
    /// URLs that are stored before the pages, in transactions of their own.
    ahead: VecDeque<Progress>,
    /// Pages whose entries are not in the page log yet.
    unlogged: Vec<Recorded>,
    /// Events that are not stored yet: as they came, then as rows, which every attempt uses.
    events: Vec<Event>,
    event_rows: Vec<OutboxRow>,
    /// Logged entries, whose memory counts the events, too: until those are stored.
    logged: Vec<Bytes>,
    /// What is stored last, with the rows of the pages whose entries are in the log.
    progress: Progress,
}

impl Batch {
    /// A batch of which nothing is stored. `last_seq` and `before` come from the pages before.
    pub(super) fn new(
        mut pages: Vec<Recorded>,
        urls: Vec<UrlRow>,
        last_seq: u64,
        before: CrawlCounts,
    ) -> Self {
        let counts = pages.iter().fold(before, |counts, page| CrawlCounts {
            n_pages: counts.n_pages + 1,
            n_failed: counts.n_failed + u64::from(page.is_failed),
            n_bytes: counts.n_bytes + page.n_bytes,
            spent: counts.spent + page.charge,
        });
        let (ahead, urls) = split(urls);
        let ahead = ahead.into_iter().map(|urls| Progress {
            urls,
            pages: Vec::new(),
            counts: before,
        });
        let events = pages.iter_mut();
        let events: Vec<Event> = events
            .flat_map(|page| std::mem::take(&mut page.events))
            .collect();
        Self {
            last_seq,
            n_pages: pages.len() as u64,
            ahead: ahead.collect(),
            events,
            event_rows: Vec::new(),
            logged: Vec::new(),
            unlogged: pages,
            progress: Progress {
                urls,
                pages: Vec::new(),
                counts,
            },
        }
    }

    /// Number of its last page.
    pub(super) fn last_seq(&self) -> u64 {
        self.last_seq + self.n_pages
    }

    /// The counts of the stored pages with this batch.
    pub(super) fn counts(&self) -> CrawlCounts {
        self.progress.counts
    }

    /// Runs the steps that are not done yet. Returns how many bytes the account has stored.
    pub(super) async fn store(&mut self, job: &Job, sinks: &Sinks) -> Result<u64, StoreError> {
        while let Some(progress) = self.ahead.front() {
            let saved = sinks.store.save_crawl_progress(&job.id, progress);
            saved.await?;
            self.ahead.pop_front();
        }
        if !self.unlogged.is_empty() {
            let positions = self.append(&sinks.log, job.in_background).await?;
            self.logged = self
                .unlogged
                .iter()
                .map(|page| page.entry.clone())
                .collect();
            let pages = std::mem::take(&mut self.unlogged).into_iter();
            let rows = pages.zip(positions).zip(self.last_seq + 1..);
            self.progress.pages = rows
                .map(|((page, place), seq)| PageRow {
                    seq,
                    n: page.n,
                    status: page.status,
                    is_failed: page.is_failed,
                    place,
                    at: Some(page.at),
                    cost: page.charge,
                    cause: page.cause.map(|cause| cause.name().to_owned()),
                    error: page.error,
                    content: page.content,
                })
                .collect();
        }
        if !self.events.is_empty() {
            self.event_rows = sinks.webhooks.rows(std::mem::take(&mut self.events));
        }
        if !self.event_rows.is_empty() {
            sinks.webhooks.push_rows(&self.event_rows).await?;
            self.event_rows.clear();
        }
        self.logged.clear();
        let saved = sinks.store.save_crawl_progress(&job.id, &self.progress);
        saved.await
    }

    /// Appends the entries to the log.
    async fn append(
        &self,
        log: &LogWriter,
        is_durable: bool,
    ) -> Result<Vec<LogPosition>, StoreError> {
        let entries: Vec<Bytes> = self
            .unlogged
            .iter()
            .map(|page| page.entry.clone())
            .collect();
        log.append(entries, is_durable).await
    }
}

/// Batches of [`URLS_AT_ONCE`] rows that are stored ahead of the pages, and the rows that are
/// stored with them. The numbers of URLs have no gaps in the store, so the row of a completed page,
/// or of a URL that a page of the batch may stand for, is stored ahead as waiting, and as it is
/// with the entries.
fn split(mut urls: Vec<UrlRow>) -> (Vec<Vec<UrlRow>>, Vec<UrlRow>) {
    let n_ahead = urls.len().saturating_sub(1) / URLS_AT_ONCE * URLS_AT_ONCE;
    let rest = urls.split_off(n_ahead);
    let mut last = Vec::new();
    for row in &mut urls {
        let is_with_entry = matches!(
            row.state,
            UrlState::Done | UrlState::Skipped(SkipReason::Duplicate)
        );
        if is_with_entry {
            last.push(row.clone());
            row.state = UrlState::Waiting;
        }
    }
    last.extend(rest);
    let ahead = urls.chunks(URLS_AT_ONCE).map(<[UrlRow]>::to_vec);
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
            referrer: None,
            anchor: None,
            target: None,
            state: match n {
                5 => UrlState::Done,
                6 => UrlState::Skipped(SkipReason::Duplicate),
                _ => UrlState::Waiting,
            },
        };
        let urls: Vec<UrlRow> = (0..2 * URLS_AT_ONCE + 1).map(row).collect();
        let (ahead, last) = split(urls.clone());
        assert_eq!(ahead.len(), 2);
        assert!(ahead.iter().all(|group| group.len() == URLS_AT_ONCE));
        assert!(
            ahead
                .concat()
                .iter()
                .all(|row| row.state == UrlState::Waiting)
        );
        let last: Vec<u32> = last.iter().map(|row| row.n).collect();
        assert_eq!(last, [5, 6, 2 * URLS_AT_ONCE as u32]);
        let mut few = urls;
        few.truncate(URLS_AT_ONCE);
        let (ahead, last) = split(few);
        assert_eq!((ahead.len(), last.len()), (0, URLS_AT_ONCE));
    }
}
