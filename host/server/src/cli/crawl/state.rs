//! State of a crawl until it ends, and a while longer if it ended at a cap: a data directory of its
//! own, and a checkpoint of its output.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use trawl_model::clock::Timestamp;
use trawl_store::DataDir;

/// The checkpoint file. Its name is part of the stored format.
const CHECKPOINT: &str = "mark.json";
/// How long the state of a crawl is stored that ended at a cap, as on a server. Decision D50.
const RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Length of the name of a crawl's directory.
const NAME_DIGITS: usize = 24;

/// The directory of one crawl.
pub(super) struct ResumeState {
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
    /// When the crawl ended at a cap, in milliseconds since 1970; a higher one continues it.
    #[serde(default)]
    pub(super) ended: Option<i64>,
}

/// Removes the states of crawls that ended at a cap long before `now`.
pub(super) fn expire(folder: &Path, now: Timestamp) {
    // There is none before the first crawl.
    let Ok(states) = fs::read_dir(folder) else {
        return;
    };
    for entry in states.flatten() {
        let state = ResumeState {
            folder: entry.path(),
        };
        let ended = state.checkpoint().ok().and_then(|it| it.ended);
        let is_old = ended.is_some_and(|ended| ended < now.before(RETENTION).0);
        // It is locked while another process continues it.
        if is_old && DataDir::open(&state.data()).is_ok() {
            state.remove();
        }
    }
}

impl ResumeState {
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

    /// Notes in the checkpoint that the crawl has ended at a cap.
    pub(super) fn note_end(&self, at: Timestamp) -> anyhow::Result<()> {
        let checkpoint = Checkpoint {
            ended: Some(at.0),
            ..self.checkpoint()?
        };
        self.set_checkpoint(&checkpoint)
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
            let state = ResumeState::of(folder.path(), url, target.map(Path::new));
            state.expect("a directory").folder
        };
        assert_eq!(of("a.example", Some("/x/y")), of("a.example", Some("/x/y")));
        assert_ne!(of("a.example", Some("/x/y")), of("a.example", None));
        assert_ne!(of("a.example", None), of("b.example", None));
    }

    #[test]
    fn the_state_of_a_crawl_that_ended_at_a_cap_expires() {
        let folder = tempfile::tempdir().expect("a folder");
        let (states, compiled) = (folder.path().join("crawls"), folder.path().join("compiled"));
        expire(&states, Timestamp(0));
        let state = ResumeState::of(&states, "a.example", None).expect("a directory");
        state.prepare(false, &compiled).expect("a new one");
        state
            .set_checkpoint(&Checkpoint::default())
            .expect("a checkpoint");
        let long = Timestamp(i64::try_from(RETENTION.as_millis()).expect("it fits") + 9);
        expire(&states, long);
        assert!(state.is_interrupted(), "it has not ended");
        state.note_end(Timestamp(8)).expect("noted");
        expire(&states, Timestamp(long.0 - 1));
        assert_eq!(state.checkpoint().expect("not yet").ended, Some(8));
        let locked = DataDir::open(&state.data()).expect("in use");
        expire(&states, long);
        assert!(state.is_interrupted(), "another process continues it");
        drop(locked);
        expire(&states, long);
        assert!(!state.data().exists());
        let old = r#"{"id": "one", "cursor": 3, "bytes": 9}"#;
        let old: Checkpoint = serde_json::from_str(old).expect("of an earlier version");
        assert_eq!(old.ended, None);
    }

    #[test]
    fn a_new_crawl_starts_empty_and_a_resumed_one_finds_its_checkpoint() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiled = folder.path().join("compiled");
        let state =
            ResumeState::of(&folder.path().join("crawls"), "a.example", None).expect("a directory");
        assert!(state.prepare(true, &compiled).is_err(), "nothing to resume");
        state.prepare(false, &compiled).expect("a new one");
        assert!(!state.is_interrupted());
        let checkpoint = Checkpoint {
            id: "one".to_owned(),
            cursor: 3,
            bytes: 1_000,
            ended: None,
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
