//! `trawl plugin embed`: a copy of this program that carries plugins.

use std::io::Write;
use std::path::Path;

use anyhow::Context;

pub(super) fn run(manifest: &Path, output: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("the running program has no path")?;
    let progress = |line: &str| trawl_telemetry::say(format_args!("embed: {line}"));
    let embedded = trawl_plugins::embed(&program, manifest, output, &progress)?;
    writeln!(
        out,
        "wrote {} with {} components, {} KiB",
        output.display(),
        embedded.components,
        embedded.bytes.div_ceil(1024)
    )?;
    Ok(())
}
