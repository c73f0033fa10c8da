//! Pages made by JavaScript, built from `tests/apps` into `target/apps` for the tests and
//! benchmarks of the browser.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::workshop::{self, NPM_MANIFESTS, NPM_PACKAGES, Sources, Workshop};
use crate::workspace;

/// How long the build may take; it needs about two seconds.
const BUILD_LIMIT: Duration = Duration::from_secs(120);

/// Notes in the build folder from which sources the packages, and the pages, were made.
const INSTALLED: &str = "installed";
const BUILT: &str = "built";

/// Builds the pages, unless `target/apps` is up to date.
pub(crate) fn build() -> anyhow::Result<()> {
    const LASTING: [&str; 3] = [NPM_PACKAGES, INSTALLED, BUILT];
    let workshop = Workshop::new("tests/apps", "target/apps-build", &LASTING);
    let pages = workspace::root().join("target/apps");
    let sources = Sources::read(&workshop.sources)?;
    if workshop.has(&pages, BUILT, &sources.all()) {
        eprintln!("apps: target/apps is up to date");
        return Ok(());
    }
    let node = workshop::node()?;
    workshop.copy(&sources)?;
    let manifests = format!("{} {node}", sources.of(&NPM_MANIFESTS));
    if !workshop.has(&workshop.work.join(NPM_PACKAGES), INSTALLED, &manifests) {
        workshop.forget(INSTALLED)?;
        eprintln!("apps: npm ci");
        workshop.npm_ci()?;
        workshop.note(INSTALLED, &manifests)?;
    }
    workshop.forget(BUILT)?;
    let said = workshop.run("node", &["build.mjs", "out"], BUILD_LIMIT)?;
    publish(&workshop, &pages)?;
    workshop.note(BUILT, &sources.all())?;
    eprintln!("apps: target/apps ({})", said.trim());
    Ok(())
}

/// Replaces the pages by those just built.
fn publish(workshop: &Workshop, pages: &Path) -> anyhow::Result<()> {
    workshop::remove(pages)?;
    std::fs::rename(workshop.work.join("out"), pages)
        .context("cannot move the pages to their place")
}
