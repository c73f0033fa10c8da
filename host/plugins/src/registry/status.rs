//! The payload of `GET /plugins`: the generation in effect, and why the last reload failed.

use serde::Serialize;

use trawl_model::clock::Clock;

use super::generation::Registry;
use crate::info::PluginInfo;
use crate::load::loaded::Loaded;

/// The loaded plugins and their counters.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Which reload is in effect, from 1.
    pub generation: u64,
    /// Every plugin, in the order of the manifest.
    pub plugins: Vec<PluginStatus>,
    /// Why the current files are not in effect; absent when they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ReloadFailure>,
}

/// One plugin and its calls since it was loaded.
#[derive(Clone, Debug, Serialize)]
pub struct PluginStatus {
    /// Its description and limits.
    #[serde(flatten)]
    pub info: PluginInfo,
    /// All calls.
    pub calls: u64,
    /// Calls that returned a failure.
    pub failures: u64,
    /// Calls in which it misbehaved: traps, exceeded limits, results that violate the contract.
    pub traps: u64,
    /// Total time of all calls in milliseconds; most calls take a fraction of one.
    pub busy_ms: f64,
    /// Highest memory peak of a call in bytes.
    pub memory_peak_bytes: u64,
}

/// A failed reload; the previous generation stays in effect.
#[derive(Clone, Debug, Serialize)]
pub struct ReloadFailure {
    /// One sentence: which plugin, what was expected, what was found, what to do.
    pub reason: String,
    /// Unix time in seconds.
    pub at: u64,
    /// The same time in RFC 3339.
    pub time: String,
}

impl ReloadFailure {
    /// A failure of this moment.
    pub(crate) fn now(reason: String) -> Self {
        let now = Clock::wall().now();
        Self {
            reason,
            at: u64::try_from(now.unix_seconds()).unwrap_or(0),
            time: now.to_string(),
        }
    }
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
        busy_ms: counts.busy.as_secs_f64() * 1_000.0,
        memory_peak_bytes: counts.memory_peak,
    }
}
