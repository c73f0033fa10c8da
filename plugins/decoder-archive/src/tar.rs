//! TAR: a header of 512 bytes before each member. Source: POSIX.1-2024, pax, "ustar Interchange
//! Format" and "pax Header Block"; GNU tar manual, "Basic Tar Format".

use trawl_sdk::decoder::Failure;

use crate::dates;
use crate::member::{MEMBERS_MAX, Member, Place, too_many};

/// Bytes of a block.
const BLOCK: usize = 512;
/// Longest path or extended header, in bytes.
const HEADER_BYTES_MAX: usize = 64 * 1024;

/// What extended headers say about the next member.
#[derive(Default)]
struct Extended {
    path: Option<String>,
    bytes: Option<u64>,
}

/// Whether the first block is a header: its checksum is right.
pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    bytes.first_chunk::<BLOCK>().is_some_and(is_header)
}

/// The members in order, and what is wrong with the rest; empty if everything was read.
pub(crate) fn members(archive: &[u8]) -> Result<(Vec<Member>, String), Failure> {
    let mut members = Vec::new();
    let mut extended = Extended::default();
    let mut at = 0;
    while let Some(header) = block(archive, at) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        if !is_header(header) {
            return Ok((
                members,
                "the archive is damaged behind its last member".to_owned(),
            ));
        }
        let own_bytes = number(&header[124..136]);
        let bytes = extended.bytes.unwrap_or(own_bytes);
        let from = at + BLOCK;
        let Some(to) = usize::try_from(bytes)
            .ok()
            .and_then(|it| from.checked_add(it))
        else {
            return Ok((members, "a member of the archive has no size".to_owned()));
        };
        let data = archive.get(from..to);
        match header[156] {
            b'x' => read_pax(data.unwrap_or_default(), &mut extended),
            b'L' => {
                extended.path = data.map(|data| text(&data[..data.len().min(HEADER_BYTES_MAX)]))
            }
            b'g' | b'K' => {}
            kind => {
                let is_file = matches!(kind, b'0' | 0 | b'7') && data.is_some();
                let path = extended.path.take().unwrap_or_else(|| path(header));
                members.push(Member {
                    place: (is_file && !path.ends_with('/')).then_some(Place::Plain { from, to }),
                    path,
                    bytes: if is_file { bytes } else { 0 },
                    modified: dates::of(number(&header[136..148])),
                });
                extended = Extended::default();
            }
        }
        if members.len() > MEMBERS_MAX {
            return Err(too_many());
        }
        let Some(next) = to
            .checked_next_multiple_of(BLOCK)
            .filter(|_| data.is_some())
        else {
            return Ok((members, "the archive is cut off".to_owned()));
        };
        at = next;
    }
    Ok((members, String::new()))
}

fn block(archive: &[u8], at: usize) -> Option<&[u8; BLOCK]> {
    archive.get(at..)?.first_chunk::<BLOCK>()
}

/// Whether the checksum is that of the block with spaces in place of it.
fn is_header(block: &[u8; BLOCK]) -> bool {
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    let own: u64 = block[148..156].iter().map(|byte| u64::from(*byte)).sum();
    let stated = number(&block[148..156]);
    stated > 0 && stated == sum - own + 8 * u64::from(b' ')
}

/// The path of a header: its prefix and its name.
fn path(header: &[u8; BLOCK]) -> String {
    let name = text(&header[..100]);
    let prefix = match header[257..262] == *b"ustar" && header[262] == 0 {
        true => text(&header[345..500]),
        false => String::new(),
    };
    match prefix.as_str() {
        "" => name,
        prefix => format!("{prefix}/{name}"),
    }
}

/// A number in octal digits, or after a byte 0x80 in binary; zero if it is neither.
fn number(field: &[u8]) -> u64 {
    if let [0x80, binary @ ..] = field {
        let (_, low) = binary.split_at(binary.len().saturating_sub(8));
        return low
            .iter()
            .fold(0, |sum, byte| (sum << 8) | u64::from(*byte));
    }
    let digits = text(field);
    u64::from_str_radix(digits.trim(), 8).unwrap_or(0)
}

/// Text up to the first zero byte.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
}

/// Records of an extended header: `LENGTH KEY=VALUE\n`.
fn read_pax(mut data: &[u8], extended: &mut Extended) {
    data = &data[..data.len().min(HEADER_BYTES_MAX)];
    while let Some(space) = data.iter().position(|byte| *byte == b' ') {
        let length = text(&data[..space]).parse::<usize>().unwrap_or(0);
        let Some(record) = data.get(space + 1..length) else {
            return;
        };
        let record = String::from_utf8_lossy(record);
        match record.trim_end_matches('\n').split_once('=') {
            Some(("path", value)) => extended.path = Some(value.to_owned()),
            Some(("size", value)) => extended.bytes = value.parse().ok(),
            _ => {}
        }
        data = &data[length..];
    }
}
