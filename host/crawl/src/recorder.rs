//! Stores a crawl in batches: entries go to its page log, URLs and log positions to the database.
//!
//! The entry of a page is in the log before the database says that the page is done. After a crash
//! a crawl therefore fetches again exactly the pages whose entries are lost.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use trawl_model::{StopReason, UrlRow, UrlState};
use trawl_store::{CrawlCounts, Storage};

use super::batch::{Batch, Recorded, Sinks};
use super::frontier::Frontier;
use super::job::Job;
use super::lock;

/// Pages that may wait to be stored; a crawl that is faster than the disk is slowed down.
const WAITING_MAX: usize = 256;
/// How long a batch is collected. A batch costs one flush to disk, and a crash loses less than a
/// second of work.
const BATCH_TIME: Duration = Duration::from_millis(100);
/// How long the recorder lets pages of a batch come before it looks for more, so that not each of
/// them wakes it. A crawl that ends waits no longer than this for it.
const GATHER_TIME: Duration = Duration::from_millis(5);
/// Delay before a failed batch is retried, and how often it is retried before the crawl fails. A
/// background crawl on a full disk, or without its database, is not counted: it waits, because its
/// pages are paid and are nowhere else.
const RETRY_DELAY: Duration = Duration::from_millis(500);
const RETRIES_MAX: usize = 20;

/// The writer of one crawl.
pub(super) struct Recorder {
    pages: mpsc::Sender<Recorded>,
    task: JoinHandle<bool>,
}

/// Where a crawl is stored, and what ends it.
pub(super) struct Target {
    pub(super) sinks: Sinks,
    /// What the account may store.
    pub(super) storage: Storage,
    /// Notified when the recorder stops the frontier.
    pub(super) frontier_changed: Arc<Notify>,
    /// Cancelled when the server stops.
    pub(super) stop: CancellationToken,
}

struct Writer {
    job: Arc<Job>,
    frontier: Arc<Mutex<Frontier>>,
    target: Target,
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
        counts: CrawlCounts,
    ) -> Self {
        let (pages, incoming) = mpsc::channel(WAITING_MAX);
        let last_seq = *job.recorded.borrow();
        let writer = Writer {
            job,
            frontier,
            target,
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

/// Receives the pages of a batch. Returns whether more may come.
async fn gather(incoming: &mut mpsc::Receiver<Recorded>, pages: &mut Vec<Recorded>) -> bool {
    let until = Instant::now() + BATCH_TIME;
    while pages.len() < WAITING_MAX {
        let room = WAITING_MAX - pages.len();
        match timeout_at(until, incoming.recv_many(pages, room)).await {
            Ok(0) => return false,
            Ok(_) => sleep_until(until.min(Instant::now() + GATHER_TIME)).await,
            Err(_elapsed) => break,
        }
    }
    true
}

impl Writer {
    /// Stores what comes until all senders are dropped; `false` when something is not stored.
    async fn run(mut self, mut incoming: mpsc::Receiver<Recorded>) -> bool {
        let mut is_open = true;
        while is_open {
            let mut pages = Vec::new();
            is_open = gather(&mut incoming, &mut pages).await;
            self.note_delivered(&pages);
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

    /// Notes that the pages of the next batch are delivered: their other URLs are stored as skipped
    /// with their entries. Before them, a crash would lose those of a page that is another one when
    /// it is fetched again.
    fn note_delivered(&self, pages: &[Recorded]) {
        if pages.is_empty() {
            return;
        }
        let mut frontier = lock(&self.frontier);
        for page in pages {
            frontier.note_delivered(page.n);
        }
        drop(frontier);
        self.target.frontier_changed.notify_one();
    }

    /// Stores a batch with the changes of the frontier; `false` when the store failed repeatedly,
    /// or the server stops while it waits for space or for the database.
    async fn write_batch(&mut self, pages: Vec<Recorded>) -> bool {
        let changes = lock(&self.frontier).take_changes();
        let urls = self.writable(changes, &pages);
        if pages.is_empty() && urls.is_empty() {
            return true;
        }
        let mut batch = Batch::new(pages, urls, self.last_seq, self.counts);
        let mut has_failed = false;
        let mut n_failures = 0;
        while n_failures < RETRIES_MAX {
            match batch.store(&self.job, &self.target.sinks).await {
                Ok(stored_bytes) => {
                    if has_failed {
                        tracing::info!(
                            crawl = self.job.id,
                            "the pages of a crawl are stored after all"
                        );
                    }
                    self.last_seq = batch.last_seq();
                    self.counts = batch.counts();
                    self.job.recorded.send_replace(self.last_seq);
                    if !self.target.storage.has_room(stored_bytes) {
                        self.stop_for_space();
                    }
                    return true;
                }
                Err(error) => {
                    if !has_failed {
                        tracing::error!(crawl = self.job.id, error = %error, "could not store the pages of a crawl, retrying");
                        has_failed = true;
                    }
                    let is_passing = error.is_full() || error.is_unreachable();
                    let waits = is_passing && self.job.in_background;
                    if waits && self.target.stop.is_cancelled() {
                        // The next process fetches these pages again and does not charge them.
                        return false;
                    }
                    n_failures += usize::from(!waits);
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
        tracing::error!(
            crawl = self.job.id,
            "the pages of a crawl could not be stored, giving up"
        );
        false
    }

    /// Ends the crawl because its account may store nothing more, unless the crawl is complete.
    fn stop_for_space(&self) {
        if lock(&self.frontier).stop_unless_complete(StopReason::Storage) {
            self.target.frontier_changed.notify_one();
        }
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
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bytes::Bytes;
    use url::Url;

    use trawl_model::clock::{Clock, Timestamp};
    use trawl_model::{Nanodollars, SkipReason};
    use trawl_plan::address;
    use trawl_store::sqlite::SqliteStore;
    use trawl_store::testing::running_crawl;
    use trawl_store::{
        AccountId, AccountRecord, Channel, CrawlRecord, CrawlStore, DataDir, Disk, DiskThreshold,
        KeyRecord, KeySpending, LedgerStore, Notice, OutboxStore, PageLog, PageRange, Store,
    };

    use super::*;
    use crate::frontier::tests::{found, plan};
    use crate::frontier::{Lease, Leased};
    use crate::job::CrawlProgress;
    use crate::webhooks::{Event, FoundPage, WebhookLimits, Webhooks};

    const ID: &str = "ab12";
    /// Long enough for a slow machine.
    const PATIENCE: Duration = Duration::from_secs(30);

    async fn store(folder: &Path) -> Arc<SqliteStore> {
        let data = DataDir::create(folder).expect("a data directory");
        let store = SqliteStore::open(data).await.expect("a store");
        let account = AccountRecord {
            id: AccountId::new("acc_1"),
            name: "test".to_owned(),
            created: Timestamp(1),
            balance: Nanodollars::ZERO,
            held: Nanodollars::ZERO,
            notice: Notice::default(),
        };
        let key = KeyRecord {
            prefix: "tr_1".to_owned(),
            account: account.id.clone(),
            hash: [1; 32],
            created: Timestamp(1),
            name: String::new(),
            last_used: None,
            revoked: None,
            spending: KeySpending::default(),
        };
        let created = store.create_account(&account, &key, &[]).await;
        created.expect("a new account");
        Arc::new(store)
    }

    fn record() -> CrawlRecord {
        running_crawl(&AccountId::new("acc_1"), ID)
    }

    /// A page with one event.
    fn page(n: u32) -> Recorded {
        let hook = address::receiver("http://b.example/hook").expect("a URL");
        let page = FoundPage {
            crawl_id: ID,
            n: u64::from(n),
            url: "http://a.example/",
            status: 200,
            cause: None,
            place: None,
        };
        Recorded {
            n,
            status: 200,
            is_failed: false,
            n_bytes: 1,
            charge: Nanodollars(3),
            at: Timestamp(1),
            cause: None,
            error: None,
            content: None,
            entry: Bytes::from_static(b"{}"),
            events: vec![Event::find(&record().account, &hook, page, "x".into())],
        }
    }

    /// A frontier whose seed is leased, and the seed.
    fn leased() -> (Frontier, Leased) {
        let mut frontier = Frontier::new(Arc::new(plan("http://a.example/")));
        frontier.add_seeds();
        match frontier.lease() {
            Lease::Page(leased) => (frontier, leased),
            _ => panic!("no page"),
        }
    }

    fn target(folder: &Path, store: &Arc<SqliteStore>) -> Target {
        let log = PageLog::continue_after(folder, ID, None).expect("a log");
        let disk = Disk::open(folder, DiskThreshold::Bytes(0)).expect("a disk");
        Target {
            sinks: Sinks {
                store: store.clone(),
                log: log.into(),
                webhooks: Webhooks::new(store.clone(), Clock::wall(), WebhookLimits::default()),
            },
            storage: Storage::new(store.clone(), Arc::new(disk), 0),
            frontier_changed: Arc::default(),
            stop: CancellationToken::new(),
        }
    }

    #[tokio::test]
    async fn another_url_of_a_page_is_skipped_in_the_store_once_the_page_is_stored() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = store(folder.path()).await;
        let (mut frontier, leased) = leased();
        let to = Url::parse("http://a.example/to").expect("a URL");
        assert_eq!(frontier.redirect(leased.n, &to), Ok(()));
        frontier.complete(leased.n, &found(&[]), true);
        let record = record();
        store.create_crawl(&record).await.expect("a new crawl");
        let job = Arc::new(Job::new(&record, CrawlProgress::stored(&record)));
        let target = target(folder.path(), &store);
        let frontier = Arc::new(Mutex::new(frontier));
        let recorder = Recorder::start(job, frontier, target, CrawlCounts::default());
        let states = async || {
            let urls = store.crawl_urls(ID, None, 9).await.expect("URLs");
            urls.iter().map(|url| url.state).collect::<Vec<_>>()
        };
        let started = Instant::now();
        while states().await.is_empty() {
            assert!(started.elapsed() < PATIENCE, "nothing is stored");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(states().await, [UrlState::Waiting; 2]);
        let sent = recorder.sender().send(page(leased.n)).await;
        assert!(sent.is_ok());
        assert!(recorder.finish().await, "it is stored");
        let duplicate = UrlState::Skipped(SkipReason::Duplicate);
        assert_eq!(states().await, [UrlState::Done, duplicate]);
        store.close().await;
    }

    #[tokio::test]
    async fn a_batch_that_is_retried_does_each_step_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = store(folder.path()).await;
        let (mut frontier, leased) = leased();
        frontier.complete(leased.n, &found(&[]), true);
        let record = record();
        let job = Arc::new(Job::new(&record, CrawlProgress::stored(&record)));
        let target = target(folder.path(), &store);
        let frontier = Arc::new(Mutex::new(frontier));
        // The crawl is not in the database yet, so the last step of its batch fails.
        let recorder = Recorder::start(job, frontier, target, CrawlCounts::default());
        let sent = recorder.sender().send(page(leased.n)).await;
        assert!(sent.is_ok());
        let started = Instant::now();
        let event = loop {
            let events = store.outbox_rows(&record.account, PageRange::offset(9, 0));
            if let Some(event) = events.await.expect("events").rows.pop() {
                break event;
            }
            assert!(started.elapsed() < PATIENCE, "no event is stored");
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        // It is delivered between two tries.
        let channel = Channel {
            account: record.account.clone(),
            destination: event.destination,
        };
        let done = store.outbox_done(&channel, &[event.id], Timestamp(2)).await;
        assert_eq!(done.expect("delivered"), 1);
        tokio::time::sleep(RETRY_DELAY * 3).await;
        store.create_crawl(&record).await.expect("a new crawl");
        assert!(recorder.finish().await, "it is stored in the end");

        assert_eq!(store.outbox_count().await.expect("a number"), 0);
        let pages = store.crawl_pages(ID, 0, 9).await.expect("pages");
        let places: Vec<_> = pages.iter().map(|page| (page.seq, page.place)).collect();
        assert_eq!((places.len(), places[0].0, places[0].1.offset), (1, 1, 0));
        let log = folder.path().join("crawls").join(format!("{ID}.pages"));
        let length = std::fs::metadata(log).expect("a file").len();
        assert_eq!(length, u64::from(places[0].1.length), "one entry");
        let urls = store.crawl_urls(ID, None, 9).await.expect("URLs");
        assert_eq!(urls[0].state, UrlState::Done);
        store.close().await;
    }
}
