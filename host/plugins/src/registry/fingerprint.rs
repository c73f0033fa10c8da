//! Detects changes of files without reading them.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The state of a set of files. Two equal fingerprints mean that nothing was written in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fingerprint(Vec<(PathBuf, Option<Stamp>)>);

/// The state of one file. Replacing it by a rename changes `inode`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

impl Fingerprint {
    /// The current state of these files; missing files have a state too.
    pub(crate) fn of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut fingerprint = Self::default();
        fingerprint.add(paths);
        fingerprint
    }

    /// Adds the state of more files.
    pub(crate) fn add<'a>(&mut self, paths: impl IntoIterator<Item = &'a Path>) {
        let stamped = |path: &Path| (path.to_owned(), stamp(path));
        self.0.extend(paths.into_iter().map(stamped));
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some(Stamp {
        modified: metadata.modified().ok(),
        bytes: metadata.len(),
        inode: metadata.ino(),
    })
}
