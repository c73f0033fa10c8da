//! `trawl plugin check`: inspects a component and calls it once.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;

use trawl_plugins::{Inspection, SampleCall};

use super::crate_dir;

pub(super) fn run(
    file: &Path,
    json: bool,
    cache_dir: Option<PathBuf>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let inspection = trawl_plugins::inspect(file, &crate_dir::cache(cache_dir)?)?;
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(&inspection)?)?;
    } else {
        print(&inspection, out)?;
    }
    match &inspection.sample.failure {
        Some(failure) => bail!("the sample call failed: {failure}"),
        None => Ok(()),
    }
}

fn print(inspection: &Inspection, out: &mut dyn Write) -> anyhow::Result<()> {
    let info = &inspection.info;
    writeln!(
        out,
        "{} `{}` {}: {}",
        info.kind.name(),
        info.plugin,
        info.version,
        info.summary
    )?;
    writeln!(out, "contract  {}", info.contract)?;
    writeln!(out, "size      {} bytes", info.size_bytes)?;
    writeln!(out, "blake3    {}", info.hash)?;
    writeln!(out, "options   {}", info.options_schema)?;
    writeln!(out, "limits    {}", serde_json::to_string(&info.limits)?)?;
    // Imports from `trawl:` packages are types only, without functions to call.
    let names = inspection.imports.iter().map(String::as_str);
    let imports: Vec<&str> = names.filter(|name| !name.starts_with("trawl:")).collect();
    let none = if imports.is_empty() { "none" } else { "" };
    writeln!(out, "imports   {none}{}", imports.join(", "))?;
    let SampleCall {
        failure,
        micros,
        memory_peak_bytes,
    } = &inspection.sample;
    let result = if failure.is_none() { "ok" } else { "failed" };
    writeln!(
        out,
        "call      {result}, {micros} µs, {} KiB of memory",
        memory_peak_bytes / 1024
    )?;
    Ok(())
}
