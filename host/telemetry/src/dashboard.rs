//! The dashboard of Grafana in `docs` asks for metrics and labels that the server has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{COUNTERS, GAUGES, PROCESS, SECONDS};

/// Labels of metrics that get theirs from a function, by the beginning of the name.
const SHARED_LABELS: [(&str, &[&str]); 2] = [
    ("trawl_plugin_", &["kind", "plugin"]),
    ("trawl_provider_", &["provider", "key", "outcome"]),
];
/// Labels that Prometheus adds, and that of a histogram's buckets.
const ADDED_LABELS: [&str; 3] = ["job", "instance", "le"];

/// What a query asks for.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    metrics: BTreeSet<String>,
    labels: BTreeSet<String>,
}

impl Asked {
    /// Reads a query: names before a `{` or alone are metrics, names within `{…}` and after `by`
    /// are labels, and names before a `(` or a `by` are functions.
    fn read(query: &str) -> Self {
        let mut asked = Self::default();
        let (mut rest, mut in_labels, mut after_by) = (query, false, false);
        while let Some(next) = rest.chars().next() {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if next == '"' {
                let text = &rest[1..];
                let end = text.find('"').expect("a text that ends");
                rest = &text[end + 1..];
            } else if next.is_ascii_alphabetic() {
                let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                let next = after.trim_start();
                let is_function = next.starts_with('(') || next.starts_with("by ");
                if in_labels {
                    asked.labels.insert(word.to_owned());
                } else if word == "by" {
                    after_by = true;
                } else if !is_function {
                    asked.metrics.insert(word.to_owned());
                }
                rest = after;
            } else if next == '[' {
                let end = rest.find(']').expect("a range that ends");
                rest = &rest[end + 1..];
            } else if next.is_ascii_digit() {
                // A number may have an exponent.
                let is_number = |c: char| c.is_ascii_alphanumeric() || c == '.';
                let end = rest.find(|c: char| !is_number(c)).unwrap_or(rest.len());
                rest = &rest[end..];
            } else {
                match next {
                    '{' => in_labels = true,
                    '(' if after_by => (in_labels, after_by) = (true, false),
                    '}' | ')' => in_labels = false,
                    _ => {}
                }
                rest = &rest[next.len_utf8()..];
            }
        }
        asked
    }
}

/// The labels of each metric in the sources of the host.
fn labels() -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source");
                for call in text.split("!(").skip(1) {
                    let call = call.split(".increment(").next().unwrap_or_default();
                    let call = call.split(';').next().unwrap_or_default();
                    let mut texts = call.split('"').skip(1).step_by(2);
                    let Some(name) = texts.next().filter(|name| name.starts_with("trawl_")) else {
                        continue;
                    };
                    let of_metric = found.entry(name.to_owned()).or_default();
                    let parts: Vec<&str> = call.split('"').collect();
                    let pairs = parts.windows(2).skip(1).step_by(2);
                    let pairs = pairs.filter(|pair| pair[1].trim_start().starts_with("=>"));
                    of_metric.extend(pairs.map(|pair| pair[0].to_owned()));
                }
            }
        }
    }
    found
}

/// The described metric of a name in a query: that of a histogram has an ending.
fn described(name: &str) -> Option<&'static str> {
    let plain = COUNTERS.iter().chain(GAUGES).map(|(metric, _)| *metric);
    let process = PROCESS.iter().map(|(metric, _, _)| *metric);
    let mut plain = plain.chain(process);
    let of_histogram = || {
        let endings = ["_bucket", "_sum", "_count"].into_iter();
        let mut stems = endings.filter_map(|ending| name.strip_suffix(ending));
        let stem = stems.next()?;
        let mut histograms = SECONDS.iter().map(|(metric, _)| *metric);
        histograms.find(|metric| *metric == stem)
    };
    plain.find(|metric| *metric == name).or_else(of_histogram)
}

/// All values of a member below a value.
fn members<'v>(value: &'v Value, name: &str) -> Vec<&'v str> {
    let below: Vec<&Value> = match value {
        Value::Object(members) => members.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => return Vec::new(),
    };
    let own = value.get(name).and_then(Value::as_str);
    let below = below.into_iter().flat_map(|value| members(value, name));
    own.into_iter().chain(below).collect()
}

#[test]
fn queries_are_read() {
    let query = "histogram_quantile(0.95, sum by (le, route) (rate(a_bucket{job=~\"$job\",x=\"y\"}[5m]))) / 1e9 + b";
    let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let expected = Asked {
        metrics: of(&["a_bucket", "b"]),
        labels: of(&["job", "le", "route", "x"]),
    };
    assert_eq!(Asked::read(query), expected);
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana.json");
    let text = fs::read_to_string(file).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let known = labels();
    let queries = members(&dashboard, "expr");
    assert!(queries.len() > 30, "{}", queries.len());
    let mut shown = BTreeSet::new();
    for query in queries {
        let asked = Asked::read(query);
        assert!(!asked.metrics.is_empty(), "{query}");
        for name in &asked.metrics {
            let metric = described(name).unwrap_or_else(|| panic!("{name} of {query}"));
            shown.insert(metric);
            let shared = SHARED_LABELS
                .iter()
                .filter(|(start, _)| metric.starts_with(start));
            let own = known.get(metric).into_iter().flatten().map(String::as_str);
            let shared = shared.flat_map(|(_, labels)| labels.iter().copied());
            let has: BTreeSet<&str> = own.chain(shared).chain(ADDED_LABELS).collect();
            for label in &asked.labels {
                assert!(has.contains(label.as_str()), "{label} of {query}: {has:?}");
            }
        }
    }
    // Each kind of metric is shown, and nearly all of them.
    let all = COUNTERS.iter().chain(GAUGES).chain(SECONDS);
    let hidden = all.filter(|(metric, _)| !shown.contains(metric));
    assert!(hidden.count() < 16);
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: Vec<u64> = panels
        .iter()
        .filter_map(|panel| panel["id"].as_u64())
        .collect();
    assert_eq!(ids.len(), panels.len());
    let different: BTreeSet<&u64> = ids.iter().collect();
    assert_eq!(different.len(), ids.len());
    assert_eq!(dashboard["uid"], "trawl");
}
