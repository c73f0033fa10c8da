//! Folders that the commands agree on.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The crate's folder as an absolute path.
pub(super) fn absolute(dir: &Path) -> anyhow::Result<PathBuf> {
    dir.canonicalize()
        .with_context(|| format!("cannot open the folder `{}`", dir.display()))
}

/// Where intermediate files go; absolute, because cargo runs in the crate's folder.
pub(super) fn target(dir: &Path, asked: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match asked {
        Some(asked) => std::path::absolute(asked).context("there is no current folder"),
        None => Ok(dir.join("target")),
    }
}

/// Where compiled code is kept between commands.
pub(super) fn cache(asked: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let dir = match asked {
        Some(asked) => asked,
        None => std::env::home_dir()
            .context("there is no home folder for compiled code: give one with `--cache-dir`")?
            .join(".cache/trawl"),
    };
    std::path::absolute(dir).context("there is no current folder")
}
