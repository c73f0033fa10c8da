//! The operator's own credentials: from the environment, or from a file of `NAME=value` lines.
//! Never from `plugins.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use trawl_model::secret::Secret;
use trawl_plugins::{Grant, ProviderPlugin, SearchPlugin};

use super::Keys;

/// The operator's credentials by name.
#[derive(Clone, Debug, Default)]
pub struct PooledKeys {
    file: BTreeMap<String, Secret>,
    environment: BTreeMap<String, Secret>,
}

/// Why the credentials cannot be read. No text shows a value.
#[derive(Debug, thiserror::Error)]
pub enum PooledError {
    /// The file is not there or cannot be read.
    #[error("the credentials file `{}` cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Other users of the machine can read it.
    #[error("the credentials file `{}` can be read by others, run `chmod 600` on it", .0.display())]
    Open(PathBuf),
    /// A line is malformed.
    #[error("line {line} of the credentials file `{}` is not `NAME=value`", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

impl PooledKeys {
    /// The keys of the environment, which win, and of a file.
    ///
    /// # Errors
    /// [`PooledError`]: the file is missing, open to others, or has a line that is none.
    pub fn read(
        environment: impl IntoIterator<Item = (String, String)>,
        file: Option<&Path>,
    ) -> Result<Self, PooledError> {
        let environment = environment
            .into_iter()
            .filter(|(_, value)| !value.trim().is_empty())
            .map(|(name, value)| (name, Secret::new(value.trim())));
        Ok(Self {
            environment: environment.collect(),
            file: file.map(read).transpose()?.unwrap_or_default(),
        })
    }

    /// One credential of the operator by its name, for uses other than providers.
    pub fn one(&self, name: &str) -> Option<Secret> {
        self.environment.get(name).or(self.file.get(name)).cloned()
    }

    /// All credentials of a provider that may use them; `None` if one is missing or it may not.
    pub(super) fn keys(&self, plugin: &ProviderPlugin) -> Option<Keys> {
        let grant = plugin.grant();
        if !grant.pooled || grant.credentials.is_empty() {
            return None;
        }
        self.granted(grant)
    }

    /// All credentials of a search adapter, of which there may be none; `None` if one is missing.
    pub(super) fn search_keys(&self, plugin: &SearchPlugin) -> Option<Keys> {
        self.granted(plugin.grant())
    }

    /// The credentials of a grant. Only names that the operator granted an adapter are ever looked
    /// up.
    fn granted(&self, grant: &Grant) -> Option<Keys> {
        let find = |name: &String| self.one(name).map(|secret| (name.clone(), secret));
        grant.credentials.iter().map(find).collect()
    }
}

fn read(path: &Path) -> Result<BTreeMap<String, Secret>, PooledError> {
    let unreadable = |source| PooledError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let is_open = {
        use std::os::unix::fs::PermissionsExt;
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        metadata.permissions().mode() & 0o077 != 0
    };
    if is_open {
        return Err(PooledError::Open(path.to_owned()));
    }
    let text = Zeroizing::new(std::fs::read_to_string(path).map_err(unreadable)?);
    let lines = text.lines().enumerate();
    let lines = lines.map(|(index, line)| (index + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(line, text)| {
            let (name, value) = text.split_once('=').ok_or_else(|| PooledError::Line {
                path: path.to_owned(),
                line,
            })?;
            let value = value.trim().trim_matches('"');
            Ok((name.trim().to_owned(), Secret::new(value)))
        })
        .filter(|pair| pair.as_ref().map_or(true, |(_, value)| !value.is_empty()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn file(text: &str, mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).expect("set");
        file
    }

    #[test]
    fn the_file_is_lines_and_the_environment_wins() {
        let file = file(
            "# ours\n\nA_KEY = \"canary-1\"\nB_KEY=canary=2\nC_KEY=\n",
            0o600,
        );
        let environment = [
            ("A_KEY".to_owned(), "canary-3".to_owned()),
            ("D".to_owned(), " ".to_owned()),
        ];
        let keys = PooledKeys::read(environment, Some(file.path())).expect("reads");
        assert_eq!(keys.environment["A_KEY"].expose(), "canary-3");
        assert_eq!(keys.file["B_KEY"].expose(), "canary=2");
        assert!(!keys.file.contains_key("C_KEY") && !keys.environment.contains_key("D"));
        assert!(!format!("{keys:?}").contains("canary"));
    }

    #[test]
    fn a_file_that_others_read_or_that_is_none_is_refused() {
        let reason = |file: &Path| {
            PooledKeys::read([], Some(file))
                .expect_err("refused")
                .to_string()
        };
        assert!(reason(file("A=canary-1", 0o644).path()).contains("chmod 600"));
        let odd = reason(file("A=1\ncanary-2", 0o600).path());
        assert!(odd.contains("line 2") && !odd.contains("canary"), "{odd}");
        assert!(reason(Path::new("/nonexistent/keys")).contains("cannot be read"));
    }
}
