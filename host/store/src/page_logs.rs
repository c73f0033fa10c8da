//! The page logs of all crawls: files in the data directory, or segments in an object store.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use trawl_model::clock::Clock;
use trawl_model::memory::MemoryLease;

use crate::crawls::LogPosition;
use crate::error::StoreError;
use crate::objects::Objects;
use crate::page_log::PageLog;
use crate::record::ReadEntry;
use crate::segments::{SegmentStore, Segments};

/// The page logs of all crawls. Clones share them.
#[derive(Clone, Debug)]
pub struct PageLogs {
    /// The data directory, which has the logs that are files.
    data: PathBuf,
    /// Where new entries are written, unless that is a file.
    segments: Option<Arc<Segments>>,
}

impl PageLogs {
    /// Logs in files of a data directory.
    pub fn in_files(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
            segments: None,
        }
    }

    /// Logs in segments. Those of earlier crawls, which are files of the data directory, are read
    /// there. Must be called in a runtime.
    pub fn in_segments(
        data: &Path,
        objects: Objects,
        store: Arc<dyn SegmentStore>,
        clock: Clock,
    ) -> Self {
        Self {
            data: data.to_owned(),
            segments: Some(Arc::new(Segments::start(objects, store, clock))),
        }
    }

    /// A writer of a crawl's entries. `last` is its last entry in the database; what is behind it
    /// in a file is truncated.
    ///
    /// # Errors
    /// [`StoreError::PageLog`] on an I/O error.
    pub async fn writer(
        &self,
        id: &str,
        last: Option<LogPosition>,
    ) -> Result<LogWriter, StoreError> {
        if let Some(segments) = &self.segments {
            return Ok(LogWriter(Sink::Segments(Arc::clone(segments))));
        }
        let (data, id) = (self.data.clone(), id.to_owned());
        let log = on_thread(move || match last {
            // The file may have entries from before the segments.
            Some(last) if last.segment.is_some() => PageLog::open(&data, &id),
            last => PageLog::continue_after(&data, &id, last.as_ref()),
        });
        log.await.map(LogWriter::from)
    }

    /// The entry of a crawl at a position, if this lease covers it and its stored form.
    ///
    /// # Errors
    /// [`StoreError::PageLog`] or [`StoreError::Objects`], also if there is no entry at this
    /// position or it is damaged.
    pub async fn read(
        &self,
        id: &str,
        place: LogPosition,
        lease: MemoryLease,
    ) -> Result<ReadEntry, StoreError> {
        let Some(segment) = place.segment else {
            let (data, id) = (self.data.clone(), id.to_owned());
            return on_thread(move || PageLog::open(&data, &id)?.read(&place, lease)).await;
        };
        match &self.segments {
            Some(segments) => segments.read((segment, place), lease).await,
            None => Err(StoreError::Objects {
                doing: "read an entry",
                reason: "the server is started without `[store] objects`".to_owned(),
                is_passing: false,
            }),
        }
    }

    /// Removes the logs of deleted crawls that are files. One that cannot be removed is logged.
    pub fn remove(&self, ids: &[String]) {
        for id in ids {
            if let Err(error) = PageLog::remove(&self.data, id) {
                tracing::error!(crawl = id, error = %error, "could not remove the page log of an expired crawl");
            }
        }
    }

    /// Deletes the segments that no crawl needs any more. Returns how many there were.
    ///
    /// # Errors
    /// [`StoreError::Objects`], or the database failed.
    pub async fn expire_segments(&self) -> Result<u64, StoreError> {
        match &self.segments {
            Some(segments) => segments.expire().await,
            None => Ok(0),
        }
    }
}

/// Writes the entries of one crawl. Clones share it.
#[derive(Clone, Debug)]
pub struct LogWriter(Sink);

#[derive(Clone, Debug)]
enum Sink {
    File(Arc<Mutex<PageLog>>),
    Segments(Arc<Segments>),
}

impl LogWriter {
    /// Appends entries and returns their positions. They are durable then if that is asked for, and
    /// always in a segment.
    ///
    /// # Errors
    /// [`StoreError::PageLog`] or [`StoreError::Objects`]; no entry of this call is valid then.
    pub async fn append(
        &self,
        entries: Vec<Bytes>,
        is_durable: bool,
    ) -> Result<Vec<LogPosition>, StoreError> {
        let log = match &self.0 {
            Sink::Segments(segments) => return segments.append(entries).await,
            Sink::File(log) => Arc::clone(log),
        };
        on_thread(move || {
            let entries: Vec<&[u8]> = entries.iter().map(|entry| &entry[..]).collect();
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            match is_durable {
                true => log.append_durably(&entries),
                false => log.append(&entries),
            }
        })
        .await
    }
}

impl From<PageLog> for LogWriter {
    fn from(log: PageLog) -> Self {
        Self(Sink::File(Arc::new(Mutex::new(log))))
    }
}

/// Runs work that may take long on a thread that may block.
async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use trawl_model::clock::Timestamp;
    use trawl_model::memory::{MemoryBudget, MemoryKind};

    use super::*;
    use crate::crawls::SegmentId;
    use crate::future::StoreFuture;
    use crate::objects::ObjectsUrl;

    /// Segments without a database; those of `used` have a crawl.
    #[derive(Debug, Default)]
    struct Known {
        segments: Mutex<BTreeMap<i64, Timestamp>>,
        used: Mutex<Vec<SegmentId>>,
    }

    impl SegmentStore for Known {
        fn add_segment(&self, id: SegmentId, at: Timestamp) -> StoreFuture<'_, ()> {
            self.segments.lock().expect("a lock").insert(id.0, at);
            Box::pin(std::future::ready(Ok(())))
        }

        fn unused_segments(
            &self,
            before: Timestamp,
            count_max: u32,
        ) -> StoreFuture<'_, Vec<SegmentId>> {
            let used = self.used.lock().expect("a lock");
            let segments = self.segments.lock().expect("a lock");
            let unused = segments.iter().filter(|(_, at)| **at < before);
            let unused = unused.map(|(id, _)| SegmentId(*id));
            let unused: Vec<SegmentId> = unused
                .filter(|id| !used.contains(id))
                .take(count_max as usize)
                .collect();
            Box::pin(std::future::ready(Ok(unused)))
        }

        fn remove_segments<'a>(&'a self, ids: &'a [SegmentId]) -> StoreFuture<'a, ()> {
            let mut segments = self.segments.lock().expect("a lock");
            segments.retain(|id, _| !ids.contains(&SegmentId(*id)));
            Box::pin(std::future::ready(Ok(())))
        }
    }

    fn n_files(folder: &Path) -> usize {
        std::fs::read_dir(folder.join("pages")).map_or(0, Iterator::count)
    }

    async fn read(logs: &PageLogs, id: &str, place: LogPosition) -> Result<Bytes, StoreError> {
        let budget = MemoryBudget::unlimited();
        let mut lease = budget.share("a").page().lease_for(MemoryKind::Stored);
        lease.record(1 << 20);
        match logs.read(id, place, lease).await? {
            ReadEntry::Entry(entry) => Ok(entry.into_bytes()),
            ReadEntry::Needs(bytes, _) => panic!("{bytes} bytes"),
        }
    }

    #[test]
    fn after_a_page_log_that_stays_the_others_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |id: &str| folder.path().join("crawls").join(format!("{id}.pages"));
        // Not a file, so it cannot be removed like one.
        std::fs::create_dir_all(path("aa")).expect("a folder");
        drop(PageLog::open(folder.path(), "bb").expect("a log"));
        assert!(path("bb").exists());
        let logs = PageLogs::in_files(folder.path());
        logs.remove(&["aa".to_owned(), "bb".to_owned()]);
        assert!(path("aa").exists() && !path("bb").exists());
    }

    #[tokio::test]
    async fn crawls_share_a_segment_and_it_is_deleted_once_none_needs_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let (data, objects) = (folder.path().join("data"), folder.path().join("objects"));
        let url = format!("file://{}", objects.display());
        let url: ObjectsUrl = url.parse().expect("a URL");
        let known = Arc::new(Known::default());
        let clock = Clock::fake(Timestamp(1_000_000_000_000));
        // An entry of a crawl from before.
        let files = PageLogs::in_files(&data);
        let early = files.writer("ab", None).await.expect("a writer");
        let early = early.append(vec![Bytes::from_static(b"{}")], true).await;
        let early = early.expect("written")[0];

        let opened = Objects::open(&url).expect("a store");
        let logs = PageLogs::in_segments(&data, opened, known.clone(), clock.clone());
        let first = logs.writer("ab", Some(early)).await.expect("a writer");
        let second = logs.writer("cd", None).await.expect("a writer");
        let large = Bytes::from("a page of text, again and again. ".repeat(500));
        let entries = vec![Bytes::from_static(b"[]"), large.clone()];
        let (of_first, of_second) = tokio::join!(
            first.append(entries, true),
            second.append(vec![Bytes::from_static(b"[1]")], false)
        );
        let (of_first, of_second) = (of_first.expect("written"), of_second.expect("written"));
        assert_eq!(n_files(&objects), 1, "one segment");
        assert_eq!(
            read(&logs, "ab", early).await.expect("an entry"),
            &b"{}"[..]
        );
        assert_eq!(
            read(&logs, "ab", of_first[0]).await.expect("an entry"),
            &b"[]"[..]
        );
        assert_eq!(
            read(&logs, "ab", of_first[1]).await.expect("an entry"),
            large
        );
        assert_eq!(
            read(&logs, "cd", of_second[0]).await.expect("an entry"),
            &b"[1]"[..]
        );
        let refusal = read(&files, "ab", of_first[0])
            .await
            .expect_err("no segments");
        assert!(refusal.to_string().contains("[store] objects"), "{refusal}");

        let segment = of_first[0].segment.expect("a segment");
        known.used.lock().expect("a lock").push(segment);
        clock.advance(std::time::Duration::from_secs(48 * 60 * 60));
        assert_eq!(logs.expire_segments().await.expect("a look"), 0);
        known.used.lock().expect("a lock").clear();
        assert_eq!(logs.expire_segments().await.expect("deleted"), 1);
        assert_eq!(n_files(&objects), 0);
        assert!(read(&logs, "ab", of_first[0]).await.is_err());
    }

    #[tokio::test]
    async fn entries_are_not_written_without_the_object_store() {
        let folder = tempfile::tempdir().expect("a folder");
        let objects = folder.path().join("objects");
        let url = format!("file://{}", objects.display());
        let url: ObjectsUrl = url.parse().expect("a URL");
        let opened = Objects::open(&url).expect("a store");
        let known = Arc::new(Known::default());
        let logs = PageLogs::in_segments(folder.path(), opened, known.clone(), Clock::wall());
        // Not a folder, so that nothing can be written below it.
        std::fs::write(objects.join("pages"), "").expect("a file");
        let writer = logs.writer("ab", None).await.expect("a writer");
        let refused = writer.append(vec![Bytes::from_static(b"{}")], true).await;
        let refusal = refused.expect_err("not written");
        assert!(refusal.is_unreachable(), "{refusal}");
        std::fs::remove_file(objects.join("pages")).expect("removed");
        let written = writer.append(vec![Bytes::from_static(b"{}")], true).await;
        let place = written.expect("written")[0];
        assert_eq!(
            read(&logs, "ab", place).await.expect("an entry"),
            &b"{}"[..]
        );
        assert_eq!(known.segments.lock().expect("a lock").len(), 2);
    }
}
