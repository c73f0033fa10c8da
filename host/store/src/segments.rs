//! Page logs in an object store. The entries of all crawls of a process are collected for a moment
//! and written as one immutable object, a segment: the number of requests to the object store does
//! not grow with the number of crawls. The database knows each segment before it is written, and
//! which crawls have pages in it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use trawl_model::clock::{Clock, Timestamp};
use trawl_model::memory::MemoryLease;

use crate::crawls::{LogPosition, SegmentId};
use crate::error::StoreError;
use crate::future::StoreFuture;
use crate::objects::Objects;
use crate::page_log::positions;
use crate::record::{self, ReadEntry};

/// How long entries are collected for a segment. Their crawls go on meanwhile.
const GATHER_TIME: Duration = Duration::from_millis(200);
/// A segment of this size is written at once. The last entries may exceed it.
pub(crate) const SEGMENT_BYTES: usize = 4 << 20;
/// Batches of entries that may wait.
const WAITING_MAX: usize = 64;
/// How old a segment is when it is deleted for having no crawl: a crawl that lost its database may
/// note its pages late.
const UNUSED_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Segments that are deleted in one step.
const DELETED_AT_ONCE: u32 = 100;

/// What a database knows of segments.
pub trait SegmentStore: fmt::Debug + Send + Sync + 'static {
    /// Notes a segment that is about to be written.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if the id exists.
    fn add_segment(&self, id: SegmentId, at: Timestamp) -> StoreFuture<'_, ()>;

    /// Segments from before a time in which no crawl has pages, oldest first.
    fn unused_segments(&self, before: Timestamp, count_max: u32)
    -> StoreFuture<'_, Vec<SegmentId>>;

    /// Forgets segments whose objects are deleted.
    fn remove_segments<'a>(&'a self, ids: &'a [SegmentId]) -> StoreFuture<'a, ()>;
}

impl SegmentId {
    /// A new id.
    pub(crate) fn random() -> Self {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).expect("the operating system provides random numbers");
        Self(i64::from_le_bytes(bytes) & i64::MAX)
    }

    /// Name of its object.
    pub(crate) fn object(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// The segments of the page logs.
#[derive(Debug)]
pub(crate) struct Segments {
    shelf: Arc<Shelf>,
    queue: mpsc::Sender<Appended>,
}

/// Where segments are.
#[derive(Debug)]
struct Shelf {
    objects: Objects,
    store: Arc<dyn SegmentStore>,
    clock: Clock,
}

/// Entries of one crawl that wait to be written.
#[derive(Debug)]
struct Appended {
    /// Their records, one after the other, of these lengths.
    bytes: Vec<u8>,
    lengths: Vec<u32>,
    done: oneshot::Sender<Result<Vec<LogPosition>, StoreError>>,
}

impl Segments {
    /// Starts the writer, which ends when this is dropped.
    pub(crate) fn start(objects: Objects, store: Arc<dyn SegmentStore>, clock: Clock) -> Self {
        let shelf = Arc::new(Shelf {
            objects,
            store,
            clock,
        });
        let (queue, incoming) = mpsc::channel(WAITING_MAX);
        tokio::spawn(write(Arc::clone(&shelf), incoming));
        Self { shelf, queue }
    }

    /// Writes entries with the next segment, and returns their positions once it is durable.
    pub(crate) async fn append(&self, entries: Vec<Bytes>) -> Result<Vec<LogPosition>, StoreError> {
        let encoding = tokio::task::spawn_blocking(move || {
            let entries: Vec<&[u8]> = entries.iter().map(|entry| &entry[..]).collect();
            record::encode(&entries)
        });
        let encoded = encoding.await;
        let encoded = encoded.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        let (bytes, lengths) = encoded?;
        let (done, outcome) = oneshot::channel();
        let appended = Appended {
            bytes,
            lengths,
            done,
        };
        let ended = || failed("the writer of segments has ended".to_owned(), false);
        self.queue.send(appended).await.map_err(|_| ended())?;
        outcome.await.unwrap_or_else(|_| Err(ended()))
    }

    /// The entry at a position of a segment, if this lease covers it and its stored form.
    pub(crate) async fn read(
        &self,
        (segment, place): (SegmentId, LogPosition),
        lease: MemoryLease,
    ) -> Result<ReadEntry, StoreError> {
        let length = place.length as usize;
        if lease.bytes() < length as u64 {
            return Ok(ReadEntry::Needs(length, lease));
        }
        let range = place.offset..place.offset + u64::from(place.length);
        let stored = self.shelf.objects.get(&segment.object(), range).await?;
        record::decode(stored, lease)
    }

    /// Deletes the segments that no crawl needs any more. Returns how many there were.
    pub(crate) async fn expire(&self) -> Result<u64, StoreError> {
        let shelf = &self.shelf;
        let before = shelf.clock.now().before(UNUSED_AGE);
        let mut n_deleted = 0;
        loop {
            let ids = shelf.store.unused_segments(before, DELETED_AT_ONCE).await?;
            if ids.is_empty() {
                return Ok(n_deleted);
            }
            for id in &ids {
                shelf.objects.delete(&id.object()).await?;
            }
            shelf.store.remove_segments(&ids).await?;
            n_deleted += ids.len() as u64;
        }
    }
}

/// Writes what comes until all senders are dropped.
async fn write(shelf: Arc<Shelf>, mut incoming: mpsc::Receiver<Appended>) {
    while let Some(first) = incoming.recv().await {
        let group = gather(first, &mut incoming).await;
        match shelf.write(&group).await {
            Ok(segment) => {
                let mut start = 0;
                for appended in group {
                    let places = positions(start, Some(segment), &appended.lengths);
                    start += appended.bytes.len() as u64;
                    // The receiver is gone if its crawl was ended.
                    let _ignored = appended.done.send(Ok(places));
                }
            }
            Err(error) => {
                let is_passing = error.is_full() || error.is_unreachable();
                let reason = error.to_string();
                for appended in group {
                    let error = failed(reason.clone(), is_passing);
                    let _ignored = appended.done.send(Err(error));
                }
            }
        }
    }
}

/// The entries of a segment: what comes within a moment, until there is enough.
async fn gather(first: Appended, incoming: &mut mpsc::Receiver<Appended>) -> Vec<Appended> {
    let until = Instant::now() + GATHER_TIME;
    let mut n_bytes = first.bytes.len();
    let mut group = vec![first];
    while n_bytes < SEGMENT_BYTES {
        let Ok(Some(next)) = timeout_at(until, incoming.recv()).await else {
            break;
        };
        n_bytes += next.bytes.len();
        group.push(next);
    }
    group
}

impl Shelf {
    /// Writes a segment durably. One that fails leaves an id that no crawl has.
    async fn write(&self, group: &[Appended]) -> Result<SegmentId, StoreError> {
        let parts: Vec<&[u8]> = group.iter().map(|appended| &appended.bytes[..]).collect();
        let segment = SegmentId::random();
        self.store.add_segment(segment, self.clock.now()).await?;
        self.objects.put(&segment.object(), parts.concat()).await?;
        Ok(segment)
    }
}

fn failed(reason: String, is_passing: bool) -> StoreError {
    StoreError::Objects {
        doing: "write a segment",
        reason,
        is_passing,
    }
}
