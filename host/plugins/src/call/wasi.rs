//! The empty world that components of other toolchains get where they insist on WASI: no directory, no socket, no environment, a
//! clock that stands still, random numbers that are always the same, and no way to wait.

use std::time::Duration;

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, LinkerInstance, ResourceTable};
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder, WasiView};

/// The minor versions of WASI 0.2 resolve to one another, so that one entry stands for all.
const IO_POLL: &str = "wasi:io/poll@0.2.12";
const IO_STREAMS: &str = "wasi:io/streams@0.2.12";

/// Seconds since 1970 that the wall clock shows: 2025-01-01, so that certificates and date tables of runtimes are content.
const NOW_SECONDS: u64 = 1_735_689_600;
/// What all random numbers are made of.
const RANDOM_BYTES: [u8; 8] = [0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a, 0x7c, 0x15];

/// WASI state of one call; made only when a guest asks for it.
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

/// Links WASI 0.2 with everything that could wait taken out: an epoch does not interrupt a host call, so a guest could sleep past
/// its deadline. Writing to the standard streams goes nowhere and never waits, so it stays.
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
