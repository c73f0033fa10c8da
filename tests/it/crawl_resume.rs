//! Crawls that are resumed and cancelled by several callers at once.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use trawl_tests::{FakeSite, ServerProcess, World};

use crate::crawl_kill::{delivered, state};

/// Pages of each crawl.
const PAGES: usize = 40;
/// Long enough for a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn secrets() -> Value {
    json!({"headers": {"Authorization": "Bearer canary-of-a-caller-51d0"}})
}

/// A server that was killed during a crawl with secrets, and the id of the crawl, which is parked.
async fn parked(site: &FakeSite) -> (ServerProcess, String) {
    let links: String = (0..2 * PAGES)
        .map(|n| format!("<a href=\"/leaf/{n}\">{n}</a> "))
        .collect();
    site.put("/root", "text/html", links);
    for n in 0..2 * PAGES {
        site.put(&format!("/leaf/{n}"), "text/html", format!("<p>{n}</p>"));
    }
    let mut server = ServerProcess::start(World::new());
    let mut body = json!({
        "url": site.url("/root"), "return_format": "empty", "request": "http", "cache": false,
        "run_in_background": true, "limit": PAGES, "delay": 50,
    });
    body["headers"] = secrets()["headers"].take();
    let queued = server.post("/crawl", &[], &body).await.json();
    let id = queued["id"].as_str().unwrap().to_owned();
    let until = Instant::now() + PATIENCE;
    while site.requests().is_empty() {
        assert!(Instant::now() < until, "the crawl does not start");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.kill();
    server.start_again();
    assert_eq!(state(&server, &id).await["state"], "parked");
    (server, id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_is_resumed_once() {
    let site = FakeSite::start().await;
    let (server, id) = parked(&site).await;
    let (path, secrets) = (format!("/crawl/{id}/resume"), secrets());
    let resume = || server.post(&path, &[], &secrets);
    let answers = tokio::join!(resume(), resume(), resume(), resume());
    let mut statuses = [answers.0, answers.1, answers.2, answers.3].map(|answer| answer.status);
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409]);
    let ended = server.crawl_ended(&id, PATIENCE).await;
    assert_eq!(ended["stop_reason"], "limit", "{ended}");
    assert_eq!(ended["pages"], PAGES, "{ended}");
    // Checks that no page is there twice.
    assert_eq!(delivered(&server, &id).await.len(), PAGES);
    assert_eq!(server.account(&["verify"])["disagreements"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_that_is_cancelled_while_it_is_resumed_ends() {
    let site = FakeSite::start().await;
    let (server, id) = parked(&site).await;
    let (path, secrets) = (format!("/crawl/{id}"), secrets());
    let resume_path = format!("{path}/resume");
    let (resumed, cancelled) = tokio::join!(
        server.post(&resume_path, &[], &secrets),
        server.send(Method::DELETE, &path, &[], String::new())
    );
    // Whichever came first.
    assert!([200, 409].contains(&resumed.status), "{}", resumed.status);
    assert_eq!(cancelled.unwrap().status, 200);
    let ended = server.crawl_ended(&id, PATIENCE).await;
    assert_eq!(ended["stop_reason"], "cancelled", "{ended}");
    // One page may have been in flight.
    let n_requests = site.requests().len();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let n_more = site.requests().len() - n_requests;
    assert!(n_more <= 1, "{n_more} more");
    assert_eq!(state(&server, &id).await["stop_reason"], "cancelled");
    let again = server.post(&resume_path, &[], &secrets).await;
    assert_eq!(again.status, 409);
}

/// Pages of different content on a site where each has a twin.
const CONTENTS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_fold_into_those_that_were_stored_before_a_kill() {
    let site = FakeSite::start().await;
    let links: String = (0..2 * CONTENTS)
        .map(|n| format!("<a href=\"/leaf/{n}\">{n}</a> "))
        .collect();
    site.put("/root", "text/html", links);
    for n in 0..2 * CONTENTS {
        let text = format!("<p>leaf of content {}</p>", n % CONTENTS);
        site.put(&format!("/leaf/{n}"), "text/html", text);
    }
    let mut server = ServerProcess::start(World::new());
    let body = json!({
        "url": site.url("/root"), "return_format": "text", "request": "http", "cache": false,
        "run_in_background": true, "fold_equal": true, "concurrency_limit": 1, "delay": 50,
    });
    let queued = server.post("/crawl", &[], &body).await.json();
    let id = queued["id"].as_str().unwrap().to_owned();
    // Before the first twin is fetched, and after some pages were stored.
    let until = Instant::now() + PATIENCE;
    while site.requests().len() < CONTENTS * 3 / 4 {
        assert!(Instant::now() < until, "the crawl does not continue");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.kill();
    server.start_again();
    let ended = server.crawl_ended(&id, PATIENCE).await;
    assert_eq!(ended["stop_reason"], "completed", "{ended}");
    assert_eq!(delivered(&server, &id).await.len(), 1 + CONTENTS, "{ended}");
    assert_eq!(server.account(&["verify"])["disagreements"], json!([]));
}
