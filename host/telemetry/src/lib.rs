//! Logs, metrics and spans of the server.

#[cfg(test)]
mod dashboard;
mod history;
mod lines;
mod process;
mod spans;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use trawl_model::clock::{Clock, Timestamp};
use trawl_model::redact;

pub use history::{History, SAMPLE_PERIOD, SAMPLES_MAX, Series, history};
pub use lines::{LogLine, log_lines};
pub use spans::{Post, SpanExport, SpanSender, begin_trace, exported_context, note_answer};

/// Default log level.
const LEVEL_DEFAULT: &str = "info";
/// Upper bounds of the buckets of durations, in seconds.
const SECONDS_BUCKETS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];
/// How often samples are moved into their buckets if metrics are not scraped: bounds their memory.
const UPKEEP_PERIOD: Duration = Duration::from_secs(5);

static METRICS: OnceLock<Metrics> = OnceLock::new();

/// The metrics of the process.
struct Metrics {
    handle: PrometheusHandle,
    /// When they were set up, which is when the server started.
    started: Timestamp,
}

/// Why logs or metrics could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter does not parse.
    #[error("the log filter `{filter}` does not parse: {reason}")]
    Filter {
        /// The filter.
        filter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Logs or metrics are already set up.
    #[error("logs or metrics are already set up: {0}")]
    Twice(String),
    /// Spans cannot be sent to the collector.
    #[error("spans cannot be sent to the collector: {0}")]
    Collector(String),
}

/// Sets up logs on standard error: text on a terminal, otherwise one JSON object per line. `filter`
/// is a level, or levels by target (`info,trawl::page=debug`). Each line is written without the
/// secrets that [`redact::log_line`] knows, whichever crate wrote it. One that cannot be written is
/// dropped: decision D300. The last ones stay in memory, see [`log_lines`].
///
/// # Errors
/// [`TelemetryError`] if the filter does not parse, or on a second call.
pub fn start_logs(filter: Option<&str>) -> Result<(), TelemetryError> {
    let logs = tracing_subscriber::fmt()
        .with_env_filter(parsed(filter)?)
        // It would print to standard error, and panic where that cannot be written.
        .log_internal_errors(false)
        .with_writer(log_writer);
    let started = if std::io::stderr().is_terminal() {
        logs.finish().try_init()
    } else {
        logs.json().flatten_event(true).finish().try_init()
    };
    started.map_err(|error| TelemetryError::Twice(error.to_string()))
}

/// [`start_logs`] with the spans of requests, whatever the filter of the log is. Of the traces that
/// begin here this share is exported, 0 to 1; of others, those that their callers have sampled.
///
/// # Errors
/// As [`start_logs`].
pub fn start_logs_and_spans(
    filter: Option<&str>,
    share: f64,
) -> Result<SpanExport, TelemetryError> {
    let parsed = parsed(filter)?;
    let (spans, export) = spans::layer(share);
    let logs = tracing_subscriber::fmt::layer()
        .log_internal_errors(false)
        .with_writer(log_writer);
    let subscriber = tracing_subscriber::registry().with(spans);
    let started = if std::io::stderr().is_terminal() {
        subscriber.with(logs.with_filter(parsed)).try_init()
    } else {
        let logs = logs.json().flatten_event(true);
        subscriber.with(logs.with_filter(parsed)).try_init()
    };
    started.map_err(|error| TelemetryError::Twice(error.to_string()))?;
    Ok(export)
}

/// The filter of the log.
fn parsed(filter: Option<&str>) -> Result<EnvFilter, TelemetryError> {
    let filter = filter.unwrap_or(LEVEL_DEFAULT);
    EnvFilter::try_new(filter).map_err(|error| TelemetryError::Filter {
        filter: filter.to_owned(),
        reason: error.to_string(),
    })
}

/// Where a line of the log goes.
fn log_writer() -> Lossy<Redacted<lines::Kept<io::Stderr>>> {
    Lossy(Redacted(lines::Kept(io::stderr())))
}

/// Writes the place of a panic and what its message may show to the log, in place of its whole
/// message to standard error. For a process whose logs are set up.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        tracing::error!(
            panic.place = panic.location().map(tracing::field::display),
            panic.thread = thread.name(),
            panic.message = redact::panic_message(panic.payload()),
            "a thread panicked"
        );
    }));
}

/// Writes a line to standard error, if it can be written: a command does its work without a reader,
/// and on a full disk. `eprintln!` would panic.
pub fn say(line: impl Display) {
    let mut error_output = io::stderr().lock();
    let _unread = writeln!(error_output, "{line}");
}

/// Drops what cannot be written: a server outlives its log. Decision D300.
struct Lossy<W>(W);

impl<W: Write> Write for Lossy<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _unwritten = self.0.write_all(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _unwritten = self.0.flush();
        Ok(())
    }
}

/// Writes each piece of text, which is one line of a log, without secrets.
struct Redacted<W>(W);

impl<W: Write> Write for Redacted<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.0.write_all(redact::log_line(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Counters, with what they count.
const COUNTERS: &[(&str, &str)] = &[
    ("trawl_connections_total", "Connections accepted"),
    (
        "trawl_connections_refused_total",
        "Connections refused with 503, by the limit that was reached: all or peer",
    ),
    (
        "trawl_connections_ended_total",
        "Connections that have ended, by reason",
    ),
    (
        "trawl_responses_released_total",
        "Responses ended because their clients stopped reading",
    ),
    (
        "trawl_access_log_dropped_total",
        "Lines of the access log that its reader was too slow for",
    ),
    ("trawl_requests_total", "Requests by route and status"),
    ("trawl_pages_total", "Pages by outcome"),
    (
        "trawl_outputs_total",
        "Output cache look-ups by outcome: hit or miss",
    ),
    (
        "trawl_node_pages_total",
        "Pages that other nodes extracted for this one, by outcome: made or failed",
    ),
    (
        "trawl_smart_total",
        "Pages for which smart mode chose a browser, by rule",
    ),
    (
        "trawl_walls_total",
        "Pages that failed because a bot wall answered with a good status, by rule",
    ),
    (
        "trawl_plugin_reloads_total",
        "Reloads of the plugins by outcome: ok or failed",
    ),
    ("trawl_browser_launches_total", "Browsers started"),
    (
        "trawl_browser_crashes_total",
        "Pages lost to a browser crash",
    ),
    (
        "trawl_browser_recycles_total",
        "Browsers replaced in regular operation",
    ),
    ("trawl_page_bytes_total", "Decoded bytes of page bodies"),
    (
        "trawl_spans_total",
        "Spans for the collector by outcome: exported, failed, or dropped because too many waited",
    ),
    (
        "trawl_search_queries_total",
        "Requests to web search services, by service and outcome: ok, or the kind of failure",
    ),
    ("trawl_cache_total", "Page cache look-ups by outcome"),
    (
        "trawl_cache_dropped_total",
        "Pages that were not cached: the disk is full or too slow",
    ),
    (
        "trawl_cache_errors_total",
        "Pages that the page cache could not write",
    ),
    (
        "trawl_ai_questions_total",
        "Questions to the language model, by outcome",
    ),
    (
        "trawl_provider_calls_total",
        "Calls of providers, by outcome: ok, or the kind of failure",
    ),
    (
        "trawl_provider_cost_nanodollars_total",
        "What providers charged, in nanodollars",
    ),
    (
        "trawl_provider_billed_nanodollars_total",
        "What was charged for pages of providers, in nanodollars",
    ),
    (
        "trawl_webhooks_total",
        "Webhook events by outcome: delivered, failed or dropped",
    ),
    ("trawl_plugin_calls_total", "Calls of a plugin"),
    (
        "trawl_plugin_failures_total",
        "Calls of a plugin that failed",
    ),
    ("trawl_plugin_traps_total", "Calls of a plugin that trapped"),
];

/// Gauges, with what they show.
const GAUGES: &[(&str, &str)] = &[
    ("trawl_build_info", "1, with the version of the server"),
    ("trawl_connections", "Open connections of callers"),
    (
        "trawl_crawls",
        "Crawls that have not ended, by state: running, or queued until their turn",
    ),
    (
        "trawl_webhook_oldest_seconds",
        "Age of the oldest undelivered webhook event, 0 if there is none",
    ),
    (
        "trawl_nodes",
        "Other nodes that extract pages for this one, updated once a minute",
    ),
    ("trawl_outputs_bytes", "Bytes of cached outputs in memory"),
    (
        "trawl_plugins_current",
        "1, or 0 after a reload that failed: the previous plugins stay in effect",
    ),
    ("trawl_browser_tabs", "Open browser tabs"),
    ("trawl_browser_tabs_max", "Most browser tabs at once"),
    (
        "trawl_page_cache_bytes",
        "Bytes of cached pages on the disk, updated once a minute",
    ),
    (
        "trawl_disk_free_bytes",
        "Free space of the disk with the data directory",
    ),
    (
        "trawl_memory_bytes",
        "Bytes of the memory budget that pages and answers in flight hold",
    ),
    (
        "trawl_memory_held_bytes",
        "Bytes of the memory budget in use, by kind",
    ),
    ("trawl_memory_bytes_max", "Bytes of the memory budget"),
    ("trawl_memory_waiting", "Pages that wait for memory"),
    (
        "trawl_cache_bytes",
        "Bytes of cached pages on the disk, updated when a page is stored",
    ),
    (
        "trawl_plugin_memory_peak_bytes",
        "Most memory that a call of a plugin took",
    ),
];

/// Histograms of times in seconds, with what they measure.
const SECONDS: &[(&str, &str)] = &[
    (
        "trawl_browser_tab_wait_duration_seconds",
        "Time that pages waited for a browser tab",
    ),
    (
        "trawl_ledger_commit_duration_seconds",
        "Time until a group of entries was durable in the ledger",
    ),
    (
        "trawl_request_duration_seconds",
        "Time to the first byte of an answer, by route",
    ),
    (
        "trawl_provider_call_duration_seconds",
        "Time of calls of providers",
    ),
    (
        "trawl_plugin_call_duration_seconds",
        "Time of calls of a plugin",
    ),
];

/// Metrics that have been renamed: the old name, which `/metrics` keeps for one version, and the
/// new one.
const RENAMED: &[(&str, &str)] = &[
    (
        "trawl_browser_tab_wait_seconds",
        "trawl_browser_tab_wait_duration_seconds",
    ),
    (
        "trawl_plugin_call_seconds",
        "trawl_plugin_call_duration_seconds",
    ),
    (
        "trawl_provider_call_seconds",
        "trawl_provider_call_duration_seconds",
    ),
    ("trawl_request_seconds", "trawl_request_duration_seconds"),
];

/// Metrics of the process itself, with their types and what they show. Browsers are not part of it.
const PROCESS: &[process::Described] = &[
    (
        "process_resident_memory_bytes",
        "gauge",
        "Memory of the process in RAM",
    ),
    ("process_open_fds", "gauge", "Open file descriptors"),
    (
        "process_max_fds",
        "gauge",
        "File descriptors that may be open",
    ),
    (
        "process_cpu_seconds_total",
        "counter",
        "CPU time of the process, for the program and in the kernel",
    ),
    (
        "process_start_time_seconds",
        "gauge",
        "When the server started, in Unix seconds",
    ),
];

/// Sets up metrics. Run [`run_upkeep`] too.
///
/// # Errors
/// [`TelemetryError::Twice`] on a second call.
pub fn start_metrics() -> Result<(), TelemetryError> {
    let already_set =
        |error: metrics_exporter_prometheus::BuildError| TelemetryError::Twice(error.to_string());
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS_BUCKETS)
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(already_set)?;
    for &(name, text) in COUNTERS {
        metrics::describe_counter!(name, text);
    }
    for &(name, text) in GAUGES {
        metrics::describe_gauge!(name, text);
    }
    for &(name, text) in SECONDS {
        metrics::describe_histogram!(name, metrics::Unit::Seconds, text);
    }
    metrics::gauge!("trawl_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    let started = Clock::wall().now();
    METRICS
        .set(Metrics { handle, started })
        .map_err(|_| TelemetryError::Twice("metrics".to_owned()))
}

/// Bounds the memory of metrics; runs until it is dropped.
pub async fn run_upkeep() {
    let mut period = tokio::time::interval(UPKEEP_PERIOD);
    loop {
        period.tick().await;
        if let Some(metrics) = METRICS.get() {
            metrics.handle.run_upkeep();
        }
    }
}

/// Adds a sample of the metrics to [`history()`], to be called every [`SAMPLE_PERIOD`]. Does
/// nothing before [`start_metrics`].
pub fn sample(at: Timestamp) {
    if let Some(text) = metrics_text() {
        history::add(at, &text);
    }
}

/// All metrics in the text format of Prometheus; `None` before [`start_metrics`].
pub fn metrics_text() -> Option<String> {
    let metrics = METRICS.get()?;
    let mut text = metrics.handle.render();
    let old = old_lines(&text);
    text.push_str(&old);
    text.push_str(&process::text(PROCESS, metrics.started));
    Some(text)
}

/// The lines of renamed metrics once more, under their old names.
fn old_lines(text: &str) -> String {
    const COMMENTS: [&str; 2] = ["# HELP ", "# TYPE "];
    let mut old = String::new();
    for line in text.lines() {
        let comment = COMMENTS.iter().find(|comment| line.starts_with(**comment));
        let (comment, named) = line.split_at(comment.map_or(0, |comment| comment.len()));
        let mut renamed = RENAMED.iter();
        let found = renamed.find_map(|(name, new)| Some((*name, named.strip_prefix(new)?)));
        if let Some((name, rest)) = found {
            old.extend([comment, name, rest, "\n"]);
        }
    }
    old
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn durations_have_buckets() {
        start_metrics().expect("the first time");
        metrics::histogram!("trawl_test_seconds").record(0.2);
        let text = metrics_text().expect("metrics");
        assert!(
            text.contains("trawl_test_seconds_bucket{le=\"0.25\"} 1"),
            "{text}"
        );
        let build = format!(
            "trawl_build_info{{version=\"{}\"}} 1",
            env!("CARGO_PKG_VERSION")
        );
        assert!(text.contains(&build), "{text}");
        assert!(text.contains("\nprocess_open_fds "), "{text}");
        assert!(start_metrics().is_err());
        sample(Timestamp(1));
        let sampled = history(SAMPLES_MAX);
        assert_eq!(sampled.times, [Timestamp(1)]);
        let mut series = sampled.series.iter();
        let memory = series.find(|series| series.metric == "process_resident_memory_bytes");
        assert!(memory.is_some_and(|memory| memory.values[0] > 0.0));
    }

    #[test]
    fn renamed_metrics_keep_their_old_names_for_one_version() {
        let text = "# TYPE trawl_request_duration_seconds histogram
trawl_request_duration_seconds_bucket{le=\"0.1\"} 2
trawl_request_duration_seconds_sum 0.1

trawl_connections 3
";
        let old = "# TYPE trawl_request_seconds histogram
trawl_request_seconds_bucket{le=\"0.1\"} 2
trawl_request_seconds_sum 0.1
";
        assert_eq!(old_lines(text), old);
        for (old, new) in RENAMED {
            assert!(SECONDS.iter().any(|(name, _)| name == new), "{new}");
            assert!(!SECONDS.iter().any(|(name, _)| name == old), "{old}");
        }
    }

    #[test]
    fn every_metric_is_described() {
        let all = [COUNTERS, GAUGES, SECONDS].concat();
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
        let mut n_found = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let is_left_out = path.ends_with("tests") || path.ends_with("telemetry");
                if path.is_dir() && !is_left_out {
                    folders.push(path);
                    continue;
                }
                if path.extension().is_none_or(|extension| extension != "rs") {
                    continue;
                }
                let text = fs::read_to_string(&path).expect("a source");
                for name in metrics_of(&text) {
                    n_found += 1;
                    let is_described = all.iter().any(|(described, _)| *described == name);
                    assert!(is_described, "{name} of {}", path.display());
                }
            }
        }
        assert!(n_found > all.len() / 2, "{n_found}");
    }

    /// The names of the metrics that a source sets.
    fn metrics_of(text: &str) -> Vec<&str> {
        let parts: Vec<&str> = text.split("!(").collect();
        let mut names = Vec::new();
        for pair in parts.windows(2) {
            let is_metric = ["counter", "gauge", "histogram"]
                .iter()
                .any(|kind| pair[0].ends_with(kind));
            let name = pair[1].trim_start().strip_prefix('"');
            let name = name.and_then(|rest| rest.split('"').next());
            names.extend(name.filter(|_| is_metric));
        }
        names
    }

    #[test]
    fn a_log_line_is_written_without_secrets() {
        let mut written = Redacted(Vec::new());
        let line = "{\"url\":\"https://u:canary@a.example/?token=canary&q=1\"}\n";
        written.write_all(line.as_bytes()).expect("memory");
        assert_eq!(
            String::from_utf8_lossy(&written.0),
            "{\"url\":\"https://…@a.example/?token=…&q=1\"}\n"
        );
    }

    #[test]
    fn a_log_that_cannot_be_written_is_no_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::ErrorKind::StorageFull.into())
            }
        }
        let mut log = Lossy(Redacted(Full));
        log.write_all(b"one line").expect("dropped");
        log.flush().expect("dropped");
    }

    #[test]
    fn an_invalid_filter_is_refused() {
        assert!(matches!(
            start_logs(Some("trawl=loud")),
            Err(TelemetryError::Filter { .. })
        ));
    }
}
