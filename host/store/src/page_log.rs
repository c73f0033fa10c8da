//! The page log of a crawl: its entries, appended to one file. Databases are slow with large rows,
//! and the log of a crawl is deleted as a whole.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use trawl_model::memory::MemoryLease;

use crate::crawls::{LogPosition, SegmentId};
use crate::error::StoreError;
use crate::record::{self, ReadEntry, failed_to};

const FOLDER: &str = "crawls";
/// Crawls without their entries that the log names.
const NAMED_MAX: usize = 5;
const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// The page log of one crawl. Blocking: use it on blocking threads.
#[derive(Debug)]
pub struct PageLog {
    file: File,
    end: u64,
}

impl PageLog {
    /// Logs the crawls of which the database has entries and the disk has not.
    pub(crate) fn name_incomplete(crawls: &[String]) {
        if !crawls.is_empty() {
            let named = &crawls[..crawls.len().min(NAMED_MAX)];
            tracing::error!(
                n_crawls = crawls.len(),
                crawls = named.join(", "),
                "the files of these crawls in `crawls/` are missing or too short: their pages cannot be read"
            );
        }
    }

    /// Opens the log of a crawl for reading. Creates an empty one if it is missing.
    ///
    /// # Errors
    /// [`StoreError::PageLog`] on an I/O error.
    pub fn open(data: &Path, id: &str) -> Result<Self, StoreError> {
        let file = file(data, id).map_err(failed_to("open"))?;
        let end = file.metadata().map_err(failed_to("open"))?.len();
        Ok(Self { file, end })
    }

    /// Opens the log to append after `last`, the last entry in the database, and truncates the
    /// rest.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn continue_after(
        data: &Path,
        id: &str,
        last: Option<&LogPosition>,
    ) -> Result<Self, StoreError> {
        let file = file(data, id).map_err(failed_to("open"))?;
        let end = last.map_or(0, |last| last.offset + u64::from(last.length));
        file.set_len(end).map_err(failed_to("truncate"))?;
        Ok(Self { file, end })
    }

    /// Appends entries and returns their positions.
    ///
    /// # Errors
    /// [`StoreError::PageLog`]; no entry of this call is valid then.
    pub fn append(&mut self, entries: &[&[u8]]) -> Result<Vec<LogPosition>, StoreError> {
        let (bytes, lengths) = record::encode(entries)?;
        let positions = positions(self.end, None, &lengths);
        self.file
            .write_all_at(&bytes, self.end)
            .map_err(failed_to("write"))?;
        self.end += bytes.len() as u64;
        Ok(positions)
    }

    /// [`Self::append`], and flushes to disk.
    ///
    /// # Errors
    /// [`StoreError::PageLog`]; no entry of this call is valid then.
    pub fn append_durably(&mut self, entries: &[&[u8]]) -> Result<Vec<LogPosition>, StoreError> {
        let end = self.end;
        let positions = self.append(entries)?;
        if let Err(source) = self.file.flush().and_then(|()| self.file.sync_data()) {
            // After a failed flush the system may count the bytes as written although they are
            // lost, so the next call writes at the same place again.
            self.end = end;
            return Err(failed_to("flush")(source));
        }
        Ok(positions)
    }

    /// The entry at a position, if this lease covers it and its stored form.
    ///
    /// # Errors
    /// [`StoreError::PageLog`], also if there is no entry at this position or it is damaged.
    pub fn read(
        &self,
        position: &LogPosition,
        lease: MemoryLease,
    ) -> Result<ReadEntry, StoreError> {
        let length = position.length as usize;
        if !self.has(position) {
            return Err(failed_to("read")(io::ErrorKind::UnexpectedEof.into()));
        }
        if lease.bytes() < length as u64 {
            return Ok(ReadEntry::Needs(length, lease));
        }
        record::decode(Bytes::from(self.stored(position)?), lease)
    }

    /// The record at a position as it is stored; `None` if the file ends before its end.
    ///
    /// # Errors
    /// [`StoreError::PageLog`] on an I/O error.
    pub(crate) fn record(&self, position: &LogPosition) -> Result<Option<Vec<u8>>, StoreError> {
        let has_record = self.has(position);
        has_record.then(|| self.stored(position)).transpose()
    }

    fn has(&self, position: &LogPosition) -> bool {
        position.offset + u64::from(position.length) <= self.end
    }

    fn stored(&self, position: &LogPosition) -> Result<Vec<u8>, StoreError> {
        let mut stored = vec![0; position.length as usize];
        self.file
            .read_exact_at(&mut stored, position.offset)
            .map_err(failed_to("read"))?;
        Ok(stored)
    }

    /// Bytes of the log of a crawl; 0 if it is missing.
    pub(crate) fn bytes(data: &Path, id: &str) -> u64 {
        let metadata = path(data, id).and_then(std::fs::metadata);
        metadata.map_or(0, |metadata| metadata.len())
    }

    /// Removes the log of a crawl. A missing log is not an error.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn remove(data: &Path, id: &str) -> Result<(), StoreError> {
        match path(data, id).and_then(std::fs::remove_file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed_to("remove")(error))
            }
            _ => Ok(()),
        }
    }
}

fn file(data: &Path, id: &str) -> io::Result<File> {
    let path = path(data, id)?;
    if let Some(folder) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE_FOLDER)
            .create(folder)?;
    }
    let is_new = !path.exists();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE_FILE)
        .open(&path)?;
    if is_new && let Some(folder) = path.parent() {
        // The directory entry must be durable before the database refers to the file.
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}

/// The path of a log. Ids are generated by the server; anything else must not become part of a
/// path.
fn path(data: &Path, id: &str) -> io::Result<PathBuf> {
    let is_id = !id.is_empty()
        && id
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_id {
        Ok(data.join(FOLDER).join(format!("{id}.pages")))
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

/// The positions of records of these lengths, one after the other.
pub(crate) fn positions(
    start: u64,
    segment: Option<SegmentId>,
    lengths: &[u32],
) -> Vec<LogPosition> {
    let mut offset = start;
    let places = lengths.iter().map(|&length| {
        let place = LogPosition {
            segment,
            offset,
            length,
        };
        offset += u64::from(length);
        place
    });
    places.collect()
}

#[cfg(test)]
mod tests {
    use trawl_model::memory::{MemoryBudget, MemoryKind};
    use zstd::zstd_safe::get_frame_content_size;

    use super::*;
    use crate::record::{COMPRESSED, LEVEL};

    fn lease(budget: &std::sync::Arc<MemoryBudget>, bytes: usize) -> MemoryLease {
        let mut lease = budget.share("a").page().lease_for(MemoryKind::Stored);
        lease.record(bytes);
        lease
    }

    fn read(log: &PageLog, position: &LogPosition) -> Result<Bytes, StoreError> {
        match log.read(position, lease(&MemoryBudget::unlimited(), 1 << 20))? {
            ReadEntry::Entry(entry) => Ok(entry.into_bytes()),
            ReadEntry::Needs(bytes, _) => panic!("{bytes} bytes"),
        }
    }

    /// An entry is in memory only under a lease that covers it, also one whose frame does not say
    /// how long it is, as earlier versions wrote them.
    #[test]
    fn an_entry_is_read_only_if_the_lease_covers_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let large = vec![b'x'; 3 << 20];
        let mut log = PageLog::continue_after(folder.path(), "ab", None).expect("a log");
        let said = log.append(&[&large]).expect("appended").remove(0);
        let mut unsaid = vec![COMPRESSED];
        zstd::stream::copy_encode(&large[..], &mut unsaid, LEVEL).expect("compressed");
        let frame = get_frame_content_size(&unsaid[1..]);
        assert!(frame.is_ok_and(|size| size.is_none()));
        let unsaid_at = LogPosition {
            segment: None,
            offset: log.end,
            length: unsaid.len() as u32,
        };
        log.file.write_all_at(&unsaid, log.end).expect("written");
        let log = PageLog::open(folder.path(), "ab").expect("the log");
        let budget = MemoryBudget::new(64 << 20);
        for position in [said, unsaid_at] {
            let small = log.read(&position, lease(&budget, 1 << 20));
            let Ok(ReadEntry::Needs(bytes, mut lease)) = small else {
                panic!("{small:?}");
            };
            assert_eq!(bytes, large.len() + position.length as usize);
            lease.record(bytes);
            let Ok(ReadEntry::Entry(entry)) = log.read(&position, lease) else {
                panic!("the lease covers it");
            };
            assert_eq!((entry.len(), budget.in_use().used), (3 << 20, 3 << 20));
            drop(entry);
            assert_eq!(budget.in_use().used, 0);
        }
    }

    /// Whichever bit of a record is flipped, its entry is an error and never other content.
    #[test]
    fn a_damaged_entry_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let large = "a page of text, again and again. ".repeat(40);
        let mut log = PageLog::continue_after(folder.path(), "ab", None).expect("a log");
        let entries = [b"{\"url\":\"http://a/\"}".as_slice(), large.as_bytes()];
        for position in log.append(&entries).expect("appended") {
            for at in position.offset..position.offset + u64::from(position.length) {
                for bit in 0..8 {
                    let mut byte = [0];
                    log.file.read_exact_at(&mut byte, at).expect("a byte");
                    let flipped = [byte[0] ^ (1 << bit)];
                    log.file.write_all_at(&flipped, at).expect("written");
                    assert!(read(&log, &position).is_err(), "bit {bit} of byte {at}");
                    log.file.write_all_at(&byte, at).expect("written");
                }
            }
            read(&log, &position).expect("whole again");
        }
    }

    /// Entries that earlier versions wrote have no checksum.
    #[test]
    fn a_plain_entry_without_a_checksum_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut log = PageLog::continue_after(folder.path(), "ab", None).expect("a log");
        log.file.write_all_at(b"\x01{}", 0).expect("written");
        log.end = 3;
        let position = LogPosition {
            segment: None,
            offset: 0,
            length: 3,
        };
        assert_eq!(read(&log, &position).expect("an entry"), &b"{}"[..]);
    }

    #[test]
    fn entries_are_read_back_and_uncommitted_ones_are_truncated() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path();
        let large = "a page of text, again and again. ".repeat(500);
        let entries = [b"{}".as_slice(), large.as_bytes(), b""];
        let mut log = PageLog::continue_after(data, "ab12", None).expect("a new log");
        let positions = log.append_durably(&entries).expect("appended");
        assert!(positions[1].length < 1_000, "compressed");
        for (entry, position) in entries.iter().zip(&positions) {
            assert_eq!(read(&log, position).expect("an entry"), *entry);
        }
        let mut log = PageLog::continue_after(data, "ab12", Some(&positions[0])).expect("the log");
        assert!(read(&log, &positions[1]).is_err());
        let replaced = log.append(&[b"[]"]).expect("appended");
        assert_eq!(replaced[0].offset, positions[1].offset);
        let mode = std::fs::metadata(data.join("crawls/ab12.pages")).expect("a file");
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777,
            0o600
        );
        let lost = LogPosition {
            segment: None,
            offset: 0,
            length: 4,
        };
        let log_of_zeros =
            PageLog::continue_after(data, "cd34", Some(&lost)).expect("a log that lost its bytes");
        assert!(
            read(&log_of_zeros, &lost).is_err(),
            "zeros are not an entry"
        );
        let log = PageLog::open(data, "ab12").expect("the log");
        assert_eq!(read(&log, &replaced[0]).expect("an entry"), &b"[]"[..]);
        PageLog::remove(data, "ab12").expect("removed");
        PageLog::remove(data, "ab12").expect("removed already");
    }

    #[test]
    fn only_ids_become_file_names() {
        let folder = tempfile::tempdir().expect("a folder");
        for bad in ["", "../x", "a/b", "a.b"] {
            assert!(PageLog::open(folder.path(), bad).is_err(), "{bad}");
        }
    }
}
