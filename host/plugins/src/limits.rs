//! Limits: of one call, of components and manifests.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bytes in a mebibyte.
pub(crate) const MIB: u64 = 1 << 20;

/// Largest component file. Script engines compiled to WebAssembly have 10 to 40 MB.
pub(crate) const COMPONENT_BYTES_MAX: u64 = 64 << 20;
/// Most plugins in one manifest; each costs compiled code in memory.
pub(crate) const ENTRIES_MAX: usize = 256;

/// Memory of one call: a page of 10 MB of the smallest tags takes 100 MiB of arrays, and as much
/// again for work.
const MEMORY_MIB_DEFAULT: u64 = 256;
/// Most memory an operator can grant: half of what 32-bit WebAssembly can address, so that every
/// slot of the pool can have it.
pub(crate) const MEMORY_MIB_MAX: u64 = 2048;
/// Time of one call: twenty times what a 10 MB page takes in the slowest first-party plugin.
const TIME_MS_DEFAULT: u64 = 2000;
/// Most time an operator can grant: the time limit of a page.
const TIME_MS_MAX: u64 = 255_000;
/// Result of one call: some formats enlarge a page (escapes, absolute URLs), but not sixfold.
const OUTPUT_MIB_DEFAULT: u64 = 64;
/// Input of one call: the arrays of a 10 MB page, its source and its body.
const INPUT_MIB_DEFAULT: u64 = 128;
/// Most input or output an operator can grant: memory does not hold more.
const TRANSFER_MIB_MAX: u64 = 1024;

/// Limits of one call. `plugins.toml`: `limits = { memory_mib, time_ms, output_mib, input_mib }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Linear memory in mebibytes, 1 to 2048.
    pub memory_mib: u64,
    /// Wall-clock time in milliseconds, 1 to 255,000.
    pub time_ms: u64,
    /// Size of the result in mebibytes, 1 to 1024.
    pub output_mib: u64,
    /// Size of what is copied to the plugin in mebibytes, 1 to 1024.
    pub input_mib: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_mib: MEMORY_MIB_DEFAULT,
            time_ms: TIME_MS_DEFAULT,
            output_mib: OUTPUT_MIB_DEFAULT,
            input_mib: INPUT_MIB_DEFAULT,
        }
    }
}

impl Limits {
    /// Checks that every limit is in its range.
    ///
    /// # Errors
    /// A message that names the first limit out of range.
    pub(crate) fn check(&self) -> Result<(), String> {
        let ranges = [
            ("memory_mib", self.memory_mib, MEMORY_MIB_MAX),
            ("time_ms", self.time_ms, TIME_MS_MAX),
            ("output_mib", self.output_mib, TRANSFER_MIB_MAX),
            ("input_mib", self.input_mib, TRANSFER_MIB_MAX),
        ];
        match ranges
            .iter()
            .find(|(_, value, max)| *value == 0 || value > max)
        {
            Some((name, value, max)) => Err(format!(
                "`limits.{name}` is {value}, give a number from 1 to {max}"
            )),
            None => Ok(()),
        }
    }

    /// Memory in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_mib * MIB
    }

    /// Time of one call.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_millis(self.time_ms)
    }

    /// Result in bytes.
    pub(crate) fn output_bytes(&self) -> u64 {
        self.output_mib * MIB
    }

    /// Input in bytes.
    pub fn input_bytes(&self) -> u64 {
        self.input_mib * MIB
    }
}
