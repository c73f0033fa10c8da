//! Looks for the tools that some tests need. A test whose tool is missing is compiled as ignored,
//! with the reason, because the test runner cannot mark a test as ignored while it runs.
//!
//! - `no_browser`: there is no browser. Otherwise `TRAWL_TEST_BROWSER` is its path.
//! - `no_mount`: this user may not mount a file system.
//! - `no_apps`: `cargo xtask apps` has not built the JavaScript applications of `tests/apps`.
//! - `no_clients`: `cargo xtask clients` has not installed the tools that read the OpenAPI
//!   document.
//! - `no_judges`: `cargo xtask judges` has not installed the programs and the data that the server
//!   is held against.
//! - `no_moto`: Python lacks `moto` with its server, a server of S3.
//! - `no_postgres`: there is no PostgreSQL. Otherwise `TRAWL_TEST_POSTGRES` is the folder of its
//!   programs.

#[path = "postgres/find.rs"]
mod postgres;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// File names of browsers, best first: the names and the order of the server's own search.
const BROWSERS: [&str; 5] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Where `cargo xtask apps` puts the applications, relative to this crate.
const APPS: &str = "../target/apps";

/// The note of `cargo xtask clients` that its tools are installed, relative to this crate.
const CLIENTS: &str = "../target/clients/ready";

/// The note of `cargo xtask judges` that they are installed, relative to this crate.
const JUDGES: &str = "../target/conformance/ready";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    find_browser();
    find_apps();
    find_clients();
    find_judges();
    println!("cargo::rerun-if-changed=postgres/find.rs");
    postgres::find();
    find_moto();
    try_mount();
}

fn find_browser() {
    println!("cargo::rustc-check-cfg=cfg(no_browser)");
    let path = variable("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    // The server's own setting. As in the server, a wrong path is not replaced by a search.
    let browser = match variable("TRAWL_BROWSER") {
        Some(browser) => Some(PathBuf::from(browser)).filter(|browser| browser.is_file()),
        None => search(&folders),
    };
    if let Some(browser) = browser {
        println!("cargo::rustc-env=TRAWL_TEST_BROWSER={}", browser.display());
        watch(&browser);
        return;
    }
    println!("cargo::rustc-cfg=no_browser");
    // While a watched file is missing, cargo runs this script and compiles the tests at every
    // build. It watches the search path instead, which changes when a browser is installed.
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        watch(folder);
    }
}

/// The first browser of the search path.
fn search(folders: &[PathBuf]) -> Option<PathBuf> {
    let candidates = BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    candidates.into_iter().find(|path| path.is_file())
}

fn find_apps() {
    println!("cargo::rustc-check-cfg=cfg(no_apps)");
    let apps = Path::new(APPS);
    if !apps.is_dir() {
        println!("cargo::rustc-cfg=no_apps");
    }
    watch(apps);
}

fn find_clients() {
    println!("cargo::rustc-check-cfg=cfg(no_clients)");
    let ready = Path::new(CLIENTS);
    if !ready.is_file() {
        println!("cargo::rustc-cfg=no_clients");
    }
    watch(ready);
}

fn find_judges() {
    println!("cargo::rustc-check-cfg=cfg(no_judges)");
    let ready = Path::new(JUDGES);
    if !ready.is_file() {
        println!("cargo::rustc-cfg=no_judges");
    }
    watch(ready);
}

fn find_moto() {
    println!("cargo::rustc-check-cfg=cfg(no_moto)");
    let import = ["-c", "import moto.server, flask_cors"];
    let found = Command::new("python3").args(import).output();
    if !found.is_ok_and(|found| found.status.success()) {
        println!("cargo::rustc-cfg=no_moto");
    }
}

/// Mounts a small file system in memory for a moment.
fn try_mount() {
    println!("cargo::rustc-check-cfg=cfg(no_mount)");
    let folder = PathBuf::from(variable("OUT_DIR").unwrap_or_default()).join("mount");
    let is_done = |command: &mut Command| command.output().is_ok_and(|done| done.status.success());
    let tmpfs = ["-t", "tmpfs", "-o", "size=1m", "tmpfs"];
    let may_mount = fs::create_dir_all(&folder).is_ok()
        && is_done(Command::new("mount").args(tmpfs).arg(&folder))
        && is_done(Command::new("umount").arg(&folder));
    if !may_mount {
        println!("cargo::rustc-cfg=no_mount");
    }
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
