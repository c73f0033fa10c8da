//! WASI 0.2 for components whose toolchain requires it, with nothing behind it: no directories, no
//! sockets, no environment, a constant clock, constant random numbers, and no blocking calls.

use std::time::Duration;

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, LinkerInstance, ResourceTable};
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder, WasiView};

/// The linker resolves all patch versions of WASI 0.2 to one another, so one entry covers them.
const IO_POLL: &str = "wasi:io/poll@0.2.12";
const IO_STREAMS: &str = "wasi:io/streams@0.2.12";

/// Unix time of the wall clock: 2025-01-01, plausible to language runtimes.
const NOW_SECONDS: u64 = 1_735_689_600;
/// Source of all random numbers.
const RANDOM_BYTES: [u8; 8] = [0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a, 0x7c, 0x15];

/// WASI state of one call; created only when the component uses WASI.
pub(crate) struct EmptyWasi {
    pub(crate) ctx: WasiCtx,
    pub(crate) table: ResourceTable,
}

impl EmptyWasi {
    pub(crate) fn new() -> Self {
        let mut builder = WasiCtxBuilder::new();
        builder
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .wall_clock(FixedClock)
            .monotonic_clock(FixedClock)
            .secure_random(Deterministic::new(RANDOM_BYTES.to_vec()))
            .insecure_random(Deterministic::new(RANDOM_BYTES.to_vec()))
            .insecure_random_seed(0);
        Self {
            ctx: builder.build(),
            table: ResourceTable::new(),
        }
    }
}

struct FixedClock;

impl HostWallClock for FixedClock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        Duration::from_secs(NOW_SECONDS)
    }
}

impl HostMonotonicClock for FixedClock {
    fn resolution(&self) -> u64 {
        1_000_000_000
    }

    fn now(&self) -> u64 {
        0
    }
}

/// Links WASI 0.2 without the functions that can block: epochs do not interrupt host calls, so a
/// plugin could sleep past its time limit. Output to the standard streams is discarded and never
/// blocks.
pub(crate) fn link<T: WasiView + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_sync(linker)?;
    linker.allow_shadowing(true);
    let mut poll = linker.instance(IO_POLL)?;
    refuse(&mut poll, "poll")?;
    refuse(&mut poll, "[method]pollable.block")?;
    let mut streams = linker.instance(IO_STREAMS)?;
    refuse(&mut streams, "[method]input-stream.blocking-read")?;
    refuse(&mut streams, "[method]input-stream.blocking-skip")?;
    refuse(&mut streams, "[method]output-stream.blocking-splice")?;
    linker.allow_shadowing(false);
    Ok(())
}

fn refuse<T: 'static>(
    instance: &mut LinkerInstance<'_, T>,
    name: &'static str,
) -> wasmtime::Result<()> {
    instance.func_new(name, move |_: StoreContextMut<'_, T>, _, _, _| {
        wasmtime::bail!("it called `{name}`, plugins may not wait")
    })
}
