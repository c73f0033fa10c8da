//! The server is killed repeatedly while it charges for pages; the ledger is consistent afterwards.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_tests::{Caller, FakeSite, ServerProcess, World};

/// Number of kills.
const KILLS: u64 = 50;
/// Number of concurrent clients.
const CLIENTS: usize = 4;
/// Initial balance in nanodollars.
const START: i64 = 100_000_000_000;

/// What the clients received: charge by URL.
type Received = Arc<Mutex<HashMap<String, i64>>>;

/// Requests pages until the server is gone, no URL twice.
async fn ask_on(caller: Caller, site: String, count: Arc<AtomicU64>, received: Received) {
    loop {
        let pages = 1 + count.load(Ordering::Relaxed) % 4;
        let first = count.fetch_add(pages, Ordering::Relaxed);
        let urls: Vec<_> = (first..first + pages)
            .map(|n| format!("{site}?{n}"))
            .collect();
        let body = json!({"url": urls.join(","), "return_format": "text", "request": "http"});
        let mut n_entries = 0;
        caller
            .stream(&body, |entry| {
                assert!(entry["error"].is_null(), "{entry}");
                n_entries += 1;
                let url = entry["url"].as_str().unwrap().to_owned();
                let twice = received.lock().unwrap().insert(url, Caller::total(&entry));
                assert!(twice.is_none(), "{entry}");
            })
            .await;
        if n_entries < pages {
            return;
        }
    }
}

/// Checks a complete statement against what the clients received.
fn assert_consistent(statement: &Value, received: &HashMap<String, i64>) {
    let entries = statement["entries"].as_array().unwrap();
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let amount = |entry: &Value| entry["amount"].as_i64().unwrap();
    let of_kind = |kind: &'static str| entries.iter().filter(move |entry| entry["kind"] == kind);
    let mut posts: HashMap<String, i64> = HashMap::new();
    for post in of_kind("post") {
        let twice = posts.insert(text(post, "url"), -amount(post));
        assert!(twice.is_none(), "posted twice: {post}");
    }
    for (url, charge) in received {
        assert_eq!(posts.get(url), Some(charge), "{url} was delivered");
    }
    let mut ends: HashMap<String, u32> = HashMap::new();
    for end in of_kind("post").chain(of_kind("void")) {
        *ends.entry(text(end, "id").split_off(2)).or_default() += 1;
    }
    for reserve in of_kind("reserve") {
        let hold = text(reserve, "id").split_off(2);
        assert_eq!(ends.get(&hold), Some(&1), "{reserve}");
    }
    let sum: i64 = entries.iter().map(amount).sum();
    assert_eq!(statement["balance"], sum);
    assert_eq!(START - sum, posts.values().sum::<i64>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledger_is_consistent_after_a_kill_at_any_moment() {
    let began = Instant::now();
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(World::new());
    let (received, count) = (Received::default(), Arc::new(AtomicU64::new(0)));
    for round in 0..KILLS {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                tokio::spawn(ask_on(
                    server.clone(),
                    site.url("/page"),
                    Arc::clone(&count),
                    Arc::clone(&received),
                ))
            })
            .collect();
        let n_delivered = || received.lock().unwrap().len();
        let enough = n_delivered() + 10;
        let until = Instant::now() + Duration::from_secs(30);
        while n_delivered() <= enough && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        // The ledger is written in groups that take a few milliseconds; this spreads the kills over
        // them.
        tokio::time::sleep(Duration::from_micros(100_000 + round * 1_371)).await;
        server.kill();
        for client in clients {
            client.await.unwrap();
        }
        server.start_again();
        let audit = server.account(&["verify"]);
        assert_eq!(audit["disagreements"], json!([]), "after kill {round}");
        let accounts = server.account(&["list"]);
        assert_eq!(accounts[0]["held"], 0, "after kill {round}");
    }
    let statement = server.account(&["statement", "caller"]);
    let received = received.lock().unwrap();
    let (asked, delivered) = (count.load(Ordering::Relaxed), received.len());
    assert_consistent(&statement, &received);
    let n_voids = statement["sums"]["void"]["entries"]
        .as_u64()
        .unwrap_or_default();
    eprintln!(
        "{KILLS} kills in {:?}: {asked} pages requested, {delivered} delivered, {n_voids} voided",
        began.elapsed()
    );
    assert!(
        delivered as u64 > KILLS * 10,
        "too few pages to be significant"
    );
    assert!(n_voids > 0, "no kill interrupted a page");
}
