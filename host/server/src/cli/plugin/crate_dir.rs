//! Directories of the plugin commands.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The absolute path of a crate.
pub(super) fn absolute(dir: &Path) -> anyhow::Result<PathBuf> {
    dir.canonicalize()
        .with_context(|| format!("cannot open the folder `{}`", dir.display()))
}

/// The target directory; absolute, because cargo runs in the crate's directory.
pub(super) fn target(dir: &Path, given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match given {
        Some(given) => std::path::absolute(given).context("there is no working directory"),
        None => Ok(dir.join("target")),
    }
}

/// The cache directory of compiled code.
pub(super) fn cache(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let dir = match given {
        Some(given) => given,
        None => std::env::home_dir()
            .context(
                "there is no home directory for the cache of compiled code, set `--cache-dir`",
            )?
            .join(".cache/trawl"),
    };
    std::path::absolute(dir).context("there is no working directory")
}
