//! `trawl provider list`: the configured providers.

use trawl_engine::providers::{PooledKeys, ProviderStatus, listed};

use crate::app;
use crate::cli::engine_args::EngineArgs;
use crate::cli::standard_output::print;

pub(super) fn run(engine: &EngineArgs, json: bool) -> anyhow::Result<()> {
    let (config, manifest) = engine.load()?;
    let keys: PooledKeys = app::pooled_keys(&config)?;
    let providers: Vec<ProviderStatus> = listed(&*super::plugins(manifest)?, &keys);
    if json {
        return print(&serde_json::to_string_pretty(&providers)?);
    }
    if providers.is_empty() {
        return print("no providers: add `[[provider]]` entries to plugins.toml");
    }
    let lines: Vec<String> = providers.iter().map(line).collect();
    print(&lines.join("\n"))
}

fn line(provider: &ProviderStatus) -> String {
    let pooled = match (provider.grant.pooled, provider.has_pooled_credentials) {
        (true, true) => "pooled credentials set",
        (true, false) => "no pooled credentials",
        (false, _) => "client keys only",
    };
    format!(
        "{:<12} {:<34} {:<42} {pooled}",
        provider.name,
        provider.label,
        provider.grant.credentials.join(" "),
    )
}
