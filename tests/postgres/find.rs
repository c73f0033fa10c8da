//! Finds the programs of PostgreSQL, for build scripts: a test without them is compiled as ignored.
//!
//! - `no_postgres`: there are none. Otherwise `TRAWL_TEST_POSTGRES` is their folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Where Debian has the programs of each version: `15/bin`.
const VERSIONS: &str = "/usr/lib/postgresql";
/// Where Debian puts the commands of a version that it installs.
const COMMANDS: &str = "/usr/bin";

/// Tells the crate that is built where they are.
pub(crate) fn find() {
    println!("cargo::rustc-check-cfg=cfg(no_postgres)");
    let folder = match variable("TRAWL_POSTGRES") {
        // As everywhere, a wrong path is not replaced by a search.
        Some(folder) => Some(PathBuf::from(folder)).filter(|folder| has_programs(folder)),
        None => newest(),
    };
    let shown = folder.as_deref().unwrap_or(Path::new(""));
    println!("cargo::rustc-env=TRAWL_TEST_POSTGRES={}", shown.display());
    match &folder {
        Some(folder) => watch(&folder.join("postgres")),
        None => {
            println!("cargo::rustc-cfg=no_postgres");
            // A missing file would be taken for a changed one at every build.
            watch(Path::new(COMMANDS));
        }
    }
}

/// The programs of the newest version.
fn newest() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).ok()?.flatten();
    let found = versions.filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let folder = entry.path().join("bin");
        has_programs(&folder).then_some((version, folder))
    });
    found.max().map(|(_, folder)| folder)
}

fn has_programs(folder: &Path) -> bool {
    ["initdb", "postgres"]
        .iter()
        .all(|name| folder.join(name).is_file())
}

fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

#[expect(
    clippy::disallowed_methods,
    reason = "a build script gets its input from the environment"
)]
fn variable(name: &str) -> Option<OsString> {
    println!("cargo::rerun-if-env-changed={name}");
    env::var_os(name)
}
