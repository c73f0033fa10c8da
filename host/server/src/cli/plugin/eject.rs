//! `trawl plugin eject`: the bundled manifest and its components as files.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use trawl_plugins::Bundle;

pub(super) fn run(dir: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let bundle = Bundle::own()?.context(
        "this program has no bundled plugins to write: `cargo xtask dist` writes one that has to `target/release/bundle/trawl`",
    )?;
    let files = trawl_plugins::eject(&bundle, dir)?;
    for file in &files {
        writeln!(out, "wrote {}", file.display())?;
    }
    writeln!(
        out,
        "\nA server that starts in this folder loads these plugins; elsewhere give `--plugins {}`.",
        dir.join("plugins.toml").display()
    )?;
    Ok(())
}
