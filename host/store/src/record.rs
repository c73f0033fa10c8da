//! How an entry is stored in a page log: a byte that says how, a checksum, the entry or its zstd
//! frame.

use std::io;

use bytes::Bytes;
use trawl_model::memory::{Held, MemoryLease};
use zstd::bulk::Compressor;
use zstd::zstd_safe::get_frame_content_size;

use crate::error::StoreError;

/// Entries from this size on are compressed; below, the zstd frame costs more than it saves.
const COMPRESSED_FROM: usize = 512;
/// Fastest level: entries are compressed while the crawl runs.
pub(crate) const LEVEL: i32 = 1;
/// Largest entry after decompression, so that a corrupt frame cannot exhaust the memory.
const ENTRY_BYTES_MAX: usize = 1 << 30;
/// First byte of a record. Never zero: after a power failure, a file may end in zeros. Behind the
/// first two is the entry, as earlier versions wrote it.
const PLAIN: u8 = 1;
pub(crate) const COMPRESSED: u8 = 2;
/// Behind these is a checksum of the record. They differ from each other and from the first two in
/// several bits, so that one flipped bit makes no other kind.
const CHECKED_PLAIN: u8 = 0x5c;
const CHECKED_COMPRESSED: u8 = 0xa3;
/// Bytes of a checksum.
const CHECKSUM_BYTES: usize = 8;

/// What came of reading an entry.
#[derive(Debug)]
pub enum ReadEntry {
    /// The entry.
    Entry(Held<Bytes>),
    /// The lease does not cover the entry: it needs this many bytes, also for reading it.
    Needs(usize, MemoryLease),
}

/// The records of entries, one after the other, and their lengths.
pub(crate) fn encode(entries: &[&[u8]]) -> Result<(Vec<u8>, Vec<u32>), StoreError> {
    let mut bytes = Vec::new();
    let mut lengths = Vec::with_capacity(entries.len());
    // One for all: its tables take more time to make than a short entry to compress.
    let mut compressor = Compressor::new(LEVEL).map_err(failed_to("compress"))?;
    for entry in entries {
        let start = bytes.len();
        let body = start + 1 + CHECKSUM_BYTES;
        bytes.resize(body, 0);
        if entry.len() < COMPRESSED_FROM {
            bytes[start] = CHECKED_PLAIN;
            bytes.extend_from_slice(entry);
        } else {
            bytes[start] = CHECKED_COMPRESSED;
            let frame = compressor.compress(entry);
            bytes.extend_from_slice(&frame.map_err(failed_to("compress"))?);
        }
        let checksum = checksum(bytes[start], &bytes[body..]);
        bytes[start + 1..body].copy_from_slice(&checksum);
        let length = u32::try_from(bytes.len() - start)
            .map_err(|_| failed_to("write")(io::ErrorKind::FileTooLarge.into()))?;
        lengths.push(length);
    }
    Ok((bytes, lengths))
}

/// The entry of a record that the lease covers, if the lease covers the entry too.
///
/// # Errors
/// [`StoreError::PageLog`] if the record is damaged.
pub(crate) fn decode(record: Bytes, lease: MemoryLease) -> Result<ReadEntry, StoreError> {
    let length = record.len();
    let (is_compressed, start) = layout(&record).map_err(failed_to("read"))?;
    let needed = if is_compressed {
        length + content_size(&record[start..]).map_err(failed_to("decompress"))?
    } else {
        length
    };
    if lease.bytes() < needed as u64 {
        return Ok(ReadEntry::Needs(needed, lease));
    }
    let entry = if is_compressed {
        let entry = decompress(&record[start..], needed - length);
        Bytes::from(entry.map_err(failed_to("decompress"))?)
    } else {
        record.slice(start..)
    };
    let mut lease = lease;
    lease.shrink_to(entry.len());
    Ok(ReadEntry::Entry(lease.hold(entry)))
}

/// Whether the entry of a record is compressed, and where it begins in it.
fn layout(record: &[u8]) -> io::Result<(bool, usize)> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the record is damaged");
    let (&kind, rest) = record.split_first().ok_or_else(damaged)?;
    match kind {
        PLAIN | COMPRESSED => Ok((kind == COMPRESSED, 1)),
        CHECKED_PLAIN | CHECKED_COMPRESSED => {
            let (stored, body) = rest
                .split_first_chunk::<CHECKSUM_BYTES>()
                .ok_or_else(damaged)?;
            if *stored != checksum(kind, body) {
                return Err(damaged());
            }
            Ok((kind == CHECKED_COMPRESSED, 1 + CHECKSUM_BYTES))
        }
        _ => Err(damaged()),
    }
}

/// The checksum of a record of this kind.
fn checksum(kind: u8, body: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[kind]);
    hasher.update(body);
    let mut checksum = [0; CHECKSUM_BYTES];
    hasher.finalize_xof().fill(&mut checksum);
    checksum
}

/// Length of an entry: as its frame says, or by decompressing it, for frames of earlier versions.
fn content_size(compressed: &[u8]) -> io::Result<usize> {
    let size = match get_frame_content_size(compressed) {
        Ok(Some(size)) => size,
        Ok(None) => {
            let decoder = zstd::stream::Decoder::new(compressed)?;
            let mut bounded = io::Read::take(decoder, ENTRY_BYTES_MAX as u64);
            io::copy(&mut bounded, &mut io::sink())?
        }
        Err(_) => return Err(io::ErrorKind::InvalidData.into()),
    };
    match usize::try_from(size) {
        Ok(size) if size <= ENTRY_BYTES_MAX => Ok(size),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Decompresses an entry of this length.
fn decompress(compressed: &[u8], length: usize) -> io::Result<Vec<u8>> {
    let mut entry = Vec::with_capacity(length);
    let decoder = zstd::stream::Decoder::new(compressed)?;
    let mut bounded = io::Read::take(decoder, length as u64 + 1);
    io::Read::read_to_end(&mut bounded, &mut entry)?;
    match entry.len() == length {
        true => Ok(entry),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}

pub(crate) fn failed_to(doing: &'static str) -> impl Fn(io::Error) -> StoreError {
    move |source| StoreError::PageLog { doing, source }
}
