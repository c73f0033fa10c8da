//! One call of a component: a new instance within limits, errors mapped to a [`Fault`], and the
//! instance discarded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Store, Trap};

use super::engine::ComponentEngine;
use super::plugin::Measured;
use super::state::{CallState, MemoryMeter};
use crate::error::Fault;
use crate::limits::{Limits, MIB};

/// A linked component, ready to be instantiated.
pub(crate) struct LinkedComponent {
    engine: Arc<ComponentEngine>,
    linked: InstancePre<CallState>,
    limits: Limits,
}

impl LinkedComponent {
    /// A component linked by `engine`, to be called within `limits`.
    pub(crate) fn new(
        engine: Arc<ComponentEngine>,
        linked: InstancePre<CallState>,
        limits: Limits,
    ) -> Self {
        Self {
            engine,
            linked,
            limits,
        }
    }

    /// The linked component, for looking up its exports once.
    pub(crate) fn linked(&self) -> &InstancePre<CallState> {
        &self.linked
    }

    /// Makes one call on a new instance. In the result of `body` the outer error is the engine's,
    /// the inner one the plugin's.
    pub(crate) fn call<R>(
        &self,
        body: impl FnOnce(&mut Store<CallState>, &Instance) -> wasmtime::Result<Result<R, Fault>>,
    ) -> Measured<R> {
        let started = Instant::now();
        let mut store = self.engine.store(&self.limits);
        let outcome = self
            .linked
            .instantiate(&mut store)
            .and_then(|instance| body(&mut store, &instance));
        let elapsed = started.elapsed();
        let meter = &store.data().meter;
        Measured {
            memory_peak: meter.peak(),
            elapsed,
            result: outcome
                .unwrap_or_else(|error| Err(fault(&error, &self.limits, elapsed, meter))),
        }
    }
}

/// The fault behind an error of the engine. A plugin that was refused memory traps in one way or
/// another: the refusal is the cause.
fn fault(
    error: &wasmtime::Error,
    limits: &Limits,
    elapsed: Duration,
    meter: &MemoryMeter,
) -> Fault {
    let trap = error.downcast_ref::<Trap>();
    if trap == Some(&Trap::Interrupt) {
        return Fault::OutOfTime {
            used_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            allowed_ms: limits.time_ms,
        };
    }
    if let Some(wanted) = meter.refused {
        return Fault::OutOfMemory {
            wanted_mib: wanted.div_ceil(MIB),
            allowed_mib: limits.memory_mib,
        };
    }
    let reason = match trap {
        Some(trap) => trap
            .to_string()
            .trim_start_matches("wasm trap: ")
            .to_owned(),
        None => error.root_cause().to_string(),
    };
    if reason.contains(OUT_OF_FUEL) {
        return Fault::OutputTooLarge {
            used_bytes: None,
            allowed_mib: limits.output_mib,
        };
    }
    Fault::Trap { reason }
}

/// The engine's message for a result above the store's bound; there is no error type for it. A test
/// asserts that it is still worded so.
const OUT_OF_FUEL: &str = "fuel allocated for hostcalls has been exhausted";
