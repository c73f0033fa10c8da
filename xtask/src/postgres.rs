//! PostgreSQL, which the tests of its store run servers of: Debian's package, installed when it is
//! missing and this is root, otherwise named.

use std::path::Path;

use crate::browser::{INSTALL_LIMIT, UPDATE_LIMIT, apt, is_root};

/// Where Debian has the programs of each version: `15/bin`.
const VERSIONS: &str = "/usr/lib/postgresql";
/// Debian's package, which brings the programs and the user `postgres`.
const PACKAGE: &str = "postgresql";
const ASK: &str =
    "run `sudo apt-get install postgresql`, or name the folder of `postgres` in TRAWL_POSTGRES";

/// Sees to it that there is a server to test with. Without one everything else works, so that
/// nothing here is an error.
pub(crate) fn ensure() {
    if is_there() {
        return;
    }
    if !is_root() {
        eprintln!("postgres: there is none, so its store is not tested; {ASK}");
        return;
    }
    eprintln!("postgres: apt-get install {PACKAGE}");
    // What apt knows already may do when its lists cannot be renewed.
    let updated = apt(&["update", "--quiet", "--quiet"], UPDATE_LIMIT);
    let install = ["install", "--yes", "--no-install-recommends", PACKAGE];
    if let Err(error) = apt(&install, INSTALL_LIMIT) {
        eprintln!("postgres: {error:#}; its store is not tested until there is one: {ASK}");
        if let Err(error) = updated {
            eprintln!("postgres: before that, {error:#}");
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what the shell says is what the build of the tests will see"
)]
fn is_there() -> bool {
    if let Some(folder) = std::env::var_os("TRAWL_POSTGRES") {
        return Path::new(&folder).join("postgres").is_file();
    }
    let versions = std::fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let mut programs = versions.map(|version| version.path().join("bin/postgres"));
    programs.any(|program| program.is_file())
}
