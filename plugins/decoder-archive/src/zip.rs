//! ZIP: the directory at the end of the archive, and members that are stored or deflated. Source:
//! PKWARE APPNOTE 6.3.10.

use std::io::Read;

use flate2::read::DeflateDecoder;
use trawl_sdk::decoder::Failure;

use crate::member::{
    MEMBER_BYTES_MAX, MEMBERS_MAX, Member, Place, Stored, damaged, shown, too_large, too_many,
};

/// Signatures of the records: section 4.3.
const END: &[u8] = b"PK\x05\x06";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
/// Bytes of the end record, and the longest comment after it: section 4.3.16.
const END_BYTES: usize = 22;
const COMMENT_BYTES_MAX: usize = 65_535;
/// A field whose value is in the extra field of large archives: section 4.5.3.
const ELSEWHERE: u32 = u32::MAX;

/// The members, from the directory.
pub(crate) fn members(archive: &[u8]) -> Result<Vec<Member>, Failure> {
    let lacks = |what: &str| Failure::Damaged(format!("the archive has no {what}"));
    let tail = archive.len().saturating_sub(END_BYTES + COMMENT_BYTES_MAX);
    let end = archive[tail..].windows(4).rposition(|part| part == END);
    let end = tail + end.ok_or_else(|| lacks("directory, it may be cut off"))?;
    let n_members = usize::from(u16_at(archive, end + 10).ok_or_else(|| lacks("end"))?);
    if n_members > MEMBERS_MAX {
        return Err(too_many());
    }
    let mut at = u32_at(archive, end + 16).ok_or_else(|| lacks("end"))? as usize;
    let mut members = Vec::with_capacity(n_members);
    while members.len() < n_members {
        let found = member(archive, at).ok_or_else(|| lacks("readable directory"))?;
        at = found.1;
        members.push(found.0);
    }
    Ok(members)
}

/// The bytes of a member, expanded within the limit.
pub(crate) fn expand(archive: &[u8], stored: &Stored, path: &str) -> Result<Vec<u8>, Failure> {
    if stored.is_encrypted {
        let reason = format!("its member `{}` needs a password", shown(path));
        return Err(Failure::Encrypted(reason));
    }
    let packed = packed(archive, stored).ok_or_else(|| damaged(path))?;
    let mut body = Vec::new();
    let most = MEMBER_BYTES_MAX + 1;
    let read = match stored.method {
        0 => packed.take(most).read_to_end(&mut body),
        8 => DeflateDecoder::new(packed)
            .take(most)
            .read_to_end(&mut body),
        other => {
            let reason = format!(
                "its member `{}` is packed by method {other}, only deflate is read",
                shown(path)
            );
            return Err(Failure::Failed(reason));
        }
    };
    read.map_err(|_| damaged(path))?;
    if body.len() as u64 > MEMBER_BYTES_MAX {
        return Err(too_large(path));
    }
    Ok(body)
}

/// The bytes of a member as stored: they follow its local header. Section 4.3.7.
fn packed<'a>(archive: &'a [u8], stored: &Stored) -> Option<&'a [u8]> {
    let head = archive.get(stored.at..)?;
    if !head.starts_with(LOCAL) {
        return None;
    }
    let name_bytes = usize::from(u16_at(head, 26)?);
    let extra_bytes = usize::from(u16_at(head, 28)?);
    let packed = head.get(30 + name_bytes + extra_bytes..)?;
    Some(&packed[..packed.len().min(stored.bytes)])
}

/// A member of the directory, and where the next one is: section 4.3.12.
fn member(archive: &[u8], at: usize) -> Option<(Member, usize)> {
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
    let path = String::from_utf8_lossy(name).into_owned();
    let stored = Stored {
        at: usize::try_from(local).ok()?,
        bytes: usize::try_from(stored_bytes).ok()?,
        method: u16_at(record, 10)?,
        is_encrypted: u16_at(record, 8)? & 1 == 1,
    };
    let member = Member {
        bytes,
        modified: date(u16_at(record, 14)?, u16_at(record, 12)?),
        place: (!path.ends_with('/')).then_some(Place::Zip(stored)),
        path,
    };
    Some((member, at + 46 + name_bytes + extra_bytes + comment_bytes))
}

/// The 64-bit fields of a large member, in their order: section 4.5.3.
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

/// A date and a time of MS-DOS, section 4.4.6; empty for none.
fn date(date: u16, time: u16) -> String {
    let (year, month, day) = (1980 + (date >> 9), (date >> 5) & 15, date & 31);
    if month == 0 || day == 0 {
        return String::new();
    }
    let (hours, minutes, seconds) = (time >> 11, (time >> 5) & 63, (time & 31) * 2);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}")
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}
