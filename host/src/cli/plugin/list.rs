//! `trawl plugin list`: what a manifest gives, loaded as the server loads it.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::crate_dir;
use crate::plugins::{Plugins, PluginsConfig, Status};

pub(super) fn run(
    manifest: &Path,
    json: bool,
    cache_dir: Option<PathBuf>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let config = PluginsConfig {
        manifest: manifest.to_path_buf(),
        cache_dir: crate_dir::cache(cache_dir)?,
    };
    let status = Plugins::start(config)?.status();
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(&status.plugins)?)?;
        return Ok(());
    }
    tell(&status, out)
}

fn tell(status: &Status, out: &mut dyn Write) -> anyhow::Result<()> {
    if status.plugins.is_empty() {
        writeln!(out, "no plugins")?;
    }
    for plugin in &status.plugins {
        let info = &plugin.info;
        let size = info.size_bytes.div_ceil(1024);
        writeln!(
            out,
            "{:<10} {:<20} {:<8} {size:>6} KiB  {}",
            info.kind.name(),
            info.name,
            info.version,
            info.summary
        )?;
    }
    Ok(())
}
