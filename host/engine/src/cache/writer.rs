//! The one thread that changes files.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::log::{BodySize, LogFile, Record};
use super::policy::StoredPage;
use super::{Key, Order, PAGES_MAX, Shared, bodies};

/// Bytes the log grows by before compaction is considered.
const COMPACT_STEP_BYTES: u64 = 4 * 1024 * 1024;

struct Writer {
    shared: Arc<Shared>,
    log: LogFile,
    compressor: zstd::bulk::Compressor<'static>,
    compact_at: u64,
    /// Whether the last write failed: a full disk is logged once, not for every page.
    is_failing: bool,
}

/// Starts the thread. It ends once the sender of orders is dropped. While no orders come, it frees
/// the pages in memory that are not read; it looks every `idle`.
pub(super) fn start(
    shared: Arc<Shared>,
    log: LogFile,
    orders: Receiver<Order>,
    idle: Duration,
) -> io::Result<()> {
    let mut writer = Writer {
        shared,
        compact_at: log.end() + COMPACT_STEP_BYTES,
        log,
        compressor: zstd::bulk::Compressor::new(bodies::LEVEL)?,
        is_failing: false,
    };
    std::thread::Builder::new()
        .name("page-cache".to_owned())
        .spawn(move || {
            let mut n_reads = 0;
            loop {
                match orders.recv_timeout(idle) {
                    Ok(order) => writer.obey(order),
                    Err(RecvTimeoutError::Timeout) => {
                        n_reads = writer.shared.read.clear_unless_used(n_reads);
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        })?;
    Ok(())
}

impl Writer {
    fn obey(&mut self, order: Order) {
        let (key, number, page) = match order {
            Order::Store(key, number, page) => (key, number, Some(page)),
            Order::Remove(key, number) => (key, number, None),
            Order::Flush(done) => {
                let _ = done.send(());
                return;
            }
        };
        let bytes = page.as_ref().map_or(0, |page| page.body.len());
        if self.shared.is_current(&key, number) {
            let done = match &page {
                Some(page) => self.store(&key, number, page),
                None => self.remove(&key),
            };
            self.report(done);
            let mut state = self.shared.state();
            if state
                .pending
                .get(&key)
                .is_some_and(|(last, _)| *last == number)
            {
                state.pending.remove(&key);
            }
        }
        self.shared.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.shared.queued_pages.fetch_sub(1, Ordering::Relaxed);
    }

    fn store(&mut self, key: &Key, number: u64, page: &StoredPage) -> io::Result<()> {
        let hash = page.hash.unwrap_or_else(|| blake3::hash(&page.body));
        let known = self.shared.state().index.disk_bytes(&hash);
        let written = match known {
            Some(disk_bytes) => Ok(disk_bytes),
            None => self.write(&hash, &page.body),
        };
        let record = |disk_bytes| {
            let body_bytes = page.body.len() as u64;
            Record::stored(key, &hash, body_bytes, disk_bytes, page.meta.clone())
        };
        let appended =
            written.and_then(|disk_bytes| Ok((self.log.append(&record(disk_bytes))?, disk_bytes)));
        let size = |disk_bytes| BodySize {
            bytes: page.body.len() as u64,
            disk_bytes,
        };
        let mut unused = Vec::new();
        let mut state = self.shared.state();
        let is_current = state
            .pending
            .get(key)
            .is_some_and(|(last, _)| *last == number);
        match &appended {
            Ok((position, disk_bytes)) if is_current => {
                unused.extend(state.index.insert(*key, *position, hash, size(*disk_bytes)));
                unused.extend(state.index.evict(self.shared.bytes_max, PAGES_MAX));
            }
            // The stored page is older than the one that could not be written, or was just replaced
            // by a later order.
            _ => {
                unused.extend(state.index.remove(key));
                if !state.index.has_body(&hash) {
                    unused.push(hash);
                }
            }
        }
        metrics::gauge!("trawl_cache_bytes").set(state.index.bytes() as f64);
        drop(state);
        for body in unused {
            bodies::remove(&self.shared.folder, &body);
        }
        appended?;
        self.compact()
    }

    fn write(&mut self, hash: &blake3::Hash, body: &[u8]) -> io::Result<u64> {
        let compressed = self.compressor.compress(body)?;
        bodies::write(&self.shared.folder, hash, &compressed)?;
        Ok(compressed.len() as u64)
    }

    fn remove(&mut self, key: &Key) -> io::Result<()> {
        let unused = self.shared.state().index.remove(key);
        if let Some(body) = unused {
            bodies::remove(&self.shared.folder, &body);
        }
        self.log.append(&Record::forgotten(key)).map(drop)
    }

    /// Compacts the log if that is worth it. Only this thread adds pages, so readers need not wait.
    fn compact(&mut self) -> io::Result<()> {
        if self.log.end() < self.compact_at {
            return Ok(());
        }
        self.compact_at = self.log.end() + COMPACT_STEP_BYTES;
        let records = {
            let state = self.shared.state();
            if !self.log.is_mostly_garbage(state.index.record_bytes()) {
                return Ok(());
            }
            state.index.records()
        };
        let moved = self.log.rewrite(records)?;
        let mut state = self.shared.state();
        state.index.moved(moved);
        state.log = self.log.reader();
        self.compact_at = self.log.end() + COMPACT_STEP_BYTES;
        Ok(())
    }

    fn report(&mut self, done: io::Result<()>) {
        match done {
            Ok(()) => self.is_failing = false,
            Err(error) => {
                metrics::counter!("trawl_cache_errors_total").increment(1);
                if !self.is_failing {
                    tracing::warn!(error = %error, "the page cache cannot be written");
                }
                self.is_failing = true;
            }
        }
    }
}
