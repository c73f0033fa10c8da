//! The admin key: created at the first start, shown once, stored as a hash.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;

use trawl_model::secret::Secret;

/// Prefix of the key.
const PREFIX: &str = "tra_";
/// File in the data directory.
const FILE: &str = "admin.key";

/// The hash of the admin key.
pub(super) struct AdminKey {
    /// BLAKE3, compared in constant time. The key has 256 random bits, so a plain hash cannot be
    /// reversed by guessing.
    hash: blake3::Hash,
    /// The key itself, if this process created it.
    pub(super) new: Option<Secret>,
}

impl AdminKey {
    /// Reads the hash from the data directory, or creates a key if there is none. Deleting the file
    /// replaces the key.
    ///
    /// # Errors
    /// The file cannot be read or written, or contains no hash.
    pub(super) fn open(data: &Path) -> anyhow::Result<Self> {
        let path = data.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Self {
                hash: blake3::Hash::from_hex(text.trim()).with_context(|| {
                    format!(
                        "`{}` contains no hash, delete it to create a new admin key",
                        path.display()
                    )
                })?,
                new: None,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create(&path),
            Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
        }
    }

    /// Whether this is the key.
    pub(super) fn is(&self, key: &str) -> bool {
        blake3::hash(key.as_bytes()) == self.hash
    }

    fn create(path: &Path) -> anyhow::Result<Self> {
        let key = trawl_billing::new_key(PREFIX)?;
        let hash = blake3::hash(key.expose().as_bytes());
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        writeln!(file, "{}", hash.to_hex())?;
        file.sync_all()?;
        Ok(Self {
            hash,
            new: Some(key),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_created_once_and_recognized_later() {
        let data = tempfile::tempdir().expect("a folder");
        let first = AdminKey::open(data.path()).expect("created");
        let key = first.new.expect("shown once");
        assert!(key.expose().starts_with(PREFIX));
        let stored = std::fs::read_to_string(data.path().join(FILE)).expect("stored");
        assert!(!stored.contains(key.expose()));
        let second = AdminKey::open(data.path()).expect("read");
        assert!(second.new.is_none() && second.is(key.expose()) && !second.is("tra_other"));
    }

    #[test]
    fn a_file_without_a_hash_is_named() {
        let data = tempfile::tempdir().expect("a folder");
        std::fs::write(data.path().join(FILE), "nonsense").expect("written");
        let error = AdminKey::open(data.path()).err().expect("refused");
        assert!(error.to_string().contains("admin.key"), "{error}");
    }
}
