//! The operator's own key: made at the first start, shown once, kept as a hash.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;
use trawl_model::secret::Secret;

/// What the key begins with.
const PREFIX: &str = "tra_";
/// File in the data directory.
const FILE: &str = "admin.key";

/// What is kept of the key.
pub(super) struct AdminKey {
    /// BLAKE3, compared in constant time. The key has 256 random bits, so a plain hash cannot be turned round.
    hash: blake3::Hash,
    /// The key itself, when it was made by this process.
    pub(super) fresh: Option<Secret>,
}

impl AdminKey {
    /// Reads what is kept in the data directory, or makes a key when nothing is. To have a new one, delete the file.
    ///
    /// # Errors
    /// The file cannot be read, written, or holds something else.
    pub(super) fn open(data: &Path) -> anyhow::Result<Self> {
        let path = data.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Self {
                hash: blake3::Hash::from_hex(text.trim()).with_context(|| {
                    format!(
                        "`{}` holds no hash, delete it to have a new admin key",
                        path.display()
                    )
                })?,
                fresh: None,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(&path),
            Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
        }
    }

    /// Whether this is the key.
    pub(super) fn is(&self, key: &str) -> bool {
        blake3::hash(key.as_bytes()) == self.hash
    }

    fn make(path: &Path) -> anyhow::Result<Self> {
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
            fresh: Some(key),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_and_known_afterwards() {
        let data = tempfile::tempdir().expect("a folder");
        let first = AdminKey::open(data.path()).expect("made");
        let key = first.fresh.expect("shown once");
        assert!(key.expose().starts_with(PREFIX));
        let kept = std::fs::read_to_string(data.path().join(FILE)).expect("kept");
        assert!(!kept.contains(key.expose()));
        let second = AdminKey::open(data.path()).expect("read");
        assert!(second.fresh.is_none() && second.is(key.expose()) && !second.is("tra_other"));
    }

    #[test]
    fn a_file_that_is_no_hash_is_named() {
        let data = tempfile::tempdir().expect("a folder");
        std::fs::write(data.path().join(FILE), "nonsense").expect("written");
        let error = AdminKey::open(data.path()).err().expect("refused");
        assert!(error.to_string().contains("admin.key"), "{error}");
    }
}
