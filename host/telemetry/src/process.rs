//! Metrics of the process, under the names that they have in every program. They are read when they
//! are asked for.

use std::fmt::Write;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use trawl_model::clock::Timestamp;

/// A metric of the process: its name, its type and what it shows.
pub(crate) type Described = (&'static str, &'static str, &'static str);

/// The metrics of a table in the text format of Prometheus. One that the operating system does not
/// tell is left out.
pub(crate) fn text(table: &[Described], started: Timestamp) -> String {
    let mut text = String::new();
    for (name, kind, help) in table {
        if let Some(value) = value(name, started) {
            // Writing to a string does not fail.
            let _written = write!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n\n"
            );
        }
    }
    text
}

/// The value of the metric with this name.
fn value(name: &str, started: Timestamp) -> Option<f64> {
    match name {
        "process_resident_memory_bytes" => Some(resident_bytes()? as f64),
        "process_open_fds" => Some(open_descriptors()? as f64),
        "process_max_fds" => Some(getrlimit(Resource::Nofile).current? as f64),
        "process_cpu_seconds_total" => Some(cpu_time()?.as_secs_f64()),
        "process_start_time_seconds" => Some(started.0 as f64 / 1_000.0),
        _ => None,
    }
}

/// Bytes of the process in RAM. The second number of the file counts them in pages: proc(5).
fn resident_bytes() -> Option<u64> {
    let numbers = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = numbers.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Open descriptors, without the one that lists them.
fn open_descriptors() -> Option<usize> {
    let descriptors = std::fs::read_dir("/proc/self/fd").ok()?;
    Some(descriptors.count().saturating_sub(1))
}

/// CPU time of all threads, for the program and in the kernel.
fn cpu_time() -> Option<Duration> {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str, name: &str) -> f64 {
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.expect("a sample").parse().expect("a number")
    }

    #[test]
    fn every_metric_of_the_process_has_a_value() {
        let started = Timestamp(1_700_000_000_500);
        let text = text(crate::PROCESS, started);
        for (name, kind, _) in crate::PROCESS {
            assert!(text.contains(&format!("# TYPE {name} {kind}\n")), "{text}");
            assert!(number(&text, name) > 0.0, "{text}");
        }
        let start = number(&text, "process_start_time_seconds");
        assert!((start - 1_700_000_000.5).abs() < 0.001, "{start}");
        let open = number(&text, "process_open_fds");
        assert!(open < number(&text, "process_max_fds"), "{text}");
        // A test has some megabytes in memory, and less than a terabyte.
        let bytes = number(&text, "process_resident_memory_bytes");
        assert!((1e6..1e12).contains(&bytes), "{bytes}");
    }

    #[test]
    fn an_open_file_is_counted() {
        // Other tests open and close files meanwhile: many at once stand out.
        let before = open_descriptors().expect("on Linux");
        let files: Vec<_> = (0..100)
            .map(|_| std::fs::File::open("/proc/self/statm").expect("a file"))
            .collect();
        let after = open_descriptors().expect("on Linux");
        assert!(after >= before + files.len() - 20, "{before}, {after}");
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        let table = [("process_nothing", "gauge", "Nothing")];
        assert_eq!(text(&table, Timestamp(0)), "");
    }
}
