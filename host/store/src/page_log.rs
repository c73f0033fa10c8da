//! The entries of one crawl, one after another in a file of its own: databases are slow with large rows, and a crawl is
//! forgotten as a whole.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{LogPosition, StoreError};

const FOLDER: &str = "crawls";
const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
/// Entries from this size on are packed; below, zstd's frame costs more than it saves.
const PACKED_FROM: usize = 512;
/// Fastest level: an entry is packed on the way of a crawl.
const LEVEL: i32 = 1;
/// Largest entry that is unpacked, so that a damaged length cannot take all memory.
const ENTRY_BYTES_MAX: usize = 1 << 30;
/// First byte of a record. None is zero: zeros are what a file system leaves of a write that power failed under.
const PLAIN: u8 = 1;
const PACKED: u8 = 2;

/// The page log of one crawl. Blocking: use it on blocking threads.
#[derive(Debug)]
pub struct PageLog {
    file: File,
    end: u64,
}

impl PageLog {
    /// Opens the log of a crawl for reading; an empty one when there is none.
    ///
    /// # Errors
    /// [`StoreError::PageLog`] when the file system refuses.
    pub fn open(data: &Path, id: &str) -> Result<Self, StoreError> {
        let file = file(data, id).map_err(failed_to("open"))?;
        let end = file.metadata().map_err(failed_to("open"))?.len();
        Ok(Self { file, end })
    }

    /// Opens the log to go on after the last entry that the tables know; what was written after it is cut off.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn continue_after(
        data: &Path,
        id: &str,
        last: Option<&LogPosition>,
    ) -> Result<Self, StoreError> {
        let file = file(data, id).map_err(failed_to("open"))?;
        let end = last.map_or(0, |place| place.offset + u64::from(place.length));
        file.set_len(end).map_err(failed_to("cut"))?;
        Ok(Self { file, end })
    }

    /// Appends entries; where each one is.
    ///
    /// # Errors
    /// [`StoreError::PageLog`]; nothing of this call counts then.
    pub fn append(&mut self, entries: &[&[u8]]) -> Result<Vec<LogPosition>, StoreError> {
        let mut bytes = Vec::new();
        let mut places = Vec::with_capacity(entries.len());
        for entry in entries {
            let start = bytes.len();
            if entry.len() < PACKED_FROM {
                bytes.push(PLAIN);
                bytes.extend_from_slice(entry);
            } else {
                bytes.push(PACKED);
                zstd::stream::copy_encode(*entry, &mut bytes, LEVEL).map_err(failed_to("pack"))?;
            }
            let length = u32::try_from(bytes.len() - start)
                .map_err(|_| failed_to("write")(io::ErrorKind::FileTooLarge.into()))?;
            places.push(LogPosition {
                offset: self.end + start as u64,
                length,
            });
        }
        self.file
            .write_all_at(&bytes, self.end)
            .map_err(failed_to("write"))?;
        self.end += bytes.len() as u64;
        Ok(places)
    }

    /// Returns once everything appended is on the disk.
    ///
    /// # Errors
    /// [`StoreError::PageLog`].
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.file
            .flush()
            .and_then(|()| self.file.sync_data())
            .map_err(failed_to("flush"))
    }

    /// The entry at a place.
    ///
    /// # Errors
    /// [`StoreError::PageLog`], also for a place that holds no entry.
    pub fn read(&self, place: &LogPosition) -> Result<Vec<u8>, StoreError> {
        if place.offset + u64::from(place.length) > self.end {
            return Err(failed_to("read")(io::ErrorKind::UnexpectedEof.into()));
        }
        let mut record = vec![0; place.length as usize];
        self.file
            .read_exact_at(&mut record, place.offset)
            .map_err(failed_to("read"))?;
        match record.split_first() {
            Some((&PLAIN, entry)) => Ok(entry.to_vec()),
            Some((&PACKED, packed)) => unpacked(packed).map_err(failed_to("unpack")),
            _ => Err(failed_to("read")(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Removes the log of a crawl; one that is not there is removed already.
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

fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut entry = Vec::new();
    let decoder = zstd::stream::Decoder::new(packed)?;
    let mut bounded = io::Read::take(decoder, ENTRY_BYTES_MAX as u64);
    io::Read::read_to_end(&mut bounded, &mut entry)?;
    Ok(entry)
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
    if let (true, Some(folder)) = (is_new, path.parent()) {
        // The name must be on the disk as well before a table points into the file.
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}

/// Ids are made by the server; anything else is no part of a path.
fn path(data: &Path, id: &str) -> io::Result<PathBuf> {
    let is_id = !id.is_empty()
        && id
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match is_id {
        true => Ok(data.join(FOLDER).join(format!("{id}.pages"))),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn failed_to(doing: &'static str) -> impl Fn(io::Error) -> StoreError {
    move |source| StoreError::PageLog { doing, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_what_no_table_knows_is_cut_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path();
        let large = "a page of text, again and again. ".repeat(500);
        let entries = [b"{}".as_slice(), large.as_bytes(), b""];
        let mut log = PageLog::continue_after(data, "ab12", None).expect("a new log");
        let places = log.append(&entries).expect("appended");
        log.sync().expect("flushed");
        assert!(places[1].length < 1_000, "packed");
        for (entry, place) in entries.iter().zip(&places) {
            assert_eq!(log.read(place).expect("an entry"), *entry);
        }
        let mut log = PageLog::continue_after(data, "ab12", Some(&places[0])).expect("the log");
        assert!(log.read(&places[1]).is_err());
        let again = log.append(&[b"[]"]).expect("appended");
        assert_eq!(again[0].offset, places[1].offset);
        let mode = std::fs::metadata(data.join("crawls/ab12.pages")).expect("a file");
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777,
            0o600
        );
        let lost = LogPosition {
            offset: 0,
            length: 4,
        };
        let far =
            PageLog::continue_after(data, "cd34", Some(&lost)).expect("a log that lost its bytes");
        assert!(far.read(&lost).is_err(), "zeros are no entry");
        let log = PageLog::open(data, "ab12").expect("the log");
        assert_eq!(log.read(&again[0]).expect("an entry"), b"[]");
        PageLog::remove(data, "ab12").expect("removed");
        PageLog::remove(data, "ab12").expect("removed before");
    }

    #[test]
    fn only_ids_are_names_of_files() {
        let folder = tempfile::tempdir().expect("a folder");
        for bad in ["", "../x", "a/b", "a.b"] {
            assert!(PageLog::open(folder.path(), bad).is_err(), "{bad}");
        }
    }
}
