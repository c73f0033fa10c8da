//! The page cache: fetched pages on disk, for every caller whose request looks the same.
//!
//! Only what every caller would receive is cached: requests with headers, cookies or passwords of
//! their own bypass the cache, and answers that set a cookie or say `no-store` or `private` are not
//! stored. [`policy`] decides that; this module joins the index in memory, the log of records and
//! the files of bodies. One thread writes. Readers check a body against its hash, so a crash or a
//! broken disk can lose a page but never serve a wrong one.

mod bodies;
mod index;
mod log;
mod policy;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Semaphore, oneshot};

use trawl_model::clock::{Clock, Timestamp};
use trawl_model::lru::Lru;

use index::{Index, Slot};
use log::{LogFile, LogPosition};

pub use policy::{ConditionalRequest, Provided, StoredPage, is_permanent, is_storable, key};

/// Key of a page in the cache: a hash of its URL and of what its request had of the caller.
pub type Key = blake3::Hash;

/// Name of a body: the hash of its bytes.
type BodyHash = blake3::Hash;

/// Pages read from disk at once: enough to keep a disk busy.
const READS_MAX: usize = 4;
/// Most body bytes queued for the writer. More than a burst of ten crawls; what exceeds it is not
/// stored.
const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most pages queued for the writer, however small.
const QUEUE_PAGES_MAX: usize = 4_096;
/// A body larger than this share of the cache would evict too much for one page.
const BODY_PART_MAX: u64 = 8;
/// Most pages, however small: bounds the index to about 250 MiB of memory.
const PAGES_MAX: usize = 1_000_000;

/// Pages in memory that are not read for this long are freed when nothing is stored either. They
/// remain on disk, and in the system's own cache.
const IDLE: Duration = Duration::from_secs(20);

/// Settings of the page cache.
#[derive(Clone, Debug)]
pub struct CacheConfig {
    /// Folder of the bodies and of the log; created if missing.
    pub folder: PathBuf,
    /// Bytes on disk.
    pub bytes_max: u64,
    /// Bytes of stored pages that stay in memory as well; zero for none.
    pub memory_bytes_max: u64,
    /// Whether the disk is nearly full. New pages are not stored then.
    pub is_disk_low: Arc<AtomicBool>,
    /// The clock that ages are measured by.
    pub clock: Clock,
}

/// The page cache. One for the whole server; its thread ends when it is dropped.
#[derive(Debug)]
pub struct PageCache {
    shared: Arc<Shared>,
    orders: Sender<Order>,
    is_disk_low: Arc<AtomicBool>,
    clock: Clock,
    /// Permits to read from disk. Each read takes a thread of the blocking pool, and every thread
    /// keeps some of the memory that it once needed.
    reads: Semaphore,
}

/// Shared by callers and the writer's thread.
#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    bytes_max: u64,
    queued_bytes: AtomicUsize,
    queued_pages: AtomicUsize,
    state: Mutex<CacheState>,
    /// Pages in memory, with the log position and the body they were read from: comparing these
    /// with the index shows whether they are still current.
    read: Lru<Key, (LogPosition, Arc<StoredPage>)>,
}

#[derive(Debug)]
struct CacheState {
    index: Index,
    /// What the offsets of the index point into. Compaction replaces both together.
    log: Arc<File>,
    /// Orders that are not written yet: readers see them at once. `None` removes the page.
    pending: HashMap<Key, (u64, Option<Arc<StoredPage>>)>,
    n_orders: u64,
}

/// An order for the writer.
#[derive(Debug)]
enum Order {
    Store(Key, u64, Arc<StoredPage>),
    Remove(Key, u64),
    /// Answers once everything before it is done.
    Flush(oneshot::Sender<()>),
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an order is still the latest for its page.
    fn is_current(&self, key: &Key, number: u64) -> bool {
        let state = self.state();
        state
            .pending
            .get(key)
            .is_some_and(|(last, _)| *last == number)
    }
}

impl PageCache {
    /// Opens the folder: reads the log, removes what no record names. Blocks.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn open(config: CacheConfig) -> io::Result<Arc<Self>> {
        Self::open_with_idle(config, IDLE)
    }

    fn open_with_idle(config: CacheConfig, idle: Duration) -> io::Result<Arc<Self>> {
        bodies::make_folder(&config.folder)?;
        let (mut log, records) = LogFile::open(&config.folder)?;
        let mut index = Index::default();
        for record in records {
            index.replay(record);
        }
        let present = bodies::sweep(&config.folder, |body| index.has_body(body))?;
        index.retain_bodies(|body| present.contains(body));
        for body in index.evict(config.bytes_max, PAGES_MAX) {
            bodies::remove(&config.folder, &body);
        }
        if log.is_mostly_garbage(index.record_bytes()) {
            index.moved(log.rewrite(index.records())?);
        }
        let shared = Arc::new(Shared {
            folder: config.folder,
            bytes_max: config.bytes_max,
            queued_bytes: AtomicUsize::new(0),
            queued_pages: AtomicUsize::new(0),
            state: Mutex::new(CacheState {
                index,
                log: log.reader(),
                pending: HashMap::new(),
                n_orders: 0,
            }),
            read: Lru::new(config.memory_bytes_max, BODY_PART_MAX),
        });
        let (orders, received) = mpsc::channel();
        writer::start(Arc::clone(&shared), log, received, idle)?;
        Ok(Arc::new(Self {
            shared,
            orders,
            is_disk_low: config.is_disk_low,
            clock: config.clock,
            reads: Semaphore::new(READS_MAX),
        }))
    }

    /// The current time by the cache's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Bytes of the body of the page stored under this key.
    pub fn body_bytes(&self, key: &Key) -> Option<usize> {
        let state = self.shared.state();
        match state.pending.get(key) {
            Some((_, page)) => page.as_ref().map(|page| page.body.len()),
            None => usize::try_from(state.index.bytes_of(key)?).ok(),
        }
    }

    /// The page stored under this key. Its body was checked when it was read from disk.
    pub async fn find(&self, key: &Key) -> Option<Arc<StoredPage>> {
        let (slot, log) = {
            let mut state = self.shared.state();
            if let Some((_, page)) = state.pending.get(key) {
                return page.clone();
            }
            (state.index.touch(key)?, Arc::clone(&state.log))
        };
        if let Some(page) = self.shared.in_memory(key, &slot) {
            return Some(page);
        }
        let (shared, key) = (Arc::clone(&self.shared), *key);
        let _permit = self.reads.acquire().await.ok()?;
        tokio::task::spawn_blocking(move || shared.read(&key, slot, &log))
            .await
            .ok()
            .flatten()
    }

    /// Stores a page, replacing the one under this key. It is written later; if the queue or
    /// the disk is full, or the page is too large, it is not stored.
    pub fn store(&self, key: Key, page: StoredPage) {
        if page.body.len() as u64 > self.shared.bytes_max / BODY_PART_MAX {
            self.remove(&key);
            return;
        }
        let waiting = self.shared.queued_bytes.load(Ordering::Relaxed) + page.body.len();
        let is_disk_low = self.is_disk_low.load(Ordering::Relaxed);
        if is_disk_low || waiting > QUEUE_BYTES_MAX || self.is_queue_full() {
            metrics::counter!("trawl_cache_dropped_total").increment(1);
            // The stored page is older than the one that cannot be stored, so it is outdated.
            self.remove(&key);
            return;
        }
        let page = Arc::new(page);
        let queued = Some(Arc::clone(&page));
        self.order(key, page.body.len(), queued, |number| {
            Order::Store(key, number, page)
        });
    }

    /// Removes the page stored under this key.
    pub fn remove(&self, key: &Key) {
        {
            let mut state = self.shared.state();
            if !state.pending.contains_key(key) && !state.index.has(key) {
                return;
            }
            if self.is_queue_full() {
                // Its body stays until the next start deletes it.
                state.pending.remove(key);
                state.index.remove(key);
                return;
            }
        }
        self.order(*key, 0, None, |number| Order::Remove(*key, number));
    }

    /// Waits until everything stored so far is written.
    pub async fn flush(&self) {
        let (done, is_done) = oneshot::channel();
        if self.orders.send(Order::Flush(done)).is_ok() {
            let _ = is_done.await;
        }
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.shared.state().index.bytes()
    }

    fn is_queue_full(&self) -> bool {
        self.shared.queued_pages.load(Ordering::Relaxed) >= QUEUE_PAGES_MAX
    }

    fn order(
        &self,
        key: Key,
        bytes: usize,
        page: Option<Arc<StoredPage>>,
        order: impl FnOnce(u64) -> Order,
    ) {
        self.shared.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.shared.queued_pages.fetch_add(1, Ordering::Relaxed);
        // Sent under the lock, so that orders for one page arrive in the order of their numbers.
        let mut state = self.shared.state();
        state.n_orders += 1;
        let number = state.n_orders;
        state.pending.insert(key, (number, page));
        if self.orders.send(order(number)).is_err() {
            // The writer's thread is gone: nothing is stored any more.
            state.pending.remove(&key);
        }
    }
}

impl Shared {
    /// The page in memory, if it is still current.
    fn in_memory(&self, key: &Key, slot: &Slot) -> Option<Arc<StoredPage>> {
        let read = self.read.get(key)?;
        let (position, page) = &*read;
        let is_current_page = *position == slot.position && page.hash == Some(slot.body);
        is_current_page.then(|| Arc::clone(page))
    }

    /// Reads a page from disk. A corrupt one is removed.
    fn read(&self, key: &Key, slot: Slot, log: &File) -> Option<Arc<StoredPage>> {
        let read = || -> io::Result<StoredPage> {
            let record = log::read(log, slot.position)?;
            let meta = record.meta.ok_or(io::ErrorKind::InvalidData)?;
            let body: Bytes = bodies::read(&self.folder, &slot.body, record.body_bytes)?;
            let hash = Some(slot.body);
            Ok(StoredPage { meta, body, hash })
        };
        match read() {
            Ok(page) => {
                let page = Arc::new(page);
                let entry = Arc::new((slot.position, Arc::clone(&page)));
                self.read.insert(*key, entry, page.bytes());
                Some(page)
            }
            Err(error) => {
                let mut state = self.state();
                // If it was evicted or replaced meanwhile, nothing is wrong: then the slot is not
                // the one that was read.
                if state
                    .index
                    .slot(key)
                    .is_some_and(|now| now.body == slot.body)
                {
                    tracing::warn!(error = %error, body = %slot.body, "a cached page cannot be read, it is removed");
                    state.index.drop_body(&slot.body);
                    bodies::remove(&self.folder, &slot.body);
                }
                None
            }
        }
    }
}

/// The folder of the cache in a data directory.
pub fn folder(data: &Path) -> PathBuf {
    data.join("cache")
}
