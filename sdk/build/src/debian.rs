//! The last resort: Debian's Rust packages with the standard library's source, installed next to
//! any other toolchain.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::command::{Exit, run_within};

/// Packages of one Rust version for WebAssembly: compiler, cargo, standard library source, and lld.
pub(crate) const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-llvm"];

/// Time limit for the installation, which downloads about 150 MB.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);

/// Installs [`PACKAGES`] or returns the reason why not. Never removes an installed package.
pub(crate) fn install(progress: &mut dyn FnMut(&str)) -> Result<(), String> {
    if !Path::new("/etc/debian_version").exists() {
        return Err("this machine does not run Debian".to_owned());
    }
    if !is_root() {
        return Err("installing Debian's packages needs root".to_owned());
    }
    progress(&format!("installing {} with apt-get", PACKAGES.join(" ")));
    if apt_get(&install_arguments()).is_ok() {
        return Ok(());
    }
    progress("updating the package lists with apt-get, then retrying");
    apt_get(&["update", "-q"])?;
    apt_get(&install_arguments())
}

fn install_arguments() -> Vec<&'static str> {
    let mut arguments = vec![
        "install",
        "-y",
        "-q",
        "--no-install-recommends",
        "--no-remove",
    ];
    arguments.extend(PACKAGES);
    arguments
}

fn apt_get(arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new("apt-get");
    command
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    match run_within(&mut command, INSTALL_LIMIT) {
        Ok(Exit::Success(_)) => Ok(()),
        Ok(Exit::Failure(line)) => Err(format!("apt-get {}: {line}", arguments[0])),
        Ok(Exit::Timeout) => Err(format!("apt-get {} timed out", arguments[0])),
        Err(error) => Err(error.to_string()),
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
