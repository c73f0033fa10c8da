//! State of the host for one call of a component.

use wasmtime::ResourceLimiter;
use wasmtime_wasi::{WasiCtxView, WasiView};

use super::wasi::EmptyWasi;

/// Entries of one table: script engines compiled to WebAssembly have some ten thousand functions.
pub(crate) const TABLE_ELEMENTS_MAX: usize = 100_000;

/// State of the host for one call.
pub(crate) struct CallState {
    pub(crate) meter: MemoryMeter,
    pub(crate) wasi: Option<Box<EmptyWasi>>,
}

/// Counts the linear memory of one call and refuses growth beyond the limit.
#[derive(Debug)]
pub(crate) struct MemoryMeter {
    pub(crate) allowed: u64,
    pub(crate) used: u64,
    /// Total bytes of the request that was refused.
    pub(crate) refused: Option<u64>,
}

impl MemoryMeter {
    /// Peak of linear memory in bytes: memory never shrinks, so it is the current size.
    pub(crate) fn peak(&self) -> u64 {
        self.used
    }
}

impl ResourceLimiter for MemoryMeter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = self.used + desired.saturating_sub(current) as u64;
        if wanted > self.allowed {
            self.refused = Some(wanted);
            return Ok(false);
        }
        self.used = wanted;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS_MAX)
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let wasi = self.wasi.get_or_insert_with(|| Box::new(EmptyWasi::new()));
        WasiCtxView {
            ctx: &mut wasi.ctx,
            table: &mut wasi.table,
        }
    }
}
