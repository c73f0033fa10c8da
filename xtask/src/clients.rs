//! Tools that read the OpenAPI document, installed into `target/clients` for the tests of the
//! interface: validators, generators of clients for Python and TypeScript, and Schemathesis; the
//! official clients of the Model Context Protocol, the packages that verify the signatures of
//! requests, and axe-core, which looks for what keeps people out of the console.

use crate::python::{self, ENVIRONMENT, REQUIREMENTS};
use crate::workshop::{self, NPM_MANIFESTS, NPM_PACKAGES, Sources, Workshop};

/// Notes from which manifests the tools were installed. The tests' build script looks for it.
const READY: &str = "ready";

/// Installs the tools, unless `target/clients` is up to date.
pub(crate) fn install() -> anyhow::Result<()> {
    const LASTING: [&str; 3] = [NPM_PACKAGES, ENVIRONMENT, READY];
    let workshop = Workshop::new("tests/clients", "target/clients", &LASTING);
    let manifests = [&NPM_MANIFESTS[..], &[REQUIREMENTS]].concat();
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
    workshop.note(READY, &made_from)
}
