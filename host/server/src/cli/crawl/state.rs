//! What a crawl knows until it has ended: a data directory of its own, and a mark of how far its output is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use trawl_store::DataDir;

/// How far the output is.
const MARK: &str = "mark.json";
/// Digits of the name of a crawl's directory.
const NAME_DIGITS: usize = 24;

/// The directory of one crawl.
pub(super) struct State {
    folder: PathBuf,
}

/// How far a crawl's output is: written after the output, so that what comes after it is written again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The crawl.
    pub(super) id: String,
    /// Number of the last page that is in the output.
    pub(super) cursor: u64,
    /// Bytes of the file that the output appends to.
    pub(super) bytes: u64,
}

impl State {
    /// The directory for crawls of this address into this output; it need not be there.
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

    /// Makes the directory ready: an empty one for a new crawl, the one that is there to go on. Compiled plugins are shared
    /// with other commands. Returns whether there was an interrupted crawl.
    pub(super) fn prepare(&self, resume: bool, compiled: &Path) -> anyhow::Result<bool> {
        let was_begun = self.folder.join(MARK).is_file();
        if resume {
            if !was_begun {
                bail!(
                    "there is nothing to go on with: no crawl of this address into this output was interrupted"
                );
            }
            return Ok(true);
        }
        if self.data().is_dir() {
            // Refused while another process crawls.
            drop(DataDir::open(&self.data())?);
            fs::remove_dir_all(&self.folder)
                .with_context(|| format!("cannot remove `{}`", self.folder.display()))?;
        }
        fs::create_dir_all(compiled)
            .with_context(|| format!("cannot make `{}`", compiled.display()))?;
        // Made by its room, so that it is private.
        drop(DataDir::create(&self.data())?);
        std::path::absolute(compiled)
            .and_then(|compiled| std::os::unix::fs::symlink(compiled, self.data().join("compiled")))
            .context("the compiled plugins cannot be shared")?;
        Ok(was_begun)
    }

    /// How far the interrupted crawl was.
    pub(super) fn mark(&self) -> anyhow::Result<Mark> {
        let path = self.folder.join(MARK);
        let text = fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("`{}` is damaged", path.display()))
    }

    /// Notes how far it is, in one step.
    pub(super) fn set_mark(&self, mark: &Mark) -> anyhow::Result<()> {
        let (path, new) = (self.folder.join(MARK), self.folder.join("mark.new"));
        let written = serde_json::to_vec(mark)
            .map_err(std::io::Error::from)
            .and_then(|text| fs::write(&new, text))
            .and_then(|()| fs::rename(&new, &path));
        written.with_context(|| format!("cannot write `{}`", path.display()))
    }

    /// Removes everything: the crawl has ended.
    pub(super) fn remove(&self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::warn!(error = %error, "the directory of the crawl cannot be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crawl_is_found_by_its_address_and_output() {
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
    fn a_new_crawl_begins_empty_and_a_resumed_one_finds_its_mark() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiled = folder.path().join("compiled");
        let state =
            State::of(&folder.path().join("crawls"), "a.example", None).expect("a directory");
        assert!(
            state.prepare(true, &compiled).is_err(),
            "nothing to go on with"
        );
        assert!(!state.prepare(false, &compiled).expect("a new one"));
        let mark = Mark {
            id: "one".to_owned(),
            cursor: 3,
            bytes: 1_000,
        };
        state.set_mark(&mark).expect("a mark");
        assert!(state.prepare(true, &compiled).expect("the old one"));
        assert_eq!(state.mark().expect("a mark"), mark);

        let held = DataDir::open(&state.data()).expect("in use");
        assert!(
            state.prepare(false, &compiled).is_err(),
            "another process crawls"
        );
        drop(held);
        assert!(state.prepare(false, &compiled).expect("a new one"));
        assert!(state.mark().is_err());
        state.remove();
        assert!(!state.data().exists() && compiled.is_dir());
    }
}
