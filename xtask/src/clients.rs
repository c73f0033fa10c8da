//! Tools that read the OpenAPI document, installed into `target/clients` for the tests of the
//! interface: validators, generators of clients for Python and TypeScript, and Schemathesis; the
//! published clients of the interface for Python, JavaScript and Rust, the official clients of the
//! Model Context Protocol, the packages that verify the signatures of requests, and axe-core, which
//! looks for what keeps people out of the console.

use std::time::Duration;

use crate::python::{self, ENVIRONMENT, REQUIREMENTS};
use crate::workshop::{self, NPM_MANIFESTS, NPM_PACKAGES, Sources, Workshop};

/// Notes from which manifests the tools were installed. The tests' build script looks for it.
const READY: &str = "ready";
/// The program that uses the published client for Rust, and where Cargo builds it.
const RUST_CLIENT: [&str; 3] = [
    "search/Cargo.toml",
    "search/Cargo.lock",
    "search/src/main.rs",
];
const RUST_TARGET: &str = "rust";
/// How long Cargo may fetch and compile it: 200 packages on a slow machine.
const CARGO_LIMIT: Duration = Duration::from_secs(600);

/// Installs the tools, unless `target/clients` is up to date.
pub(crate) fn install() -> anyhow::Result<()> {
    const LASTING: [&str; 4] = [NPM_PACKAGES, ENVIRONMENT, RUST_TARGET, READY];
    let workshop = Workshop::new("tests/clients", "target/clients", &LASTING);
    let manifests = [&NPM_MANIFESTS[..], &[REQUIREMENTS], &RUST_CLIENT].concat();
    let sources = Sources::read(&workshop.sources)?.only(&manifests);
    let (node, python) = (workshop::node()?, python::version()?);
    let made_from = format!("{} {node} {python}", sources.all());
    if workshop.has(&workshop.work.join(ENVIRONMENT), READY, &made_from) {
        eprintln!("clients: target/clients is up to date");
        return Ok(());
    }
    workshop.copy(&sources)?;
    workshop.forget(READY)?;
    eprintln!("clients: npm ci");
    workshop.npm_ci()?;
    eprintln!("clients: pip install");
    python::install(&workshop)?;
    eprintln!("clients: cargo build");
    let [manifest, ..] = RUST_CLIENT;
    let build = ["build", "--locked", "--quiet", "--manifest-path", manifest];
    let build = [&build[..], &["--target-dir", RUST_TARGET]].concat();
    workshop.run("cargo", &build, CARGO_LIMIT)?;
    workshop.note(READY, &made_from)
}
