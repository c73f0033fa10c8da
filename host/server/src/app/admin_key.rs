//! The admin key: created at the first start, shown at every start until it was used, stored as a
//! hash from then on. Decision D190.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use trawl_model::secret::Secret;

/// Prefix of the key.
const PREFIX: &str = "tra_";
/// File in the data directory.
const FILE: &str = "admin.key";
/// File with the key itself, until it is used.
const UNUSED_FILE: &str = "admin.key.new";

/// The hash of the admin key.
pub(super) struct AdminKey {
    /// BLAKE3, compared in constant time. The key has 256 random bits, so a plain hash cannot be
    /// reversed by guessing.
    hash: blake3::Hash,
    /// The key itself, if it had not been used when the process started.
    pub(super) unused: Option<Secret>,
    /// The file to remove at its first use.
    unused_file: PathBuf,
    is_used: AtomicBool,
}

impl AdminKey {
    /// Reads the hash from the data directory, and the key itself if it was never used. Creates a
    /// key if there is none: deleting the file of the hash replaces the key.
    ///
    /// # Errors
    /// The file cannot be read or written, or contains no hash.
    pub(super) fn open(data: &Path) -> anyhow::Result<Self> {
        let (path, unused_file) = (data.join(FILE), data.join(UNUSED_FILE));
        let hash = match std::fs::read_to_string(&path) {
            Ok(text) => blake3::Hash::from_hex(text.trim()).with_context(|| {
                format!(
                    "`{}` contains no hash, delete it to create a new admin key",
                    path.display()
                )
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => create(&path, &unused_file)?,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read `{}`", path.display()));
            }
        };
        let unused = std::fs::read_to_string(&unused_file).ok();
        let unused = unused.map(|text| Secret::new(text.trim()));
        // It may be of another hash, when one of the two files was restored.
        let unused = unused.filter(|key| blake3::hash(key.expose().as_bytes()) == hash);
        Ok(Self {
            hash,
            is_used: AtomicBool::new(unused.is_none()),
            unused,
            unused_file,
        })
    }

    /// Whether this is the key. From its first use on, the key itself is no longer stored.
    pub(super) fn is(&self, key: &str) -> bool {
        let is_key = blake3::hash(key.as_bytes()) == self.hash;
        if is_key && !self.is_used.swap(true, Ordering::Relaxed) {
            self.forget();
        }
        is_key
    }

    fn forget(&self) {
        if let Err(error) = std::fs::remove_file(&self.unused_file) {
            tracing::warn!(
                %error,
                "the admin key is still stored, remove `{}`",
                self.unused_file.display()
            );
        }
    }
}

/// Stores a new key, and then its hash: an interrupted start leaves a key that the next one shows,
/// or none.
fn create(path: &Path, unused_file: &Path) -> anyhow::Result<blake3::Hash> {
    let key = trawl_billing::new_key(PREFIX)?;
    let hash = blake3::hash(key.expose().as_bytes());
    write_private(unused_file, key.expose())?;
    write_private(path, hash.to_hex().as_str())?;
    Ok(hash)
}

fn write_private(path: &Path, line: &str) -> anyhow::Result<()> {
    let write = || -> io::Result<()> {
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        writeln!(file, "{line}")?;
        file.sync_all()
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_shown_until_it_is_used() {
        let data = tempfile::tempdir().expect("a folder");
        let open = || AdminKey::open(data.path()).expect("opened");
        let key = open().unused.expect("shown");
        assert!(key.expose().starts_with(PREFIX));
        let stored = std::fs::read_to_string(data.path().join(FILE)).expect("stored");
        assert!(!stored.contains(key.expose()));

        // The first start was interrupted before anybody saw the key.
        let second = open();
        assert_eq!(second.unused.as_ref(), Some(&key), "shown again");
        assert!(!second.is("tra_other"));
        assert!(data.path().join(UNUSED_FILE).exists(), "not its use");
        assert!(second.is(key.expose()) && second.is(key.expose()));
        assert!(!data.path().join(UNUSED_FILE).exists());

        let third = open();
        assert!(third.unused.is_none() && third.is(key.expose()));
    }

    #[test]
    fn a_stored_key_of_another_hash_is_not_shown() {
        let data = tempfile::tempdir().expect("a folder");
        let first = AdminKey::open(data.path()).expect("created");
        let hash = blake3::hash(b"tra_restored").to_hex();
        std::fs::write(data.path().join(FILE), hash.as_str()).expect("restored");
        let second = AdminKey::open(data.path()).expect("read");
        assert!(second.unused.is_none() && second.is("tra_restored"));
        let replaced = first.unused.expect("shown");
        assert!(!second.is(replaced.expose()));
        // Deleting the hash replaces the key.
        std::fs::remove_file(data.path().join(FILE)).expect("deleted");
        let third = AdminKey::open(data.path()).expect("created");
        assert!(third.unused.is_some_and(|key| key != replaced));
    }

    #[test]
    fn a_file_without_a_hash_is_named() {
        let data = tempfile::tempdir().expect("a folder");
        std::fs::write(data.path().join(FILE), "nonsense").expect("written");
        let error = AdminKey::open(data.path()).err().expect("refused");
        assert!(error.to_string().contains("admin.key"), "{error}");
    }
}
