//! Pages that were fetched before, kept on disk for everyone who asks for them in the same way.
//!
//! Only what any caller would have got is kept: requests with headers, cookies or passwords of their own never come here,
//! and neither do answers that set a cookie or say `no-store` or `private`. [`policy`] decides that; this file joins the index
//! in memory, the log of records and the files of bodies. One thread writes. Readers check a body against its hash, so a crash
//! or a broken disk costs a page, never serves a wrong one.

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
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::oneshot;

pub use policy::{Ask, StoredPage, is_permanent, is_storable, key};

use index::{Index, Slot};
use log::{LogFile, LogPosition};
use trawl_model::clock::{Clock, Timestamp};
use trawl_model::lru::Lru;

/// Name of a page in the cache: a hash of its address and of what its request had of the caller.
pub type Key = blake3::Hash;

/// Body bytes that wait for the writer. More than a burst of ten crawls; what does not fit is not kept.
const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Pages that wait for the writer, however small.
const QUEUE_PAGES_MAX: usize = 4_096;
/// A body larger than this part of the cache would push out too much for one page.
const BODY_PART_MAX: u64 = 8;
/// Pages that are kept, however small: bounds the index to about 250 MiB of memory.
const PAGES_MAX: usize = 1_000_000;

/// Settings of the room.
#[derive(Clone, Debug)]
pub struct CacheConfig {
    /// Folder of the bodies and of the log; made when it is missing.
    pub folder: PathBuf,
    /// Bytes on disk.
    pub bytes_max: u64,
    /// Bytes of kept pages that are in memory as well; zero is none.
    pub memory_bytes_max: u64,
    /// What the age of a page is measured with.
    pub clock: Clock,
}

/// The page cache. One for the whole server; its thread ends when it is dropped.
#[derive(Debug)]
pub struct PageCache {
    shared: Arc<Shared>,
    orders: Sender<Order>,
    clock: Clock,
}

/// What the callers and the writer's thread share.
#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    bytes_max: u64,
    queued_bytes: AtomicUsize,
    queued_pages: AtomicUsize,
    state: Mutex<State>,
    /// Pages that were read, with the place and the body they were read from: what stands in the index now says whether they
    /// still are what is kept.
    read: Lru<Key, (LogPosition, Arc<StoredPage>)>,
}

#[derive(Debug)]
struct State {
    index: Index,
    /// What the offsets of the index point into. Compaction replaces both together.
    log: Arc<File>,
    /// What was ordered and is not written: readers see it at once. `None` is a page that is to be forgotten.
    pending: HashMap<Key, (u64, Option<Arc<StoredPage>>)>,
    n_orders: u64,
}

/// What the writer is told to do.
#[derive(Debug)]
enum Order {
    Keep(Key, u64, Arc<StoredPage>),
    Forget(Key, u64),
    /// Answer when everything before is done.
    Flush(oneshot::Sender<()>),
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an order is still the last word on its page.
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
    /// When the folder cannot be read or written.
    pub fn open(config: CacheConfig) -> io::Result<Arc<Self>> {
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
            state: Mutex::new(State {
                index,
                log: log.reader(),
                pending: HashMap::new(),
                n_orders: 0,
            }),
            read: Lru::new(config.memory_bytes_max, BODY_PART_MAX),
        });
        let (orders, received) = mpsc::channel();
        writer::start(Arc::clone(&shared), log, received)?;
        Ok(Arc::new(Self {
            shared,
            orders,
            clock: config.clock,
        }))
    }

    /// The time by which ages are told.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The page kept under this key. Its body was checked when it was read from disk.
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
        tokio::task::spawn_blocking(move || shared.read(&key, slot, &log))
            .await
            .ok()
            .flatten()
    }

    /// Keeps a page, in place of what was kept under this key. It is written later; when too much waits to be written, or the
    /// page is too large, it is not kept.
    pub fn keep(&self, key: Key, page: StoredPage) {
        if page.body.len() as u64 > self.shared.bytes_max / BODY_PART_MAX {
            self.forget(&key);
            return;
        }
        let waiting = self.shared.queued_bytes.load(Ordering::Relaxed) + page.body.len();
        if waiting > QUEUE_BYTES_MAX || self.is_queue_full() {
            metrics::counter!("trawl_cache_dropped_total").increment(1);
            // The kept page is older than the one that finds no room, so it is no longer right.
            self.forget(&key);
            return;
        }
        let page = Arc::new(page);
        let queued = Some(Arc::clone(&page));
        self.order(key, page.body.len(), queued, |number| {
            Order::Keep(key, number, page)
        });
    }

    /// Forgets the page kept under this key.
    pub fn forget(&self, key: &Key) {
        {
            let mut state = self.shared.state();
            if !state.pending.contains_key(key) && !state.index.has(key) {
                return;
            }
            if self.is_queue_full() {
                // Its body stays until the next start sweeps it away.
                state.pending.remove(key);
                state.index.remove(key);
                return;
            }
        }
        self.order(*key, 0, None, |number| Order::Forget(*key, number));
    }

    /// Waits until everything that was kept so far is written.
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
            // The writer's thread is gone: nothing is kept any more.
            state.pending.remove(&key);
        }
    }
}

impl Shared {
    /// A page that was read before and is still what is kept.
    fn in_memory(&self, key: &Key, slot: &Slot) -> Option<Arc<StoredPage>> {
        let read = self.read.get(key)?;
        let (place, page) = &*read;
        let is_kept = *place == slot.place && page.hash == Some(slot.body);
        is_kept.then(|| Arc::clone(page))
    }

    /// Reads a page from disk. One that is not as it was written is removed.
    fn read(&self, key: &Key, slot: Slot, log: &File) -> Option<Arc<StoredPage>> {
        let read = || -> io::Result<StoredPage> {
            let record = log::read(log, slot.place)?;
            let meta = record.meta.ok_or(io::ErrorKind::InvalidData)?;
            let body: Bytes = bodies::read(&self.folder, &slot.body, record.body_bytes)?;
            let hash = Some(slot.body);
            Ok(StoredPage { meta, body, hash })
        };
        match read() {
            Ok(page) => {
                let page = Arc::new(page);
                let entry = Arc::new((slot.place, Arc::clone(&page)));
                self.read.insert(*key, entry, page.bytes());
                Some(page)
            }
            Err(error) => {
                let mut state = self.state();
                // Evicted or replaced in the meantime is no trouble: then the slot is not the one that was read.
                if state
                    .index
                    .slot(key)
                    .is_some_and(|now| now.body == slot.body)
                {
                    tracing::warn!(error = %error, body = %slot.body, "a kept page cannot be read; it is dropped");
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
