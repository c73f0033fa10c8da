//! Where this workspace is, what is in it, and how cargo is run on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;

/// The folder of the root manifest.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// A cargo command in the workspace's folder.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = trawl_guest_build::cargo("cargo");
    command.current_dir(root()).args(arguments);
    command
}

/// A cargo command whose compiler also lints: crates of the workspace are compiled by
/// `clippy-driver`, so that one build gives the lints and the code that the tests run.
///
/// # Errors
/// The driver cannot be found.
pub(crate) fn linting_cargo(arguments: &[&str]) -> anyhow::Result<Command> {
    let mut command = cargo(arguments);
    command
        .env("RUSTC_WORKSPACE_WRAPPER", clippy_driver()?)
        .env("CLIPPY_ARGS", DENY_WARNINGS);
    Ok(command)
}

/// What `cargo clippy -- --deny warnings` hands to the driver.
const DENY_WARNINGS: &str = "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// Clippy's compiler of the toolchain in use.
fn clippy_driver() -> anyhow::Result<PathBuf> {
    let mut rustc = trawl_guest_build::cargo("rustc");
    let output = rustc
        .current_dir(root())
        .args(["--print", "sysroot"])
        .output()
        .context("cannot start rustc")?;
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let driver = Path::new(&sysroot).join("bin/clippy-driver");
    if !driver.is_file() {
        bail!("`clippy-driver` is missing: run `rustup component add clippy`");
    }
    Ok(driver)
}

/// Runs a command to its end; its output goes where ours goes.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let line = in_words(command);
    let status = command
        .status()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// The command as a person would type it.
pub(crate) fn in_words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// What the chores need of `cargo metadata`.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
}

/// A package of the workspace or of a registry.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

/// What a package depends on, as its manifest states it.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for an ordinary dependency, otherwise `dev` or `build`.
    pub(crate) kind: Option<String>,
}

impl Metadata {
    /// Reads it; `arguments` choose how much (`--no-deps` for the workspace alone).
    pub(crate) fn read(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut command = cargo(&["metadata", "--format-version", "1"]);
        let output = command
            .args(arguments)
            .output()
            .context("cannot start cargo")?;
        if !output.status.success() {
            bail!(
                "`{}` failed: {}",
                in_words(&command),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        serde_json::from_slice(&output.stdout).context("cargo's metadata has another form")
    }

    /// The members of the workspace.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| self.workspace_members.contains(&package.id))
    }
}
