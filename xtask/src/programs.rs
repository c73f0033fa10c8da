//! The workspace's test programs, compiled and linted by one run of cargo.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::workspace;

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestProgram {
    /// Name of its target: `it`, `trawl_net`.
    pub(crate) name: String,
    /// The folder it runs in: its package's.
    pub(crate) folder: PathBuf,
    /// The program.
    pub(crate) file: PathBuf,
}

/// A line of cargo's account of a build.
#[derive(Debug, Deserialize)]
struct Built {
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    #[serde(default)]
    target: BuiltTarget,
    #[serde(default)]
    profile: BuiltProfile,
}

#[derive(Debug, Default, Deserialize)]
struct BuiltTarget {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
struct BuiltProfile {
    test: bool,
}

impl TestProgram {
    /// The manifest of its package.
    pub(crate) fn manifest(&self) -> PathBuf {
        self.folder.join("Cargo.toml")
    }

    /// What it tests, for headings: `host/net trawl_net`.
    pub(crate) fn title(&self, root: &Path) -> String {
        let folder = self.folder.strip_prefix(root).unwrap_or(&self.folder);
        format!("{} {}", folder.display(), self.name)
    }

    /// The program of a line of cargo's account; `None` for what is not a test program.
    fn parse(line: &[u8]) -> Option<Self> {
        // Lines of other kinds lack these fields.
        let built: Built = serde_json::from_slice(line).ok()?;
        if !built.profile.test {
            return None;
        }
        Some(Self {
            name: built.target.name,
            folder: built.manifest_path?.parent()?.to_path_buf(),
            file: built.executable?,
        })
    }
}

/// Compiles the test programs and returns them.
///
/// # Errors
/// They do not compile, or the linter has something to say.
pub(crate) fn compiled() -> anyhow::Result<Vec<TestProgram>> {
    let arguments = ["test", "--workspace", "--no-run"];
    let mut command = workspace::linting_cargo(&arguments)?;
    let output = command
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the test programs do not compile");
    }
    let lines = output.stdout.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(TestProgram::parse).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_found_in_cargos_account() {
        let found = |line: &str| TestProgram::parse(line.as_bytes());
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/r/host/net/Cargo.toml","target":{"name":"trawl_net","kind":["lib"]},"profile":{"test":true},"executable":"/t/net"}"#;
        let program = found(line).expect("a test program");
        assert_eq!(program.title(Path::new("/r")), "host/net trawl_net");
        assert_eq!(program.manifest(), Path::new("/r/host/net/Cargo.toml"));
        assert_eq!(program.file, Path::new("/t/net"));
        assert_eq!(found(&line.replace("true", "false")), None);
        assert_eq!(found(&line.replace(r#""/t/net""#, "null")), None);
        assert_eq!(found(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
