//! What `GET /plugins` tells: the effective generation, and why the last reload failed if it did.

use serde::Serialize;

use super::generation::Registry;
use crate::info::PluginInfo;
use crate::load::loaded::Loaded;

/// The loaded plugins and how they are doing.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Which reload is in effect, from 1.
    pub generation: u64,
    /// Every plugin, in the order of the manifest.
    pub plugins: Vec<PluginStatus>,
    /// Why the files as they are now are not in effect; absent when they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ReloadFailure>,
}

/// One plugin and its calls since it was loaded.
#[derive(Clone, Debug, Serialize)]
pub struct PluginStatus {
    /// What is known of it.
    #[serde(flatten)]
    pub info: PluginInfo,
    /// Calls, whatever came of them.
    pub calls: u64,
    /// Calls that the plugin answered with a failure.
    pub failures: u64,
    /// Calls in which it misbehaved: traps, limits exceeded, results that break the contract.
    pub traps: u64,
    /// Time of all calls in milliseconds.
    pub busy_ms: u64,
    /// Most memory of any call in bytes.
    pub memory_peak_bytes: u64,
}

/// A reload that failed; the generation before it stays in effect.
#[derive(Clone, Debug, Serialize)]
pub struct ReloadFailure {
    /// One sentence: which plugin, what was wanted, what was found, what to do.
    pub reason: String,
    /// When, in seconds since 1970.
    pub at: u64,
}

impl Status {
    pub(crate) fn of(registry: &Registry, last_error: Option<ReloadFailure>) -> Self {
        Self {
            generation: registry.generation(),
            plugins: registry
                .entries()
                .iter()
                .map(|(_, loaded)| plugin_status(loaded))
                .collect(),
            last_error,
        }
    }
}

fn plugin_status(loaded: &Loaded) -> PluginStatus {
    let counts = loaded.core().counts();
    PluginStatus {
        info: loaded.info().clone(),
        calls: counts.calls,
        failures: counts.failures,
        traps: counts.traps,
        busy_ms: u64::try_from(counts.busy.as_millis()).unwrap_or(u64::MAX),
        memory_peak_bytes: counts.memory_peak,
    }
}
