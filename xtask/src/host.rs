//! The server: built, served, measured.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::anyhow;

use crate::{browser, guests, workspace};

/// Builds the server.
///
/// The whole workspace is named, so that every crate is compiled with the features the tests use too, once.
pub(crate) fn build(release: bool) -> anyhow::Result<()> {
    let mut command = workspace::cargo(&["build", "--workspace", "--bins"]);
    if release {
        command.arg("--release");
    }
    workspace::run(&mut command)
}

/// Builds the server that the tests start, without optimising it.
pub(crate) fn build_quickly() -> anyhow::Result<()> {
    workspace::run(&mut workspace::quick_cargo(&[
        "build",
        "--release",
        "--workspace",
        "--bins",
    ]))
}

/// Builds plugins and server, then becomes the server: signals and the exit status are its own.
pub(crate) fn serve(arguments: &[String]) -> anyhow::Result<()> {
    browser::ensure();
    guests::build(None)?;
    build(true)?;
    let root = workspace::root();
    let mut command = Command::new(root.join("target/release/trawl"));
    command
        .current_dir(root)
        .args(["serve", "--data", "data", "--plugins", "plugins.toml"])
        .args(arguments);
    let error = command.exec();
    Err(anyhow!(error).context(format!("cannot start `{}`", workspace::in_words(&command))))
}

/// Runs the benchmark program; it prints its own table.
pub(crate) fn bench(arguments: &[String]) -> anyhow::Result<()> {
    guests::build(None)?;
    build(true)?;
    let root = workspace::root();
    workspace::run(
        Command::new(root.join("target/release/trawl-bench"))
            .current_dir(root)
            .args(arguments),
    )
}
