//! The server: built, served, measured, packed into one file.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, anyhow};

use crate::{browser, console, documents, guests, postgres, workspace};

/// How the server is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// For everyday work: optimised where it matters, compiled quickly.
    Dev,
    /// For shipping and measuring: everything optimised, across crates.
    Release,
}

impl Profile {
    /// Name of the profile in `Cargo.toml`.
    const fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Release => "release",
        }
    }

    /// Its folder below `target`.
    const fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
        }
    }

    /// Path of a program of this profile.
    pub(crate) fn program(self, name: &str) -> PathBuf {
        workspace::root()
            .join("target")
            .join(self.folder())
            .join(name)
    }

    /// Builds the programs of these packages.
    pub(crate) fn build(self, packages: &[&str]) -> anyhow::Result<()> {
        let mut command = workspace::cargo(&["build", "--bins", "--profile", self.name()]);
        for package in packages {
            command.args(["--package", package]);
        }
        workspace::run(&mut command)
    }
}

/// The package with the server's program.
const SERVER: &str = "trawl";

/// The data directory of a server that is started here.
const DATA: &str = "data";

/// Builds plugins and server side by side: neither keeps two cores busy to its end.
pub(crate) fn build(profile: Profile) -> anyhow::Result<()> {
    beside_plugins(|| profile.build(&[SERVER]))
}

/// Runs `work` while the plugins are built.
///
/// # Errors
/// What failed first.
pub(crate) fn beside_plugins(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let plugins = thread::spawn(|| guests::build(None));
    let worked = work();
    let built = plugins
        .join()
        .map_err(|_| anyhow!("the build of the plugins panicked"))?;
    worked.and(built)
}

/// Builds plugins and server, then becomes the server: signals and the exit status are its own.
pub(crate) fn serve(arguments: &[String]) -> anyhow::Result<()> {
    browser::ensure();
    build(Profile::Dev)?;
    let server = Profile::Dev.program(SERVER);
    // The server serves without it, too.
    if let Err(error) = console::print_link(&server, DATA, arguments) {
        eprintln!("serve: there is no link to the console: {error:#}");
    }
    let mut command = Command::new(server);
    command
        .current_dir(workspace::root())
        .args(["serve", "--data", DATA, "--plugins", "plugins.toml"])
        .args(arguments);
    let error = command.exec();
    Err(anyhow!(error).context(format!("cannot start `{}`", workspace::in_words(&command))))
}

/// Builds the server as it is shipped and packs the plugins into it. Returns the file.
pub(crate) fn dist() -> anyhow::Result<PathBuf> {
    build(Profile::Release)?;
    let file = workspace::root().join("target/release/bundle/trawl");
    pack(&Profile::Release.program(SERVER), &file)?;
    let bytes = std::fs::metadata(&file)?.len();
    eprintln!(
        "dist: target/release/bundle/trawl ({} MiB) serves without any other file",
        bytes.div_ceil(1 << 20)
    );
    Ok(file)
}

/// Writes a copy of `server` with the plugins of `plugins.toml` and their compiled form inside.
pub(crate) fn pack(server: &Path, file: &Path) -> anyhow::Result<()> {
    let folder = file.parent().context("the file has no folder")?;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create `{}`", folder.display()))?;
    let mut command = Command::new(server);
    command
        .current_dir(workspace::root())
        .args(["plugin", "embed", "--plugins", "plugins.toml", "--output"])
        .arg(file);
    workspace::run(&mut command)
}

/// Runs the benchmark program on the server as it is shipped; it prints its own tables.
pub(crate) fn bench(arguments: &[String]) -> anyhow::Result<()> {
    // Only where they are asked for by name: the documents are a gigabyte.
    if arguments.iter().any(|argument| argument == "documents") {
        documents::install()?;
    }
    if arguments.iter().any(|argument| argument == "cluster") {
        postgres::ensure();
    }
    beside_plugins(|| Profile::Release.build(&[SERVER, "trawl-bench", "trawl-tests"]))?;
    workspace::run(
        Command::new(Profile::Release.program("trawl-bench"))
            .current_dir(workspace::root())
            .args(arguments),
    )
}
