//! ZIP archives in memory: the directory at the end, and entries that are stored or deflated.
//! Source: PKWARE APPNOTE 6.3.10.

use std::fmt;
use std::io::Read;

use flate2::read::DeflateDecoder;

/// Signatures of the records: section 4.3.
const END: &[u8] = b"PK\x05\x06";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
/// Bytes of the end record, and the longest comment after it: section 4.3.16.
const END_BYTES: usize = 22;
const COMMENT_BYTES_MAX: usize = 65_535;
/// A field whose value is in the extra field of large archives: section 4.5.3.
const ELSEWHERE: u32 = u32::MAX;

/// An entry of an archive, as its directory describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its path, `/` between folders and at the end of a folder's own.
    pub path: String,
    /// Its size expanded, in bytes.
    pub bytes: u64,
    /// When it was changed: date and time of MS-DOS, section 4.4.6.
    pub modified: (u16, u16),
    /// Its data.
    pub data: Data,
}

/// Where the data of an entry are, and how they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Where the local header is.
    at: usize,
    /// Bytes as stored.
    bytes: usize,
    /// 0 is stored, 8 deflated.
    method: u16,
    is_encrypted: bool,
}

/// What an archive lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lacks(&'static str);

impl fmt::Display for Lacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the archive has no {}", self.0)
    }
}

/// Why an entry cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It needs a password.
    Encrypted,
    /// It is packed by this method, which is not read.
    Method(u16),
    /// Its data are not what the directory says.
    Damaged,
    /// It is larger than the limit.
    TooLarge,
}

/// The entries of an archive, one after the other.
#[derive(Clone, Debug)]
pub struct Directory<'a> {
    archive: &'a [u8],
    /// Where the next entry is described.
    at: usize,
    n_left: usize,
}

impl<'a> Directory<'a> {
    /// Finds the directory.
    ///
    /// # Errors
    /// There is none.
    pub fn of(archive: &'a [u8]) -> Result<Self, Lacks> {
        let tail = archive.len().saturating_sub(END_BYTES + COMMENT_BYTES_MAX);
        let end = archive[tail..].windows(4).rposition(|part| part == END);
        let end = tail + end.ok_or(Lacks("directory, it may be cut off"))?;
        let n_entries = u16_at(archive, end + 10).ok_or(Lacks("end"))?;
        let at = u32_at(archive, end + 16).ok_or(Lacks("end"))?;
        Ok(Self {
            archive,
            at: at as usize,
            n_left: usize::from(n_entries),
        })
    }

    /// How many entries are left, by the archive's end. Some are after the last one if the
    /// directory is damaged.
    pub fn n_left(&self) -> usize {
        self.n_left
    }
}

impl Iterator for Directory<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let n_left = self.n_left.checked_sub(1)?;
        let (entry, next) = entry(self.archive, self.at)?;
        (self.at, self.n_left) = (next, n_left);
        Some(entry)
    }
}

impl Data {
    /// The data, expanded: at most `bytes_max` bytes.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn expand(self, archive: &[u8], bytes_max: u64) -> Result<Vec<u8>, Fault> {
        if self.is_encrypted {
            return Err(Fault::Encrypted);
        }
        let packed = self.packed(archive).ok_or(Fault::Damaged)?;
        let mut expanded = Vec::new();
        let most = bytes_max.saturating_add(1);
        let read = match self.method {
            0 => packed.take(most).read_to_end(&mut expanded),
            8 => DeflateDecoder::new(packed)
                .take(most)
                .read_to_end(&mut expanded),
            other => return Err(Fault::Method(other)),
        };
        read.map_err(|_| Fault::Damaged)?;
        if expanded.len() as u64 > bytes_max {
            return Err(Fault::TooLarge);
        }
        Ok(expanded)
    }

    /// The data as stored: they follow the local header. Section 4.3.7.
    fn packed(self, archive: &[u8]) -> Option<&[u8]> {
        let head = archive.get(self.at..)?;
        if !head.starts_with(LOCAL) {
            return None;
        }
        let name_bytes = usize::from(u16_at(head, 26)?);
        let extra_bytes = usize::from(u16_at(head, 28)?);
        let packed = head.get(30 + name_bytes + extra_bytes..)?;
        Some(&packed[..packed.len().min(self.bytes)])
    }
}

/// An entry of the directory, and where the next one is: section 4.3.12.
fn entry(archive: &[u8], at: usize) -> Option<(Entry, usize)> {
    let record = archive.get(at..)?;
    if !record.starts_with(CENTRAL) {
        return None;
    }
    let name_bytes = usize::from(u16_at(record, 28)?);
    let extra_bytes = usize::from(u16_at(record, 30)?);
    let comment_bytes = usize::from(u16_at(record, 32)?);
    let name = record.get(46..46 + name_bytes)?;
    let extra = record.get(46 + name_bytes..46 + name_bytes + extra_bytes)?;
    let mut large = large_fields(extra).into_iter();
    let mut field = |at: usize| match u32_at(record, at)? {
        ELSEWHERE => large.next(),
        value => Some(u64::from(value)),
    };
    let (bytes, stored_bytes, local) = (field(24)?, field(20)?, field(42)?);
    let data = Data {
        at: usize::try_from(local).ok()?,
        bytes: usize::try_from(stored_bytes).ok()?,
        method: u16_at(record, 10)?,
        is_encrypted: u16_at(record, 8)? & 1 == 1,
    };
    let entry = Entry {
        path: String::from_utf8_lossy(name).into_owned(),
        bytes,
        modified: (u16_at(record, 14)?, u16_at(record, 12)?),
        data,
    };
    Some((entry, at + 46 + name_bytes + extra_bytes + comment_bytes))
}

/// The 64-bit fields of a large entry, in their order: section 4.5.3.
fn large_fields(mut extra: &[u8]) -> Vec<u64> {
    while let (Some(id), Some(length)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let length = usize::from(length);
        let Some(data) = extra.get(4..4 + length) else {
            break;
        };
        if id == 1 {
            let (words, _) = data.as_chunks::<8>();
            return words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        }
        extra = &extra[4 + length..];
    }
    Vec::new()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    /// A header with two-byte fields at these places.
    fn header(signature: &[u8], length: usize, fields: &[(usize, usize)]) -> Vec<u8> {
        let mut header = vec![0; length];
        header[..4].copy_from_slice(signature);
        for (at, value) in fields {
            let value = u16::try_from(*value).expect("a small number");
            header[*at..at + 2].copy_from_slice(&value.to_le_bytes());
        }
        header
    }

    /// An archive of entries: path, method, flags, data as stored.
    fn archive(entries: &[(&str, u16, u16, &[u8])]) -> Vec<u8> {
        let (mut archive, mut directory) = (Vec::new(), Vec::new());
        for (path, method, flags, data) in entries {
            let name = path.len();
            directory.extend(header(
                CENTRAL,
                46,
                &[
                    (8, usize::from(*flags)),
                    (10, usize::from(*method)),
                    (12, 1),
                    (14, 2),
                    (20, data.len()),
                    (24, data.len()),
                    (28, name),
                    (42, archive.len()),
                ],
            ));
            directory.extend_from_slice(path.as_bytes());
            archive.extend(header(LOCAL, 30, &[(26, name)]));
            archive.extend_from_slice(path.as_bytes());
            archive.extend_from_slice(data);
        }
        let at = archive.len();
        archive.extend(directory);
        archive.extend(header(END, END_BYTES, &[(10, entries.len()), (16, at)]));
        archive
    }

    #[test]
    fn entries_are_described_and_expanded() {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"aaaaaaaaaa").expect("packed");
        let packed = encoder.finish().expect("packed");
        let archive = archive(&[("a/b.txt", 0, 0, b"hello"), ("c", 8, 0, &packed)]);
        let directory = Directory::of(&archive).expect("a directory");
        let entries: Vec<Entry> = directory.collect();
        let found = entries.iter().map(|it| (it.path.as_str(), it.modified));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [("a/b.txt", (2, 1)), ("c", (2, 1))]
        );
        let expand = |n: usize, most| entries[n].data.expand(&archive, most);
        assert_eq!(expand(0, 5), Ok(b"hello".to_vec()));
        assert_eq!(expand(1, 10), Ok(b"aaaaaaaaaa".to_vec()));
        assert_eq!(
            (expand(0, 4), expand(1, 9)),
            (Err(Fault::TooLarge), Err(Fault::TooLarge))
        );
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let archive = archive(&[("a", 0, 1, b"x"), ("b", 99, 0, b"x"), ("c", 8, 0, b"\xFF")]);
        let directory = Directory::of(&archive).expect("a directory");
        let expanded = directory.map(|entry| entry.data.expand(&archive, 9));
        let faults = [Fault::Encrypted, Fault::Method(99), Fault::Damaged];
        assert_eq!(expanded.collect::<Vec<_>>(), faults.map(Err::<Vec<u8>, _>));
    }

    #[test]
    fn a_damaged_directory_ends_before_its_last_entry() {
        let whole = archive(&[("a", 0, 0, b"x"), ("b", 0, 0, b"y")]);
        let second = whole.len() - END_BYTES - 47;
        let mut damaged = whole.clone();
        damaged[second] = 0;
        let mut directory = Directory::of(&damaged).expect("a directory");
        assert_eq!(directory.n_left(), 2);
        assert_eq!(directory.by_ref().count(), 1);
        assert_eq!(directory.n_left(), 1);
        let lacks = Directory::of(&whole[..40]).map(drop).expect_err("cut off");
        assert_eq!(
            lacks.to_string(),
            "the archive has no directory, it may be cut off"
        );
    }
}
