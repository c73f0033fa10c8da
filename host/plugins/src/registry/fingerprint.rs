//! Whether the files of the plugins have changed, without reading them.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The state of a set of files at one moment: two equal ones mean that nothing was written in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fingerprint(Vec<(PathBuf, Option<Stamp>)>);

/// One file's state; a file replaced by a rename differs in `inode`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

impl Fingerprint {
    /// The state of these files now. A missing file has a state too.
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
