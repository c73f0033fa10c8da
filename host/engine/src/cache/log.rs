//! The append-only log of records, one for each page that was stored or removed; read at start-up.
//!
//! A record is its length (four bytes, little endian), eight bytes of the hash of its text, and its
//! text: JSON. An incomplete record at the end is cut off, with everything after it. Once more than
//! half of the log is garbage it is compacted.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::policy::Meta;
use super::{BodyHash, Key};

/// The log; the number is the version of its form.
const FILE: &str = "pages-1.log";
/// The log that is being written anew.
const NEW_FILE: &str = "pages-1.log.new";
const PRIVATE_FILE: u32 = 0o600;
/// Bytes before the text of a record.
const HEAD_BYTES: usize = 12;
/// Most bytes of a record: ten times the headers that servers accept. A page with more is not
/// stored.
const RECORD_BYTES_MAX: usize = 256 * 1024;
/// Bytes that do not count before it is worth to write the log anew.
const GARBAGE_BYTES_MIN: u64 = 4 * 1024 * 1024;

/// Where a record is in the log, head included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogPosition {
    pub(super) offset: u64,
    pub(super) len: u32,
}

/// The size of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BodySize {
    /// Bytes of the body.
    pub(super) bytes: u64,
    /// Bytes of its file.
    pub(super) disk_bytes: u64,
}

/// What is written of a page.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    key: String,
    /// Hash of its body; `None` if the page was removed.
    body: Option<String>,
    /// Bytes of the body.
    pub(super) body_bytes: u64,
    /// Bytes of the body's file.
    disk_bytes: u64,
    pub(super) meta: Option<Meta>,
}

/// What the index needs of a record.
pub(super) struct Replayed {
    pub(super) key: Key,
    /// The body and its size.
    pub(super) body: Option<(BodyHash, BodySize)>,
    pub(super) position: LogPosition,
}

/// [`Record`] without what only readers of the page need.
#[derive(Deserialize)]
struct Outline {
    key: String,
    body: Option<String>,
    body_bytes: u64,
    disk_bytes: u64,
}

impl Record {
    /// A stored page.
    pub(super) fn stored(
        key: &Key,
        body: &BodyHash,
        body_bytes: u64,
        disk_bytes: u64,
        meta: Meta,
    ) -> Self {
        Self {
            key: key.to_hex().as_str().to_owned(),
            body: Some(body.to_hex().as_str().to_owned()),
            body_bytes,
            disk_bytes,
            meta: Some(meta),
        }
    }

    /// A page that is forgotten.
    pub(super) fn forgotten(key: &Key) -> Self {
        Self {
            key: key.to_hex().as_str().to_owned(),
            body: None,
            body_bytes: 0,
            disk_bytes: 0,
            meta: None,
        }
    }
}

/// The log, for its one writer.
#[derive(Debug)]
pub(super) struct LogFile {
    folder: PathBuf,
    file: Arc<File>,
    end: u64,
}

impl LogFile {
    /// Opens the log of a folder and reads it.
    pub(super) fn open(folder: &Path) -> io::Result<(Self, Vec<Replayed>)> {
        let file = open(&folder.join(FILE))?;
        let (records, end) = replay(&file);
        file.set_len(end)?;
        let file = Arc::new(file);
        let folder = folder.to_owned();
        Ok((Self { folder, file, end }, records))
    }

    /// The file to read records from, until [`Self::compact`] replaces it.
    pub(super) fn reader(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Appends a record.
    pub(super) fn append(&mut self, record: &Record) -> io::Result<LogPosition> {
        let bytes = framed(record)?;
        self.file.write_all_at(&bytes, self.end)?;
        let position = LogPosition {
            offset: self.end,
            len: bytes.len() as u32,
        };
        self.end += bytes.len() as u64;
        Ok(position)
    }

    /// Whether more than half of the log no longer counts.
    pub(super) fn is_mostly_garbage(&self, counted_bytes: u64) -> bool {
        let garbage = self.end.saturating_sub(counted_bytes);
        garbage > GARBAGE_BYTES_MIN.max(counted_bytes)
    }

    /// Rewrites the log with these records only, in this order. Returns their new positions, which
    /// are valid in the new [`Self::reader`].
    pub(super) fn rewrite(
        &mut self,
        mut records: Vec<(Key, LogPosition)>,
    ) -> io::Result<Vec<(Key, LogPosition)>> {
        let path = self.folder.join(NEW_FILE);
        let _ = std::fs::remove_file(&path);
        let new = open(&path)?;
        let mut end = 0;
        let mut out = BufWriter::new(&new);
        for (_, position) in &mut records {
            let mut bytes = vec![0; position.len as usize];
            self.file.read_exact_at(&mut bytes, position.offset)?;
            out.write_all(&bytes)?;
            position.offset = end;
            end += u64::from(position.len);
        }
        out.flush()?;
        drop(out);
        std::fs::rename(&path, self.folder.join(FILE))?;
        (self.file, self.end) = (Arc::new(new), end);
        Ok(records)
    }

    /// Bytes of the file.
    pub(super) fn end(&self) -> u64 {
        self.end
    }
}

/// Reads the record at a position.
pub(super) fn read(file: &File, position: LogPosition) -> io::Result<Record> {
    let mut bytes = vec![0; position.len as usize];
    file.read_exact_at(&mut bytes, position.offset)?;
    let (head, text) = bytes
        .split_at_checked(HEAD_BYTES)
        .ok_or(io::ErrorKind::InvalidData)?;
    if head != frame_head(text) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(serde_json::from_slice(text)?)
}

fn framed(record: &Record) -> io::Result<Vec<u8>> {
    let text = serde_json::to_vec(record)?;
    if text.len() > RECORD_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok([frame_head(&text).as_slice(), &text].concat())
}

fn frame_head(text: &[u8]) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
    head[4..].copy_from_slice(&blake3::hash(text).as_bytes()[..HEAD_BYTES - 4]);
    head
}

/// Every whole record from the start on, and where the last of them ends.
fn replay(file: &File) -> (Vec<Replayed>, u64) {
    let (mut records, mut offset) = (Vec::new(), 0);
    let mut reader = BufReader::with_capacity(1 << 20, file);
    while let Some((outline, len)) = next(&mut reader) {
        let position = LogPosition { offset, len };
        offset += u64::from(len);
        let size = BodySize {
            bytes: outline.body_bytes,
            disk_bytes: outline.disk_bytes,
        };
        let body = match &outline.body {
            Some(body) => Key::from_hex(body).ok().map(|body| (body, size)),
            None => None,
        };
        if let Ok(key) = Key::from_hex(&outline.key) {
            records.push(Replayed {
                key,
                body,
                position,
            });
        }
    }
    (records, offset)
}

fn next(reader: &mut impl Read) -> Option<(Outline, u32)> {
    let mut head = [0; HEAD_BYTES];
    reader.read_exact(&mut head).ok()?;
    let len = u32::from_le_bytes(*head.first_chunk()?) as usize;
    if len > RECORD_BYTES_MAX {
        return None;
    }
    let mut text = vec![0; len];
    reader.read_exact(&mut text).ok()?;
    if head != frame_head(&text) {
        return None;
    }
    let outline = serde_json::from_slice(&text).ok()?;
    Some((outline, (HEAD_BYTES + len) as u32))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE_FILE)
        .open(path)
}
