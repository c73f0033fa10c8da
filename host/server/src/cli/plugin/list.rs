//! `trawl plugin list`: the active plugins of the running server, or the plugins of a manifest.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use trawl_control::{Operator, Reply, Request};
use trawl_plugins::{Plugins, PluginsConfig};

use super::crate_dir;
use crate::app::report_compiling;
use crate::cli::environment::plugins_file;
use crate::cli::runtime::runtime;

/// Where to find the plugins.
pub(super) struct ListSource {
    /// A manifest to load even if a server is running.
    pub(super) manifest: Option<PathBuf>,
    /// The data directory of the server.
    pub(super) data: PathBuf,
    /// Cache directory of compiled code.
    pub(super) cache_dir: Option<PathBuf>,
}

pub(super) fn run(source: ListSource, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let running = match &source.manifest {
        Some(_) => None,
        None => runtime()?.block_on(server_status(&source.data))?,
    };
    let status = match running {
        Some(status) => status,
        None => manifest_status(source)?,
    };
    if let Some(reason) = status["last_error"]["reason"].as_str() {
        trawl_telemetry::say(format_args!(
            "the last reload failed, the previous plugins stay active: {reason}"
        ));
    }
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(&status["plugins"])?)?;
        return Ok(());
    }
    print(status["plugins"].as_array().map_or(&[], Vec::as_slice), out)
}

/// The status of the server that uses this data directory; `None` if none is running.
async fn server_status(data: &Path) -> anyhow::Result<Option<Value>> {
    let Some(mut server) = Operator::connect(data).await else {
        return Ok(None);
    };
    match server.ask(Request::Plugins {}).await? {
        Reply::Plugins(status) => Ok(Some(status)),
        reply => anyhow::bail!("unexpected reply from the server: {reply:?}"),
    }
}

/// Loads the manifest as the server does.
fn manifest_status(source: ListSource) -> anyhow::Result<Value> {
    let config = PluginsConfig {
        manifest: plugins_file(source.manifest)?,
        cache_dir: crate_dir::cache(source.cache_dir)?,
    };
    Ok(serde_json::to_value(
        Plugins::start_reporting(config, report_compiling)?.status(),
    )?)
}

fn print(plugins: &[Value], out: &mut dyn Write) -> anyhow::Result<()> {
    if plugins.is_empty() {
        writeln!(out, "no plugins")?;
    }
    for plugin in plugins {
        let text = |field: &str| plugin[field].as_str().unwrap_or_default();
        let size = plugin["size_bytes"]
            .as_u64()
            .unwrap_or_default()
            .div_ceil(1024);
        writeln!(
            out,
            "{:<10} {:<20} {:<8} {size:>6} KiB  {:<8} {}",
            text("kind"),
            text("name"),
            text("version"),
            text("source"),
            text("summary")
        )?;
    }
    Ok(())
}
