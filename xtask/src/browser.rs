//! The browser that renders pages: Debian's Chromium, installed when it is missing and this is
//! root, otherwise named.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::bail;
use trawl_guest_build::{Exit, run_within};

/// Names of browsers that the server looks for, in its order.
const NAMES: [&str; 5] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];
/// How long apt may take to read its lists, and to fetch and unpack some 100 MB.
pub(crate) const UPDATE_LIMIT: Duration = Duration::from_secs(60);
pub(crate) const INSTALL_LIMIT: Duration = Duration::from_secs(300);
/// Where nothing is reachable, apt is to find out soon.
const IMPATIENT: [&str; 4] = [
    "-o",
    "Acquire::http::Timeout=15",
    "-o",
    "Acquire::Retries=1",
];
/// Debian's packages, the better one first: the shell has no desktop's windows and needs a quarter
/// of the CPU time.
const PACKAGES: [&str; 2] = ["chromium-headless-shell", "chromium"];
const ASK: &str =
    "run `sudo apt-get install chromium-headless-shell`, or name a browser in TRAWL_BROWSER";

/// Sees to it that there is a browser. Without one everything else works, so that nothing here is
/// an error.
pub(crate) fn ensure() {
    if is_there() {
        return;
    }
    if !is_root() {
        eprintln!("browser: there is none, so pages are not rendered; {ASK}");
        return;
    }
    eprintln!("browser: apt-get install {}", PACKAGES[0]);
    // What apt knows already may do when its lists cannot be renewed.
    let mut tried = apt(&["update", "--quiet", "--quiet"], UPDATE_LIMIT);
    for package in PACKAGES {
        if is_there() {
            return;
        }
        tried = apt(
            &["install", "--yes", "--no-install-recommends", package],
            INSTALL_LIMIT,
        );
    }
    if let Err(error) = tried {
        eprintln!("browser: {error:#}; pages are not rendered until there is one: {ASK}");
    }
}

/// Runs apt.
pub(crate) fn apt(arguments: &[&str], limit: Duration) -> anyhow::Result<()> {
    let mut apt = Command::new("apt-get");
    apt.args(IMPATIENT)
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    match run_within(&mut apt, limit)? {
        Exit::Success(_) => Ok(()),
        Exit::Failure(reason) => bail!("`apt-get {}` failed: {reason}", arguments[0]),
        Exit::Timeout => bail!("`apt-get {}` took too long", arguments[0]),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what the shell says is what the server will see"
)]
fn is_there() -> bool {
    if std::env::var_os("TRAWL_BROWSER").is_some_and(|path| Path::new(&path).is_file()) {
        return true;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| NAMES.iter().any(|name| folder.join(name).is_file()))
}

/// proc(5): the folder of a process belongs to who runs it.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
