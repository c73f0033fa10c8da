//! The WebAssembly engine: pooled instances, compiled code cached on disk, an epoch clock that
//! interrupts calls.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{
    Cache, CacheConfig, Config, Enabled, Engine, InstanceAllocationStrategy,
    PoolingAllocationConfig, Store,
};

use super::state::{CallState, MemoryMeter, TABLE_ELEMENTS_MAX};
use super::wasi;
use crate::bundle::NativeCode;
use crate::limits::{Limits, MEMORY_MIB_MAX, MIB};

/// Length of an epoch. Time limits are exact to two ticks; 200 wake-ups a second cost nothing
/// measurable.
const TICK: Duration = Duration::from_millis(5);
/// Concurrent calls. Callers make at most one per core; spare slots cost address space only.
const CALLS_AT_ONCE_MAX: u32 = 64;
/// Core modules in one component: with a WASI adapter and its shims, one becomes four.
const CORE_INSTANCES_PER_COMPONENT: u32 = 8;
/// Tables in one component: each core module may have its own.
const TABLES_PER_COMPONENT: u32 = 8;
/// Bookkeeping of one instance, by functions and types of its module.
const INSTANCE_BYTES_MAX: usize = 2 << 20;
/// Memory of a slot that stays mapped between calls: what a first-party plugin touches on a large
/// page.
const KEEP_RESIDENT_BYTES: usize = 2 << 20;
/// Stack of a plugin: a quarter of the thread's; the host needs the rest.
const STACK_BYTES: usize = 512 << 10;
/// Compiled code cached on disk; the oldest files are removed first.
const CACHE_BYTES_MAX: u64 = 1 << 30;

/// The engine, and the linker with everything a component may import.
pub(crate) struct ComponentEngine {
    engine: Engine,
    linker: Linker<CallState>,
    cache: Option<Cache>,
    _ticker: Ticker,
}

impl ComponentEngine {
    /// An engine that caches compiled code under `cache_dir`; `None` turns the cache off.
    pub(crate) fn new(cache_dir: Option<&Path>) -> wasmtime::Result<Arc<Self>> {
        let cache = cache_dir.map(cache).transpose()?;
        let engine = Engine::new(&config(cache.clone()))?;
        let mut linker = Linker::new(&engine);
        wasi::link(&mut linker)?;
        Ok(Arc::new(Self {
            _ticker: Ticker::start(engine.clone()),
            linker,
            cache,
            engine,
        }))
    }

    /// Compiles a component, or loads it from the cache on disk.
    pub(crate) fn compile(&self, bytes: &[u8]) -> wasmtime::Result<Component> {
        Component::new(&self.engine, bytes)
    }

    /// How many components were compiled because the cache did not have them.
    pub(crate) fn cache_misses(&self) -> usize {
        self.cache.as_ref().map_or(0, Cache::cache_misses)
    }

    /// Compiles a component into the bytes that [`Self::deserialize`] takes.
    pub(crate) fn precompile(&self, bytes: &[u8]) -> wasmtime::Result<Vec<u8>> {
        self.engine.precompile_component(bytes)
    }

    /// Loads native code. An error means that another version of wasmtime made it, with other
    /// settings, or for a CPU with features that this one lacks.
    #[expect(
        unsafe_code,
        reason = "native code is trusted; it comes from the server's own executable"
    )]
    pub(crate) fn deserialize(&self, code: &NativeCode) -> wasmtime::Result<Component> {
        // SAFETY: the bytes are those that `precompile` made: a bundle is written by `embed` only,
        // and its hashes are checked. Who can change the executable can change the server.
        unsafe { Component::deserialize(&self.engine, code.bytes()) }
    }

    /// Links a component: afterwards a call only has to instantiate it.
    pub(crate) fn link(&self, component: &Component) -> wasmtime::Result<InstancePre<CallState>> {
        self.linker.instantiate_pre(component)
    }

    /// A new store for one call within `limits`; its time limit runs from now on.
    pub(crate) fn store(&self, limits: &Limits) -> Store<CallState> {
        let state = CallState {
            meter: MemoryMeter {
                allowed: limits.memory_bytes(),
                used: 0,
                refused: None,
            },
            wasi: None,
        };
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.meter);
        let ticks = limits.time().as_nanos().div_ceil(TICK.as_nanos());
        store.set_epoch_deadline(u64::try_from(ticks).unwrap_or(u64::MAX));
        // Lists and strings of a result may overlap in the plugin's memory: this bounds what the
        // host copies out of it.
        let output = usize::try_from(limits.output_bytes()).unwrap_or(usize::MAX);
        store.set_hostcall_fuel(output.saturating_add(RESULT_OVERHEAD_BYTES));
        store
    }
}

/// Allowance in a result for what is not content: the records around it.
const RESULT_OVERHEAD_BYTES: usize = 64 << 10;

fn cache(dir: &Path) -> wasmtime::Result<Cache> {
    let mut cache = CacheConfig::new();
    cache
        .with_directory(dir)
        .with_files_total_size_soft_limit(CACHE_BYTES_MAX);
    Cache::new(cache)
}

/// The engine's settings. Native code in a bundle depends on all of them except the cache.
fn config(cache: Option<Cache>) -> Config {
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool()))
        .memory_init_cow(true)
        .epoch_interruption(true)
        .max_wasm_stack(STACK_BYTES)
        .concurrency_support(false)
        .parallel_compilation(true)
        .cache(cache);
    config
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(CALLS_AT_ONCE_MAX)
        .total_core_instances(CALLS_AT_ONCE_MAX * CORE_INSTANCES_PER_COMPONENT)
        .max_core_instances_per_component(CORE_INSTANCES_PER_COMPONENT)
        .total_memories(CALLS_AT_ONCE_MAX)
        .max_memories_per_component(1)
        .max_memory_size((MEMORY_MIB_MAX * MIB) as usize)
        .total_tables(CALLS_AT_ONCE_MAX * TABLES_PER_COMPONENT)
        .max_tables_per_component(TABLES_PER_COMPONENT)
        .max_tables_per_module(TABLES_PER_COMPONENT)
        .table_elements(TABLE_ELEMENTS_MAX)
        .max_core_instance_size(INSTANCE_BYTES_MAX)
        .max_component_instance_size(INSTANCE_BYTES_MAX)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(KEEP_RESIDENT_BYTES)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// The thread that increments the epoch. It ends when this is dropped.
struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    fn start(engine: Engine) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let tick = move || {
            while !is_stopped.load(Ordering::Relaxed) {
                std::thread::park_timeout(TICK);
                engine.increment_epoch();
            }
        };
        let thread = std::thread::Builder::new()
            .name("plugin-clock".to_owned())
            .spawn(tick)
            .ok();
        Self { stop, thread }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The panic hook has reported a panic of that thread.
            let _ = thread.join();
        }
    }
}
