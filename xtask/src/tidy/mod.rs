//! The rules that no compiler checks. Each check takes a folder and gives sentences, one a
//! violation.

mod citations;
mod cycles;
mod dependencies;
mod files;
pub(crate) mod frozen;
mod layers;
mod map;
mod members;
mod table;

use anyhow::{Context, bail};

use crate::workspace::{self, Metadata};

/// Runs all checks and prints every violation.
pub(crate) fn run() -> anyhow::Result<()> {
    let root = workspace::root();
    let architecture = std::fs::read_to_string(root.join("ARCHITECTURE.md"))
        .context("cannot read `ARCHITECTURE.md`")?;
    let deny =
        std::fs::read_to_string(root.join("deny.toml")).context("cannot read `deny.toml`")?;
    let host = root.join("host");
    let workspace = Metadata::read(&["--no-deps"])?;
    let mut violations = layers::check(&workspace, &host, &architecture)?;
    violations.extend(map::check(&root, &architecture));
    violations.extend(cycles::check(&root)?);
    violations.extend(frozen::check(&root.join("wit"))?);
    violations.extend(files::check(&root)?);
    violations.extend(citations::check(&root)?);
    violations.extend(members::check(&workspace)?);
    let platform = ["--filter-platform", "x86_64-unknown-linux-gnu"];
    violations.extend(dependencies::check(&Metadata::read(&platform)?, &deny)?);
    for violation in &violations {
        eprintln!("tidy: {violation}");
    }
    if !violations.is_empty() {
        bail!(
            "tidy found {} violations, each named above",
            violations.len()
        );
    }
    eprintln!("tidy: no violations");
    Ok(())
}
