//! ZIP: members by the directory at the end of the archive.

use trawl_sdk::decoder::Failure;
use trawl_zip::{Data, Directory, Entry, Fault};

use crate::member::{
    MEMBER_BYTES_MAX, MEMBERS_MAX, Member, Place, damaged, shown, too_large, too_many,
};

/// The members, from the directory.
pub(crate) fn members(archive: &[u8]) -> Result<Vec<Member>, Failure> {
    let directory = Directory::of(archive);
    let mut directory = directory.map_err(|lacks| Failure::Damaged(lacks.to_string()))?;
    if directory.n_left() > MEMBERS_MAX {
        return Err(too_many());
    }
    let members = directory.by_ref().map(member).collect();
    match directory.n_left() {
        0 => Ok(members),
        _ => Err(Failure::Damaged(
            "the archive has no readable directory".to_owned(),
        )),
    }
}

fn member(entry: Entry) -> Member {
    let (day, time) = entry.modified;
    Member {
        bytes: entry.bytes,
        modified: date(day, time),
        place: (!entry.path.ends_with('/')).then_some(Place::Zip(entry.data)),
        path: entry.path,
    }
}

/// The bytes of a member, expanded within the limit.
pub(crate) fn expand(archive: &[u8], data: Data, path: &str) -> Result<Vec<u8>, Failure> {
    let expanded = data.expand(archive, MEMBER_BYTES_MAX);
    expanded.map_err(|fault| match fault {
        Fault::Encrypted => {
            Failure::Encrypted(format!("its member `{}` needs a password", shown(path)))
        }
        Fault::Method(method) => Failure::Failed(format!(
            "its member `{}` is packed by method {method}, only deflate is read",
            shown(path)
        )),
        Fault::Damaged => damaged(path),
        Fault::TooLarge => too_large(path),
    })
}

/// A date and a time of MS-DOS: APPNOTE 6.3.10, section 4.4.6. Empty for none.
fn date(date: u16, time: u16) -> String {
    let (year, month, day) = (1980 + (date >> 9), (date >> 5) & 15, date & 31);
    if month == 0 || day == 0 {
        return String::new();
    }
    let (hours, minutes, seconds) = (time >> 11, (time >> 5) & 63, (time & 31) * 2);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}")
}
