//! What all kinds of plugins share on the host's side: validation of options, limits on input and
//! output, counters.

use std::time::Duration;

use serde_json::Value;

use super::stats::{Counts, Ending, Stats};
use crate::error::{Fault, PluginError};
use crate::info::PluginInfo;

/// A loaded plugin, whatever its kind.
pub(crate) struct Core {
    pub(crate) info: PluginInfo,
    schema: jsonschema::Validator,
    stats: Stats,
}

/// The outcome of a call and what it consumed.
pub(crate) struct Measured<R> {
    pub(crate) result: Result<R, Fault>,
    /// Wall-clock time, from instantiation to result.
    pub(crate) elapsed: Duration,
    /// Peak of linear memory in bytes; 0 for native plugins.
    pub(crate) memory_peak: u64,
}

impl Core {
    /// A plugin with this description, whose options are validated against `schema`.
    pub(crate) fn new(info: PluginInfo, schema: jsonschema::Validator) -> Self {
        let stats = Stats::new(info.kind, &info.name);
        Self {
            info,
            schema,
            stats,
        }
    }

    /// Checks options against the plugin's schema.
    ///
    /// # Errors
    /// A message with the JSON Pointer into the options and what is wrong there.
    pub(crate) fn check_options(&self, options: &Value) -> Result<(), String> {
        self.schema.validate(options).map_err(|error| {
            let place = error.instance_path().to_string();
            if place.is_empty() {
                error.to_string()
            } else {
                format!("`{place}`: {error}")
            }
        })
    }

    /// Makes one call that copies `input_bytes` to the plugin, checks its result and counts it.
    pub(crate) fn run<R, T>(
        &self,
        input_bytes: u64,
        call: impl FnOnce() -> Measured<R>,
        check: impl FnOnce(R) -> Result<T, Fault>,
    ) -> Result<T, PluginError> {
        if input_bytes > self.info.limits.input_bytes() {
            return Err(self.error(Fault::InputTooLarge {
                used_bytes: input_bytes,
                allowed_mib: self.info.limits.input_mib,
            }));
        }
        let Measured {
            result,
            elapsed,
            memory_peak,
        } = call();
        let checked = result.and_then(check);
        let ending = match &checked {
            Ok(_) => Ending::Good,
            Err(fault) if fault.is_trap() => Ending::Trapped,
            Err(_) => Ending::Failed,
        };
        self.stats.count(ending, elapsed, memory_peak);
        checked.map_err(|fault| self.error(fault))
    }

    /// Refuses a result larger than the limit.
    pub(crate) fn check_output(&self, bytes: usize) -> Result<(), Fault> {
        if bytes as u64 <= self.info.limits.output_bytes() {
            return Ok(());
        }
        Err(Fault::OutputTooLarge {
            used_bytes: Some(bytes as u64),
            allowed_mib: self.info.limits.output_mib,
        })
    }

    /// Current values of the counters.
    pub(crate) fn counts(&self) -> Counts {
        self.stats.counts()
    }

    fn error(&self, fault: Fault) -> PluginError {
        PluginError {
            kind: self.info.kind,
            plugin: self.info.name.clone(),
            fault,
        }
    }
}
