//! State of a crawl until it ends: a data directory of its own, and a checkpoint of its output.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use trawl_store::DataDir;

/// The checkpoint file. Its name is part of the stored format.
const CHECKPOINT: &str = "mark.json";
/// Length of the name of a crawl's directory.
const NAME_DIGITS: usize = 24;

/// The directory of one crawl.
pub(super) struct State {
    folder: PathBuf,
}

/// Position of the output. Stored after the output is flushed: what comes after it is written
/// again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// Id of the crawl.
    pub(super) id: String,
    /// Number of the last page in the output.
    pub(super) cursor: u64,
    /// Length of the file that the output appends to.
    pub(super) bytes: u64,
}

impl State {
    /// The directory for crawls of this URL to this output; it need not exist.
    pub(super) fn of(folder: &Path, url: &str, target: Option<&Path>) -> anyhow::Result<Self> {
        let target = match target {
            Some(target) => {
                std::path::absolute(target).context("the output has no absolute path")?
            }
            None => PathBuf::new(),
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(url.as_bytes());
        hasher.update(&[0]);
        hasher.update(target.as_os_str().as_encoded_bytes());
        let name = hasher.finalize().to_hex();
        let folder = folder.join(&name[..NAME_DIGITS]);
        Ok(Self { folder })
    }

    /// The data directory.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Whether there is an interrupted crawl.
    pub(super) fn is_interrupted(&self) -> bool {
        self.folder.join(CHECKPOINT).is_file()
    }

    /// Prepares the directory: an empty one for a new crawl, the existing one to resume. The cache
    /// of compiled plugins is shared with other commands.
    pub(super) fn prepare(&self, resume: bool, compiled: &Path) -> anyhow::Result<()> {
        if resume {
            if !self.is_interrupted() {
                bail!(
                    "nothing to resume: there is no interrupted crawl of this URL to this output"
                );
            }
            return Ok(());
        }
        if self.data().is_dir() {
            // Fails while another process runs the crawl.
            drop(DataDir::open(&self.data())?);
            fs::remove_dir_all(&self.folder)
                .with_context(|| format!("cannot remove `{}`", self.folder.display()))?;
        }
        fs::create_dir_all(compiled)
            .with_context(|| format!("cannot create `{}`", compiled.display()))?;
        // Created by the store, with private permissions.
        drop(DataDir::create(&self.data())?);
        std::path::absolute(compiled)
            .and_then(|compiled| std::os::unix::fs::symlink(compiled, self.data().join("compiled")))
            .context("cannot share the cache of compiled plugins")
    }

    /// The checkpoint of the interrupted crawl.
    pub(super) fn checkpoint(&self) -> anyhow::Result<Checkpoint> {
        let path = self.folder.join(CHECKPOINT);
        let text = fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("`{}` is damaged", path.display()))
    }

    /// Stores a checkpoint atomically.
    pub(super) fn set_checkpoint(&self, checkpoint: &Checkpoint) -> anyhow::Result<()> {
        let (path, new) = (self.folder.join(CHECKPOINT), self.folder.join("mark.new"));
        let written = serde_json::to_vec(checkpoint)
            .map_err(std::io::Error::from)
            .and_then(|text| fs::write(&new, text))
            .and_then(|()| fs::rename(&new, &path));
        written.with_context(|| format!("cannot write `{}`", path.display()))
    }

    /// Removes the directory of a crawl that has ended.
    pub(super) fn remove(&self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::warn!(error = %error, "cannot remove the directory of the crawl");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawl_is_found_by_its_url_and_output() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |url: &str, target: Option<&str>| {
            let state = State::of(folder.path(), url, target.map(Path::new));
            state.expect("a directory").folder
        };
        assert_eq!(of("a.example", Some("/x/y")), of("a.example", Some("/x/y")));
        assert_ne!(of("a.example", Some("/x/y")), of("a.example", None));
        assert_ne!(of("a.example", None), of("b.example", None));
    }

    #[test]
    fn a_new_crawl_starts_empty_and_a_resumed_one_finds_its_checkpoint() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiled = folder.path().join("compiled");
        let state =
            State::of(&folder.path().join("crawls"), "a.example", None).expect("a directory");
        assert!(state.prepare(true, &compiled).is_err(), "nothing to resume");
        state.prepare(false, &compiled).expect("a new one");
        assert!(!state.is_interrupted());
        let checkpoint = Checkpoint {
            id: "one".to_owned(),
            cursor: 3,
            bytes: 1_000,
        };
        state.set_checkpoint(&checkpoint).expect("a checkpoint");
        assert!(state.is_interrupted());
        state.prepare(true, &compiled).expect("the old one");
        assert_eq!(state.checkpoint().expect("a checkpoint"), checkpoint);

        let locked = DataDir::open(&state.data()).expect("in use");
        assert!(
            state.prepare(false, &compiled).is_err(),
            "another process crawls"
        );
        drop(locked);
        state.prepare(false, &compiled).expect("a new one");
        assert!(state.checkpoint().is_err());
        state.remove();
        assert!(!state.data().exists() && compiled.is_dir());
    }
}
