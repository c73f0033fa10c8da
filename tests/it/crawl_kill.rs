//! The server is killed repeatedly while a background crawl runs. The crawl resumes by itself,
//! loses no page and pays for none twice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use trawl_tests::{FakeSite, ServerProcess, World};

/// Number of kills during the crawl.
const KILLS: u64 = 20;
/// Pages of the site. Each links to two others and to its parent.
const PAGES: usize = 600;
/// Upper bound on the duration of the crawl after the last kill.
const TIME_MAX: Duration = Duration::from_secs(120);

fn add_pages(site: &FakeSite) {
    for n in 1..=PAGES {
        let children = [2 * n, 2 * n + 1].into_iter().filter(|n| *n <= PAGES);
        let links: String = children
            .chain([n / 2])
            .map(|to| format!("<a href=\"/tree/{to}\">{to}</a> "))
            .collect();
        site.put(
            &format!("/tree/{n}"),
            "text/html",
            format!("<title>{n}</title><p>Page {n}: {links}</p>"),
        );
    }
}

pub(crate) async fn state(server: &ServerProcess, id: &str) -> Value {
    server.get(&format!("/crawl/{id}")).await.json()
}

/// Status of every entry by URL; no URL may occur twice.
pub(crate) async fn delivered(server: &ServerProcess, id: &str) -> BTreeMap<String, u64> {
    let mut pages = BTreeMap::new();
    let mut cursor = 0;
    loop {
        let path = format!("/crawl/{id}/pages?cursor={cursor}&limit=200");
        let answer = server.get(&path).await;
        let entries: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
        if entries.is_empty() {
            return pages;
        }
        for entry in entries {
            let url = entry["url"].as_str().unwrap().to_owned();
            let twice = pages.insert(url, entry["status"].as_u64().unwrap());
            assert!(twice.is_none(), "delivered twice: {entry}");
        }
        let Some(next) = answer.headers.get("x-next-cursor") else {
            return pages;
        };
        cursor = next.to_str().unwrap().parse().unwrap();
    }
}

/// Begins a background crawl of the pages; returns its id.
pub(crate) async fn begin_crawl(server: &ServerProcess, site: &FakeSite) -> String {
    add_pages(site);
    let body = json!({
        "url": site.url("/tree/1"), "return_format": "text", "request": "http", "cache": false, "run_in_background": true,
        "concurrency_limit": 2,
    });
    let answer = server.post("/crawl", &[], &body).await;
    let queued = answer.json();
    assert_eq!(queued["status"], "queued", "{queued}");
    let id = queued["id"].as_str().unwrap().to_owned();
    assert_eq!(answer.headers["x-crawl-id"], id.as_str());
    id
}

/// Waits until the crawl has ended, and checks that it has each page once, and that the account was
/// charged for each page once.
pub(crate) async fn check_crawl(server: &ServerProcess, site: &FakeSite, id: &str) {
    let until = Instant::now() + TIME_MAX;
    let ended = loop {
        let state = state(server, id).await;
        if state["state"] == "ended" {
            break state;
        }
        assert!(Instant::now() < until, "the crawl does not end: {state}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(ended["stop_reason"], "completed", "{ended}");
    let pages = delivered(server, id).await;
    let expected: BTreeSet<String> = (1..=PAGES)
        .map(|n| site.url(&format!("/tree/{n}")))
        .collect();
    // The root links to `/tree/0`, which does not exist.
    let missing = site.url("/tree/0");
    let good: BTreeSet<String> = pages
        .keys()
        .filter(|url| **url != missing)
        .cloned()
        .collect();
    assert_eq!(good, expected);
    assert_eq!(pages[&missing], 404);
    assert_eq!(ended["pages"], PAGES + 1);
    check_bill(server, &expected, &ended);
}

/// Checks that exactly these pages are billed, each once.
fn check_bill(server: &ServerProcess, expected: &BTreeSet<String>, ended: &Value) {
    let statement = server.account(&["statement", "caller"]);
    let entries = statement["entries"].as_array().unwrap();
    let mut posts = BTreeMap::new();
    for post in entries.iter().filter(|entry| entry["kind"] == "post") {
        let url = post["url"].as_str().unwrap();
        let twice = posts.insert(url.to_owned(), post["amount"].as_i64().unwrap());
        assert!(twice.is_none(), "billed twice: {post}");
    }
    assert_eq!(posts.keys().cloned().collect::<BTreeSet<_>>(), *expected);
    let billed: i64 = -posts.values().sum::<i64>();
    let reported = ended["costs"]["total_cost"].as_f64().unwrap();
    assert_eq!((reported * 1e9).round() as i64, billed);
    let audit = server.account(&["verify"]);
    assert_eq!(audit["disagreements"], json!([]));
    let accounts = server.account(&["list"]);
    assert_eq!(accounts[0]["held"], 0);
}

/// Kills a server in this world so often while it crawls, and checks the crawl.
pub(crate) async fn check_kills(world: World, kills: u64) {
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(world);
    let id = begin_crawl(&server, &site).await;
    let mut n_interrupted = 0;
    for round in 0..kills {
        // The log is flushed ten times a second; this spreads the kills over the interval.
        tokio::time::sleep(Duration::from_millis(40 + round * 17 % 130)).await;
        server.kill();
        server.start_again();
        n_interrupted += u64::from(state(&server, &id).await["state"] != "ended");
    }
    assert!(
        n_interrupted >= kills / 4,
        "only {n_interrupted} kills interrupted the crawl"
    );
    check_crawl(&server, &site, &id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_crawl_resumes_without_lost_or_repeated_pages() {
    check_kills(World::new(), KILLS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_that_lost_its_secrets_is_parked_until_they_are_sent_again() {
    let site = FakeSite::start().await;
    add_pages(&site);
    let mut server = ServerProcess::start(World::new());
    let canary = "canary-of-a-caller-9f2c";
    let body = json!({
        "url": site.url("/tree/1"), "return_format": "empty", "request": "http", "run_in_background": true,
        "headers": {"Authorization": format!("Bearer {canary}")}, "concurrency_limit": 1, "delay": 50,
    });
    let queued = server.post("/crawl", &[], &body).await.json();
    let id = queued["id"].as_str().unwrap().to_owned();
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.kill();
    for file in files_below(&server.world.data()) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let found = bytes
            .windows(canary.len())
            .any(|part| part == canary.as_bytes());
        assert!(!found, "the secret is in {}", file.display());
    }
    server.start_again();
    let parked = state(&server, &id).await;
    assert_eq!(parked["state"], "parked", "{parked}");
    assert_eq!(parked["stop_reason"], "credentials_lost");

    let n_before = site.requests().len();
    let secrets = json!({"headers": {"Authorization": format!("Bearer {canary}")}});
    let resumed = server
        .post(&format!("/crawl/{id}/resume"), &[], &secrets)
        .await;
    assert_eq!(resumed.status, 200, "{}", resumed.json());
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let requests = site.requests().split_off(n_before);
        if requests.iter().any(|head| head.contains(canary)) {
            break;
        }
        assert!(Instant::now() < until, "without the secret: {requests:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let again = server
        .post(&format!("/crawl/{id}/resume"), &[], &secrets)
        .await;
    assert_eq!(again.status, 409);

    let sent = Instant::now();
    let stopped = server
        .send(Method::DELETE, &format!("/crawl/{id}"), &[], String::new())
        .await
        .unwrap();
    assert_eq!(stopped.status, 200);
    assert!(sent.elapsed() < Duration::from_secs(15));
    let stopped = state(&server, &id).await;
    assert_eq!(stopped["stop_reason"], "cancelled", "{stopped}");
}

fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map_while(Result::ok) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files
}
