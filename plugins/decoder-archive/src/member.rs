//! What the formats have in common: members, and the limits of archives.

use trawl_sdk::decoder::Failure;
use trawl_zip::Data;

/// Most members that are listed.
pub(crate) const MEMBERS_MAX: usize = 20_000;
/// Most bytes of a member that is decoded, expanded.
pub(crate) const MEMBER_BYTES_MAX: u64 = 48 << 20;

/// A member of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its path as the archive has it, `/` between folders.
    pub(crate) path: String,
    /// Its size expanded, in bytes.
    pub(crate) bytes: u64,
    /// When it was changed, ISO 8601 without a time zone; empty if the archive does not say.
    pub(crate) modified: String,
    /// Where its bytes are; `None` for folders and links.
    pub(crate) place: Option<Place>,
}

/// Where the bytes of a member are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a ZIP archive.
    Zip(Data),
    /// From one byte of the archive to another, as they are.
    Plain { from: usize, to: usize },
}

pub(crate) fn shown(name: &str) -> String {
    name.chars().take(80).collect()
}

pub(crate) fn damaged(path: &str) -> Failure {
    Failure::Damaged(format!("its member `{}` is damaged", shown(path)))
}

pub(crate) fn too_large(path: &str) -> Failure {
    Failure::Limit(format!(
        "its member `{}` has more than {} MiB expanded",
        shown(path),
        MEMBER_BYTES_MAX >> 20
    ))
}

pub(crate) fn too_many() -> Failure {
    Failure::Limit(format!(
        "it has more than {MEMBERS_MAX} members, of which none is read"
    ))
}
