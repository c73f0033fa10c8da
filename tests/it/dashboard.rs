//! The dashboard of Grafana: its queries find series in the metrics of a server.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use trawl_tests::{FakeSite, ServerProcess, World};

/// Metrics that every server has once it has served a page.
const ALWAYS: [&str; 12] = [
    "process_cpu_seconds_total",
    "process_open_fds",
    "process_resident_memory_bytes",
    "trawl_build_info",
    "trawl_connections",
    "trawl_crawls",
    "trawl_ledger_commit_duration_seconds_bucket",
    "trawl_memory_bytes_max",
    "trawl_page_bytes_total",
    "trawl_pages_total",
    "trawl_request_duration_seconds_bucket",
    "trawl_requests_total",
];

/// The queries of all panels.
fn queries() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/grafana.json");
    let text = fs::read_to_string(file).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().into_iter().flatten();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let queries = targets.map(|target| target["expr"].as_str().expect("a query").to_owned());
    queries.collect()
}

/// The metrics of a query: the names before its selectors.
fn metrics(query: &str) -> Vec<&str> {
    let before: Vec<&str> = query.split("{job=").collect();
    let (_, before) = before.split_last().expect("a part");
    let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let names = before.iter().map(|part| part.rsplit(is_end).next());
    names.map(|name| name.expect("a name")).collect()
}

/// The labels by which a query sums, but for that of buckets.
fn labels(query: &str) -> Vec<&str> {
    let lists = query.split("sum by (").skip(1);
    let lists = lists.filter_map(|list| list.split(')').next());
    let labels = lists.flat_map(|list| list.split(", "));
    labels.filter(|label| *label != "le").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_of_the_dashboard_find_series() {
    let site = FakeSite::start().await;
    let server = ServerProcess::start(World::new());
    let url = site.put("/page", "text/html", "<h1>Text</h1>");
    let page = json!({"url": url, "request": "http", "return_format": "markdown"});
    assert_eq!(server.post("/scrape", &[], &page).await.status, 200);
    let mut words = server.greeting.split_whitespace();
    let key = words.find(|word| word.starts_with("tra_"));
    let operator = server.with_key(key.expect("the admin key"));
    let text = operator.get("/metrics").await;
    assert_eq!(text.status, 200);
    let text = String::from_utf8(text.body).expect("text");

    let queries = queries();
    let mut found = BTreeSet::new();
    for query in &queries {
        for metric in metrics(query) {
            let is_of = |line: &&str| {
                let rest = line.strip_prefix(metric);
                rest.is_some_and(|rest| rest.starts_with([' ', '{']))
            };
            let mut lines = text.lines().filter(is_of).peekable();
            if lines.peek().is_none() {
                continue;
            }
            found.insert(metric);
            for line in lines {
                for label in labels(query) {
                    assert!(line.contains(&format!("{label}=\"")), "{query}: {line}");
                }
            }
        }
    }
    for metric in ALWAYS {
        assert!(found.contains(metric), "{metric}: {found:?}");
    }
    // The old names are there for this version.
    assert!(text.contains("\ntrawl_request_seconds_count{"), "{text}");
}
