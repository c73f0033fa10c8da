//! Background pipelines on a server that is killed: they resume, and find, store and bill
//! everything once.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use trawl_tests::ServerProcess;

use super::*;
use crate::crawl_kill::{delivered, state};

/// Number of kills during each crawl.
const KILLS: u64 = 6;
const PAGES: usize = 120;
/// Upper bound on the duration of a crawl after the last kill.
const TIME_MAX: Duration = Duration::from_secs(120);

/// A tree of pages, each with an e-mail address of its own and one that all share.
async fn staff() -> FakeSite {
    let site = FakeSite::start().await;
    for n in 1..=PAGES {
        let links: String = [2 * n, 2 * n + 1]
            .into_iter()
            .filter(|to| *to <= PAGES)
            .map(|to| format!("<a href=\"/staff/{to}\">{to}</a> "))
            .collect();
        let page = format!(
            "<title>{n}</title><p>Write to <a href=\"mailto:clerk{n}@harbour.example\">clerk {n}</a> or info@harbour.example</p>{links}"
        );
        site.put(&format!("/staff/{n}"), "text/html", page);
    }
    site
}

fn addresses(site: &FakeSite) -> BTreeSet<String> {
    (1..=PAGES)
        .map(|n| site.url(&format!("/staff/{n}")))
        .collect()
}

async fn start(server: &ServerProcess, path: &str, body: &Value) -> String {
    let queued = server.post(path, &[], body).await.json();
    assert_eq!(queued["status"], "queued", "{queued}");
    queued["id"].as_str().unwrap().to_owned()
}

/// Kills the server repeatedly, waits for the end of the crawl, and returns how many kills
/// interrupted it.
async fn kill_repeatedly(server: &mut ServerProcess, id: &str, pause: Duration) -> u32 {
    let mut n_interrupted = 0;
    for round in 0..KILLS {
        tokio::time::sleep(pause + Duration::from_millis(round * 17 % 60)).await;
        server.kill();
        server.start_again();
        n_interrupted += u32::from(state(server, id).await["state"] != "ended");
    }
    let until = Instant::now() + TIME_MAX;
    loop {
        let state = state(server, id).await;
        if state["state"] == "ended" {
            assert_eq!(state["stop_reason"], "completed", "{state}");
            return n_interrupted;
        }
        assert!(Instant::now() < until, "the crawl does not end: {state}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Checks that every page is delivered and charged once, and that the ledger is consistent.
async fn assert_once(server: &ServerProcess, id: &str, expected: &BTreeSet<String>) {
    let pages = delivered(server, id).await;
    assert_eq!(&pages.into_keys().collect::<BTreeSet<_>>(), expected);
    let statement = server.account(&["statement", "caller"]);
    let entries = statement["entries"].as_array().unwrap();
    let mut paid = BTreeSet::new();
    for post in entries.iter().filter(|entry| entry["kind"] == "post") {
        let is_first = paid.insert(post["url"].as_str().unwrap().to_owned());
        assert!(is_first, "billed twice: {post}");
    }
    assert_eq!(&paid, expected);
    assert_eq!(server.account(&["verify"])["disagreements"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contacts_are_all_found_and_stored_once() {
    let site = staff().await;
    let mut server = ServerProcess::start(World::new());
    let body = json!({
        "url": site.url("/staff/1"), "request": "http", "cache": false, "return_format": "empty", "run_in_background": true,
        "concurrency_limit": 2, "delay": 25,
    });
    let id = start(&server, CONTACTS, &body).await;
    let n_interrupted = kill_repeatedly(&mut server, &id, Duration::from_millis(60)).await;
    assert!(
        n_interrupted >= 2,
        "only {n_interrupted} kills interrupted the crawl"
    );
    assert_once(&server, &id, &addresses(&site)).await;

    let stored = server.get("/data/contacts?limit=1000").await.json();
    let stored = stored["data"].as_array().unwrap();
    let emails = stored.iter().filter(|contact| contact["kind"] == "email");
    let mut found = BTreeSet::new();
    for email in emails {
        let is_first = found.insert(email["value"].as_str().unwrap().to_owned());
        assert!(is_first, "stored twice: {email}");
    }
    let mut expected: BTreeSet<String> = (1..=PAGES)
        .map(|n| format!("clerk{n}@harbour.example"))
        .collect();
    expected.insert("info@harbour.example".to_owned());
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_urls_of_a_text_are_not_lost() {
    let site = staff().await;
    let mut server = ServerProcess::start(World::new());
    let text: Vec<String> = addresses(&site).into_iter().collect();
    let body = json!({
        "text": text.join(", and "), "request": "http", "cache": false, "return_format": "text", "run_in_background": true,
        "concurrency_limit": 2, "delay": 25,
    });
    let id = start(&server, TEXT, &body).await;
    let shown = state(&server, &id).await;
    assert_eq!(shown["request"]["text"], format!("{PAGES} URLs"));
    // At the first kill the crawl may have stored nothing but its request.
    let n_interrupted = kill_repeatedly(&mut server, &id, Duration::ZERO).await;
    assert!(
        n_interrupted >= 2,
        "only {n_interrupted} kills interrupted the crawl"
    );
    assert_once(&server, &id, &addresses(&site)).await;
}
