//! Pipelines in the background on a server that is killed: they go on, and find, keep and bill everything once.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use trawl_tests::ServerProcess;

use super::*;
use crate::crawl_kill::{delivered, state};

/// How often the server is killed during each crawl.
const KILLS: u64 = 6;
const PAGES: usize = 120;
/// How long a crawl may take after the last kill.
const TIME_MAX: Duration = Duration::from_secs(120);

/// A tree of pages, each with an address of mail of its own and one that all have.
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

async fn begin(server: &ServerProcess, path: &str, body: &Value) -> String {
    let queued = server.post(path, &[], body).await.json();
    assert_eq!(queued["status"], "queued", "{queued}");
    queued["id"].as_str().unwrap().to_owned()
}

/// Kills the server again and again, then waits for the end of the crawl; how many kills met it running.
async fn killed_to_its_end(server: &mut ServerProcess, id: &str, pause: Duration) -> u32 {
    let mut n_met = 0;
    for round in 0..KILLS {
        tokio::time::sleep(pause + Duration::from_millis(round * 17 % 60)).await;
        server.kill();
        server.start_again();
        n_met += u32::from(state(server, id).await["state"] != "ended");
    }
    let until = Instant::now() + TIME_MAX;
    loop {
        let state = state(server, id).await;
        if state["state"] == "ended" {
            assert_eq!(state["stop_reason"], "completed", "{state}");
            return n_met;
        }
        assert!(Instant::now() < until, "the crawl does not end: {state}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Every page is delivered once and paid once, and the books agree.
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
        "concurrency_limit": 2, "delay": 5,
    });
    let id = begin(&server, CONTACTS, &body).await;
    let n_met = killed_to_its_end(&mut server, &id, Duration::from_millis(60)).await;
    assert!(n_met >= 2, "only {n_met} kills met a running crawl");
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
async fn the_addresses_of_a_text_are_not_lost() {
    let site = staff().await;
    let mut server = ServerProcess::start(World::new());
    let text: Vec<String> = addresses(&site).into_iter().collect();
    let body = json!({
        "text": text.join(", and "), "request": "http", "cache": false, "return_format": "text", "run_in_background": true,
        "concurrency_limit": 2, "delay": 5,
    });
    let id = begin(&server, TEXT, &body).await;
    let shown = state(&server, &id).await;
    assert_eq!(shown["request"]["text"], format!("{PAGES} URLs"));
    // The first kill meets a crawl that may have stored nothing yet but its request.
    let n_met = killed_to_its_end(&mut server, &id, Duration::ZERO).await;
    assert!(n_met >= 2, "only {n_met} kills met a running crawl");
    assert_once(&server, &id, &addresses(&site)).await;
}
