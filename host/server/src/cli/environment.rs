//! What commands take from the environment: variables, folders, the plugin manifest.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::plugin::manifest::{self, ManifestDirs};

/// The plugin manifest: the given one, or `plugins.toml` in the working directory or next to the
/// program, or the bundled one, whose path is the program's own.
pub(in crate::cli) fn plugins_file(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let given = given.or_else(|| environment("TRAWL_PLUGINS").map(PathBuf::from));
    let program = std::env::current_exe().ok();
    let places = ManifestDirs {
        working_dir: Path::new("."),
        program: program.as_deref(),
    };
    places.manifest(given, manifest::own_bundle)
}

/// Variable with the folder of caches.
const CACHE_HOME: &str = "XDG_CACHE_HOME";
/// Variable with the folder of states.
const STATE_HOME: &str = "XDG_STATE_HOME";

/// Where commands without a data directory cache compiled plugins; created if it is missing.
///
/// # Errors
/// It cannot be created.
pub(in crate::cli) fn cache_folder() -> anyhow::Result<PathBuf> {
    created(cache_path(), CACHE_HOME)
}

fn cache_path() -> PathBuf {
    environment(CACHE_HOME)
        .map(PathBuf::from)
        .or_else(|| environment("HOME").map(|home| Path::new(&home).join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("trawl")
}

/// Where interrupted commands store what they need to resume; created if it is missing. Never below
/// [`cache_folder`]: the plugin compiler removes unknown files there.
///
/// # Errors
/// It cannot be created.
pub(in crate::cli) fn state_folder() -> anyhow::Result<PathBuf> {
    created(state_path(), STATE_HOME)
}

fn state_path() -> PathBuf {
    environment(STATE_HOME)
        .map(PathBuf::from)
        .or_else(|| environment("HOME").map(|home| Path::new(&home).join(".local/state")))
        .unwrap_or_else(|| std::env::temp_dir().join("state"))
        .join("trawl")
}

/// The folder, after it was created if it was missing; this variable selects another one.
fn created(folder: PathBuf, variable: &str) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(&folder).with_context(|| {
        format!(
            "cannot create `{}`; set the variable {variable} to a folder that can be written",
            folder.display()
        )
    })?;
    Ok(folder)
}

/// The log filter in `RUST_LOG`.
pub(in crate::cli) fn log_filter() -> Option<String> {
    environment("RUST_LOG")
}

/// The value of an environment variable; an empty one counts as missing.
#[expect(
    clippy::disallowed_methods,
    reason = "the command line reads the environment for the server"
)]
pub(in crate::cli) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Environment variables that may be credentials: upper-case letters, digits and `_`.
pub(in crate::cli) fn environment_names() -> Vec<(String, String)> {
    let is_name = |name: &str| {
        name.bytes()
            .all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
    };
    let variables = std::env::vars_os();
    let text = variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    text.filter(|(name, _)| is_name(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_created_names_the_variable_for_another() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let folder = parent.path().join("a/trawl");
        assert_eq!(
            created(folder.clone(), CACHE_HOME).expect("created"),
            folder
        );
        assert!(folder.is_dir());
        let file = parent.path().join("file");
        std::fs::write(&file, "").expect("a file");
        let text = created(file.join("trawl"), STATE_HOME).expect_err("in a file");
        let text = text.to_string();
        assert!(
            text.contains("file/trawl") && text.contains("XDG_STATE_HOME"),
            "{text}"
        );
    }

    #[test]
    fn state_is_not_stored_among_compiled_plugins() {
        assert!(!state_path().starts_with(cache_path()));
    }
}
