//! Folders that the commands share.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The crate's folder as an absolute path.
pub(super) fn absolute(dir: &Path) -> anyhow::Result<PathBuf> {
    dir.canonicalize()
        .with_context(|| format!("cannot open the folder `{}`", dir.display()))
}

/// Folder for intermediate files; absolute, because cargo runs in the crate's folder.
pub(super) fn target(dir: &Path, requested: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match requested {
        Some(dir) => std::path::absolute(dir).context("there is no current folder"),
        None => Ok(dir.join("target")),
    }
}

/// Folder in which compiled code is cached.
pub(super) fn cache(requested: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let dir = match requested {
        Some(dir) => dir,
        None => std::env::home_dir()
            .context("there is no home folder for compiled code: give one with `--cache-dir`")?
            .join(".cache/trawl"),
    };
    std::path::absolute(dir).context("there is no current folder")
}
