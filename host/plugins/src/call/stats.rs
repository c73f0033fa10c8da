//! Counters of a plugin's calls: for `GET /plugins` since it was loaded, as metrics since the
//! server started.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use trawl_model::PluginKind;

/// Counters of one loaded plugin.
pub(crate) struct Stats {
    calls: AtomicU64,
    failures: AtomicU64,
    traps: AtomicU64,
    busy_ns: AtomicU64,
    memory_peak: AtomicU64,
    metrics: Metrics,
}

/// Handles of one plugin's metrics, looked up once: a lookup costs as much as a short call.
struct Metrics {
    calls: metrics::Counter,
    failures: metrics::Counter,
    traps: metrics::Counter,
    seconds: metrics::Histogram,
    memory_peak: metrics::Gauge,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With a result.
    Good,
    /// With a failure that the plugin returned.
    Failed,
    /// By misbehaving.
    Trapped,
}

/// Values of the counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) calls: u64,
    pub(crate) failures: u64,
    pub(crate) traps: u64,
    pub(crate) busy: Duration,
    pub(crate) memory_peak: u64,
}

impl Stats {
    /// Counters at zero, metrics under the plugin's kind and name.
    pub(crate) fn new(kind: PluginKind, plugin: &str) -> Self {
        let labels = [
            ("kind", kind.name().to_owned()),
            ("plugin", plugin.to_owned()),
        ];
        Self {
            calls: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            traps: AtomicU64::new(0),
            busy_ns: AtomicU64::new(0),
            memory_peak: AtomicU64::new(0),
            metrics: Metrics {
                calls: metrics::counter!("trawl_plugin_calls_total", &labels),
                failures: metrics::counter!("trawl_plugin_failures_total", &labels),
                traps: metrics::counter!("trawl_plugin_traps_total", &labels),
                seconds: metrics::histogram!("trawl_plugin_call_duration_seconds", &labels),
                memory_peak: metrics::gauge!("trawl_plugin_memory_peak_bytes", &labels),
            },
        }
    }

    /// Counts one call.
    pub(crate) fn count(&self, ending: Ending, elapsed: Duration, memory_peak: u64) {
        self.calls.fetch_add(1, Relaxed);
        self.busy_ns.fetch_add(
            u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            Relaxed,
        );
        self.metrics.calls.increment(1);
        self.metrics.seconds.record(elapsed);
        match ending {
            Ending::Good => {}
            Ending::Failed => {
                self.failures.fetch_add(1, Relaxed);
                self.metrics.failures.increment(1);
            }
            Ending::Trapped => {
                self.traps.fetch_add(1, Relaxed);
                self.metrics.traps.increment(1);
            }
        }
        if self.memory_peak.fetch_max(memory_peak, Relaxed) < memory_peak {
            self.metrics.memory_peak.set(memory_peak as f64);
        }
    }

    /// Current values of the counters.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            calls: self.calls.load(Relaxed),
            failures: self.failures.load(Relaxed),
            traps: self.traps.load(Relaxed),
            busy: Duration::from_nanos(self.busy_ns.load(Relaxed)),
            memory_peak: self.memory_peak.load(Relaxed),
        }
    }
}
