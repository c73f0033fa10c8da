//! Compressed bodies in files named by their hash. A file appears whole or not at all, and is
//! checked when it is read.

use std::collections::HashSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::index::BodyHash;

/// The body that is being written. There is one writer, so one name does.
const NEW_FILE: &str = "body.new";
const PRIVATE_DIRECTORY: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
/// Digits of the hash that name the folder.
const FOLDER_DIGITS: usize = 2;
/// The fastest ordinary level: HTML shrinks to a fifth at half a gigabyte a second.
pub(super) const LEVEL: i32 = 1;

/// Creates the folder if it is missing.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_DIRECTORY)
        .create(folder)
}

/// Writes a compressed body.
pub(super) fn write(folder: &Path, hash: &BodyHash, compressed: &[u8]) -> io::Result<()> {
    let new = folder.join(NEW_FILE);
    private_file(&new)?.write_all(compressed)?;
    let path = path(folder, hash);
    match std::fs::rename(&new, &path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_folder(path.parent().expect("a body is in a folder"))?;
            std::fs::rename(&new, &path)
        }
        renamed => renamed,
    }
}

/// Reads a body of this many bytes.
pub(super) fn read(folder: &Path, hash: &BodyHash, bytes: u64) -> io::Result<Bytes> {
    let compressed = std::fs::read(path(folder, hash))?;
    let bytes = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidData)?;
    let body = zstd::bulk::decompress(&compressed, bytes)?;
    if blake3::hash(&body) != *hash {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the file is not what was written",
        ));
    }
    Ok(body.into())
}

/// Removes a body. One that is not there is no trouble.
pub(super) fn remove(folder: &Path, hash: &BodyHash) {
    if let Err(error) = std::fs::remove_file(path(folder, hash))
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(error = %error, "a body of the page cache cannot be removed");
    }
}

/// Removes the files for which `is_wanted` says no; returns the bodies that are left.
pub(super) fn sweep(
    folder: &Path,
    is_wanted: impl Fn(&BodyHash) -> bool,
) -> io::Result<HashSet<BodyHash>> {
    let mut present = HashSet::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(digits) = name.to_str().filter(|name| name.len() == FOLDER_DIGITS) else {
            continue;
        };
        if !entry.file_type()?.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(entry.path())? {
            let file = file?;
            let rest = file.file_name();
            let hash = rest
                .to_str()
                .and_then(|rest| BodyHash::from_hex(format!("{digits}{rest}")).ok());
            match hash {
                Some(hash) if is_wanted(&hash) => {
                    present.insert(hash);
                }
                Some(hash) => remove(folder, &hash),
                None => {}
            }
        }
    }
    Ok(present)
}

fn path(folder: &Path, hash: &BodyHash) -> PathBuf {
    let hex = hash.to_hex();
    let (digits, rest) = hex.split_at(FOLDER_DIGITS);
    folder.join(digits).join(rest)
}

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(PRIVATE_FILE)
        .open(path)
}
