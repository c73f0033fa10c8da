//! One call of a component: a fresh instance, limits set, whatever happens mapped to a fault, the instance thrown away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Store, Trap};

use super::engine::GuestEngine;
use super::plugin::Measured;
use super::state::{CallState, MemoryMeter};
use crate::error::Fault;
use crate::limits::{Limits, MIB};

/// A linked component that can be called.
pub(crate) struct Guest {
    engine: Arc<GuestEngine>,
    linked: InstancePre<CallState>,
    limits: Limits,
}

impl Guest {
    /// A component linked by `engine`, to be called within `limits`.
    pub(crate) fn new(
        engine: Arc<GuestEngine>,
        linked: InstancePre<CallState>,
        limits: Limits,
    ) -> Self {
        Self {
            engine,
            linked,
            limits,
        }
    }

    /// The linked component, to look up its exports once.
    pub(crate) fn linked(&self) -> &InstancePre<CallState> {
        &self.linked
    }

    /// Makes one call on a fresh instance. `body` gets the instance; the outer error is the engine's, the inner the plugin's answer.
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

/// What an error of the engine means. A guest that was refused memory traps in its own way: the refusal is the cause.
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

/// How the engine words a result above the store's bound; it has no type of its own. A test holds it in place.
const OUT_OF_FUEL: &str = "fuel allocated for hostcalls has been exhausted";
