//! Several servers of one database work at a time: those that wait for the database extract pages
//! for the one that has it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_tests::{FakeSite, ServerProcess};

use crate::postgres::{standby_of, world_on_postgres};

/// Pages of one request.
const PAGES: usize = 40;
/// Paragraphs of a page: it takes a few milliseconds of CPU time.
const PARAGRAPHS: usize = 1_000;
/// Long enough for a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Puts the pages there, and returns the request for all of them.
fn request(site: &FakeSite) -> Value {
    let urls: Vec<String> = (0..PAGES)
        .map(|n| {
            let paragraphs: String = (0..PARAGRAPHS)
                .map(|line| {
                    format!("<p>Page <b>{n}</b>, line {line}: <a href=\"/{line}\">\u{1f980}</a>")
                })
                .collect();
            let page = format!("<title>Page {n}</title><h1>{n}</h1>{paragraphs}");
            site.put(&format!("/long/{n}"), "text/html", page)
        })
        .collect();
    json!({
        "url": urls.join(","), "return_format": "markdown", "request": "http", "cache": false, "metadata": true,
        "return_page_links": true,
    })
}

/// What a server makes of the pages, in order, without what differs each time.
async fn made(server: &ServerProcess, request: &Value) -> Vec<Value> {
    let answer = server.post("/scrape", &[], request).await;
    assert_eq!(answer.status, 200);
    let entries: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(entries.len(), PAGES);
    let made = entries.into_iter().map(|entry| {
        assert_eq!(entry["status"], 200, "{entry}");
        json!([
            entry["url"],
            entry["content"],
            entry["metadata"]["title"],
            entry["links"]
        ])
    });
    made.collect()
}

/// How many pages other nodes have extracted for a server.
async fn n_by_nodes(server: &ServerProcess) -> u64 {
    let metrics = server.get("/metrics").await;
    let metrics = String::from_utf8(metrics.body).unwrap();
    let name = "trawl_node_pages_total{outcome=\"made\"} ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |number| number.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_server_that_waits_extracts_pages_and_takes_none_with_it() {
    let (_postgres, mut world) = world_on_postgres();
    world.config = "[http]\nmetrics_without_key = true\n".to_owned();
    let site = FakeSite::start().await;
    let server = ServerProcess::start(world);
    let request = request(&site);
    let alone = made(&server, &request).await;
    let mut n_requests = 1;
    assert_eq!(n_by_nodes(&server).await, 0, "there is no other node");

    let mut standby = server.start_standby(standby_of(&server));
    let until = Instant::now() + PATIENCE;
    while n_by_nodes(&server).await == 0 {
        assert_eq!(made(&server, &request).await, alone);
        n_requests += 1;
        assert!(Instant::now() < until, "the standby extracts nothing");
    }
    // A caller has not the key of the two.
    for path in ["/cluster/pages", "/cluster/nodes"] {
        let of_caller = standby.post(path, &[], &json!({})).await;
        assert_eq!(of_caller.status, 401);
        assert!(of_caller.json()["error"].is_string());
    }

    // It does not answer any more, then it is gone: what it had is made here.
    standby.signal("-STOP");
    assert_eq!(made(&server, &request).await, alone);
    standby.signal("-CONT");
    standby.kill();
    assert_eq!(made(&server, &request).await, alone);
    n_requests += 2;

    let statement = server.account(&["statement", "caller"]);
    let entries = statement["entries"].as_array().unwrap();
    let posts = entries.iter().filter(|entry| entry["kind"] == "post");
    assert_eq!(
        posts.count(),
        n_requests * PAGES,
        "each page is billed once"
    );
    assert_eq!(server.account(&["verify"])["disagreements"], json!([]));
    assert_eq!(server.account(&["list"])[0]["held"], 0);
}
