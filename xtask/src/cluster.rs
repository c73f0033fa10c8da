//! Three servers on one database, on loopback: to try, and to let faults happen to.

use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::host::{self, Profile};
use crate::{postgres, workspace};

/// The package with the programs below, and those.
const PACKAGE: &str = "trawl-test-cluster";
const LOCAL: &str = "local_cluster";
const CHAOS: &str = "chaos";
/// Where the tests cache compiled plugins.
const COMPILED: &str = "target/tmp/compiled-plugins";
/// The server's package and program.
const SERVER: &str = "trawl";

/// Starts the cluster and keeps it until Enter is pressed.
///
/// # Errors
/// Something does not compile or start.
pub(crate) fn local() -> anyhow::Result<()> {
    let mut command = program(LOCAL)?;
    command.args(postgres_folder());
    workspace::run(&mut command)
}

/// Lets faults happen to a cluster for so many minutes. Without a seed, the time is one.
///
/// # Errors
/// The cluster was wrong, or something does not compile or start.
pub(crate) fn chaos(minutes: u64, seed: Option<u64>) -> anyhow::Result<()> {
    let mut command = program(CHAOS)?;
    command
        .arg(minutes.to_string())
        .arg(seed.unwrap_or_else(time_seed).to_string())
        .args(postgres_folder());
    workspace::run(&mut command)
}

/// A program of the package, built with the server and the plugins, with its first arguments.
fn program(name: &str) -> anyhow::Result<Command> {
    postgres::ensure();
    host::beside_plugins(|| Profile::Dev.build(&[SERVER, PACKAGE]))?;
    let mut command = Command::new(Profile::Dev.program(name));
    command
        .current_dir(workspace::root())
        .arg(Profile::Dev.program(SERVER))
        .arg(workspace::root().join("plugins.toml"))
        .arg(workspace::root().join(COMPILED));
    Ok(command)
}

/// The folder of PostgreSQL's programs, when the shell names one.
#[expect(
    clippy::disallowed_methods,
    reason = "what the shell says is what the tests see"
)]
fn postgres_folder() -> Option<PathBuf> {
    std::env::var_os("TRAWL_POSTGRES").map(PathBuf::from)
}

#[expect(
    clippy::disallowed_methods,
    reason = "any number does, and it is printed"
)]
fn time_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
