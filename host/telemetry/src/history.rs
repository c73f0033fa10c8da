//! Metrics of the last day: chosen ones are sampled once a minute and kept in memory. Decision
//! D531.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trawl_model::clock::Timestamp;

/// Time between two samples.
pub const SAMPLE_PERIOD: Duration = Duration::from_secs(60);
/// Samples that are kept: those of a day.
pub const SAMPLES_MAX: usize = 24 * 60;
/// Series that are kept, so that they take 2 MB at most. Twice as many as a busy server has.
const SERIES_MAX: usize = 128;

/// The samples of the process.
static RING: Mutex<Ring> = Mutex::new(Ring::new());

/// A metric that is sampled: its name in the text format, and the label whose values are series of
/// their own. Values that differ in other labels only are added up.
type Sampled = (&'static str, Option<&'static str>);

/// What is sampled. Names that end in `_total`, `_sum` or `_count` only grow.
const SAMPLED: &[Sampled] = &[
    ("trawl_requests_total", Some("status")),
    ("trawl_request_duration_seconds_sum", None),
    ("trawl_request_duration_seconds_count", None),
    ("trawl_connections", None),
    ("trawl_connections_refused_total", Some("reason")),
    ("trawl_pages_total", Some("outcome")),
    ("trawl_page_bytes_total", None),
    ("trawl_smart_total", Some("rule")),
    ("trawl_walls_total", Some("rule")),
    ("trawl_outputs_total", Some("outcome")),
    ("trawl_outputs_bytes", None),
    ("trawl_page_cache_bytes", None),
    ("trawl_browser_tabs", None),
    ("trawl_browser_tabs_max", None),
    ("trawl_browser_tab_wait_duration_seconds_sum", None),
    ("trawl_browser_tab_wait_duration_seconds_count", None),
    ("trawl_browser_launches_total", None),
    ("trawl_browser_crashes_total", None),
    ("trawl_browser_recycles_total", None),
    ("trawl_crawls", Some("state")),
    ("trawl_webhooks_total", Some("outcome")),
    ("trawl_webhook_oldest_seconds", None),
    ("trawl_memory_bytes", None),
    ("trawl_memory_bytes_max", None),
    ("trawl_memory_waiting", None),
    ("trawl_memory_held_bytes", Some("kind")),
    ("trawl_ledger_commit_duration_seconds_sum", None),
    ("trawl_disk_free_bytes", None),
    ("process_resident_memory_bytes", None),
    ("process_cpu_seconds_total", None),
];

/// Endings of the names of metrics that only grow while the process lives.
const GROWING: [&str; 3] = ["_total", "_sum", "_count"];

/// The samples of the last day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// When each sample was taken, oldest first.
    pub times: Vec<Timestamp>,
    /// The series, by metric and label.
    pub series: Vec<Series>,
}

/// A metric over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the metric.
    pub metric: &'static str,
    /// Value of its label, such as `200` for responses with this status; `None` if it has none.
    pub label: Option<String>,
    /// Whether it only grows: its rate is what changes.
    pub is_counter: bool,
    /// Index in `times` of its first value.
    pub first: usize,
    /// Its values, one a sample.
    pub values: Vec<f64>,
}

/// Adds a sample of metrics in the text format.
pub(crate) fn add(at: Timestamp, text: &str) {
    ring().add(at, &read(text));
}

/// The last samples, at most `n_samples`.
pub fn history(n_samples: usize) -> History {
    ring().last(n_samples)
}

fn ring() -> MutexGuard<'static, Ring> {
    RING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a series is of: the place of its metric in [`SAMPLED`], and the value of its label.
type Key = (usize, String);

/// The samples that are kept.
#[derive(Debug)]
struct Ring {
    times: VecDeque<Timestamp>,
    series: BTreeMap<Key, Kept>,
}

/// The values of a series.
#[derive(Debug)]
struct Kept {
    /// Index in `times` of the first of them.
    first: usize,
    values: VecDeque<f64>,
}

impl Ring {
    const fn new() -> Self {
        Self {
            times: VecDeque::new(),
            series: BTreeMap::new(),
        }
    }

    /// Adds a sample, in place of the oldest one if there are as many as may be. A series without a
    /// value keeps its last one.
    fn add(&mut self, at: Timestamp, sample: &BTreeMap<Key, f64>) {
        if self.times.len() >= SAMPLES_MAX {
            self.times.pop_front();
            for kept in self.series.values_mut() {
                match kept.first {
                    0 => {
                        kept.values.pop_front();
                    }
                    first => kept.first = first - 1,
                }
            }
        }
        for (key, kept) in &mut self.series {
            let last = kept.values.back().copied().unwrap_or_default();
            kept.values
                .push_back(sample.get(key).copied().unwrap_or(last));
        }
        for (key, value) in sample {
            if self.series.len() < SERIES_MAX && !self.series.contains_key(key) {
                let kept = Kept {
                    first: self.times.len(),
                    values: VecDeque::from([*value]),
                };
                self.series.insert(key.clone(), kept);
            }
        }
        self.times.push_back(at);
    }

    /// The last samples, at most this many.
    fn last(&self, n_samples: usize) -> History {
        let skipped = self.times.len().saturating_sub(n_samples);
        let series = self.series.iter().map(|((metric, label), kept)| {
            let (name, _) = SAMPLED[*metric];
            let unseen = skipped.saturating_sub(kept.first);
            Series {
                metric: name,
                label: Some(label.clone()).filter(|label| !label.is_empty()),
                is_counter: GROWING.iter().any(|ending| name.ends_with(ending)),
                first: kept.first.saturating_sub(skipped),
                values: kept.values.iter().skip(unseen).copied().collect(),
            }
        });
        History {
            times: self.times.iter().skip(skipped).copied().collect(),
            series: series.collect(),
        }
    }
}

/// The values of the sampled metrics in a text in the text format.
fn read(text: &str) -> BTreeMap<Key, f64> {
    let mut sample = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((head, value)) = line.rsplit_once(' ') else {
            continue;
        };
        let name = head.split('{').next().unwrap_or_default();
        let place = SAMPLED.iter().position(|(metric, _)| *metric == name);
        let (Some(place), Ok(value)) = (place, value.parse::<f64>()) else {
            continue;
        };
        if !value.is_finite() {
            continue;
        }
        let label = SAMPLED[place].1.and_then(|label| label_of(head, label));
        let key = (place, label.unwrap_or_default().to_owned());
        *sample.entry(key).or_insert(0.0) += value;
    }
    sample
}

/// The value of a label in the head of a line, `name{a="1",b="2"}`. No label that is asked for has
/// a quotation mark in its value.
fn label_of<'a>(head: &'a str, label: &str) -> Option<&'a str> {
    let labels = head.split_once('{')?.1;
    let starts = ["", ","].map(|before| format!("{before}{label}=\""));
    let rest = labels
        .strip_prefix(starts[0].as_str())
        .or_else(|| Some(labels.split_once(starts[1].as_str())?.1))?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# TYPE trawl_requests_total counter
trawl_requests_total{route=\"/crawl/{id}\",status=\"200\"} 3
trawl_requests_total{route=\"/scrape\",status=\"200\"} 4
trawl_requests_total{route=\"/scrape\",status=\"401\"} 1
trawl_memory_held_bytes{kind=\"outputs\"} 1024
trawl_connections 12
trawl_request_duration_seconds_bucket{route=\"/scrape\",le=\"0.25\"} 5
trawl_request_duration_seconds_sum{route=\"/scrape\"} NaN
trawl_unknown 1
";

    fn named<'h>(history: &'h History, metric: &str, label: Option<&str>) -> &'h Series {
        let mut series = history.series.iter();
        let found =
            series.find(|series| series.metric == metric && series.label.as_deref() == label);
        found.unwrap_or_else(|| panic!("{metric} {label:?}"))
    }

    #[test]
    fn values_are_added_up_by_the_label_that_counts() {
        let mut ring = Ring::new();
        ring.add(Timestamp(1), &read(TEXT));
        let history = ring.last(10);
        let ok = named(&history, "trawl_requests_total", Some("200"));
        assert_eq!((ok.values.as_slice(), ok.is_counter), (&[7.0][..], true));
        let refused = named(&history, "trawl_requests_total", Some("401"));
        assert_eq!(refused.values, [1.0]);
        let held = named(&history, "trawl_memory_held_bytes", Some("outputs"));
        assert_eq!(
            (held.values.as_slice(), held.is_counter),
            (&[1024.0][..], false)
        );
        assert_eq!(named(&history, "trawl_connections", None).values, [12.0]);
        // No bucket, no value that is not a number, no metric that is not sampled.
        assert_eq!(history.series.len(), 4);
    }

    #[test]
    fn a_day_is_kept_and_series_may_begin_later() {
        let mut ring = Ring::new();
        for n in 0..SAMPLES_MAX {
            let at = Timestamp(i64::try_from(n).expect("a small number"));
            ring.add(at, &read(&format!("trawl_connections {n}\n")));
        }
        let later = read("trawl_memory_bytes 5\n");
        ring.add(Timestamp(5_000), &later);
        let history = ring.last(SAMPLES_MAX);
        assert_eq!(history.times.len(), SAMPLES_MAX);
        assert_eq!(history.times[0], Timestamp(1));
        let connections = named(&history, "trawl_connections", None);
        assert_eq!((connections.first, connections.values[0]), (0, 1.0));
        assert_eq!(connections.values.len(), SAMPLES_MAX);
        // Without a value, the last one counts.
        assert_eq!(connections.values.last(), Some(&1439.0));
        let memory = named(&history, "trawl_memory_bytes", None);
        assert_eq!((memory.first, memory.values.as_slice()), (1439, &[5.0][..]));
        ring.add(Timestamp(6_000), &later);
        let history = ring.last(2);
        assert_eq!(history.times, [Timestamp(5_000), Timestamp(6_000)]);
        let memory = named(&history, "trawl_memory_bytes", None);
        assert_eq!((memory.first, memory.values.len()), (0, 2));
        let connections = named(&history, "trawl_connections", None);
        assert_eq!((connections.first, connections.values.len()), (0, 2));
    }

    #[test]
    fn series_are_bounded() {
        let mut ring = Ring::new();
        let lines = (0..500).map(|n| format!("trawl_requests_total{{status=\"{n}\"}} 1\n"));
        ring.add(Timestamp(1), &read(&lines.collect::<String>()));
        assert_eq!(ring.last(1).series.len(), SERIES_MAX);
    }

    #[test]
    fn a_label_is_found_wherever_it_stands() {
        assert_eq!(label_of("a{status=\"1\"}", "status"), Some("1"));
        assert_eq!(label_of("a{b=\"2\",status=\"1\"}", "status"), Some("1"));
        assert_eq!(label_of("a{last_status=\"1\"}", "status"), None);
        assert_eq!(label_of("a", "status"), None);
    }
}
