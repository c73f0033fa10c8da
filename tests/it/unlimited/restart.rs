//! The server is killed: slots are free again, crawls resume under their plan, and nothing is
//! charged twice.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_tests::{FakeSite, ServerProcess, World};

use super::{CRAWL, SCRAPE, SOON, assert_full, concurrency, one, open};

/// Seats, bought one by one at $20 each.
const SEATS: u32 = 6;
/// Number of kills while each of them is bought.
const ROUNDS: u64 = 3;
/// A dollar in nanodollars.
const DOLLAR: i64 = 1_000_000_000;

fn start(dollars: &'static str) -> ServerProcess {
    let mut world = World::new();
    world.dollars = dollars;
    ServerProcess::start(world)
}

async fn state(server: &ServerProcess, id: &str) -> Value {
    server.get(&format!("/crawl/{id}")).await.json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_are_free_after_a_kill() {
    let site = FakeSite::start().await;
    let mut server = start("20");
    server.account(&["seats", "caller", "1"]);
    let page = one(&site.url("/page"));
    let both = one(&format!("{},{}", site.url("/page"), site.url("/silent")));
    for _ in 0..3 {
        let busy = open(&server, SCRAPE, &both).await;
        assert_full(&server.post(SCRAPE, &[], &page).await, 1);
        server.kill();
        drop(busy);
        server.start_again();
        let answer = server.post(SCRAPE, &[], &page).await;
        assert_eq!((answer.status, concurrency(&answer)), (200, ("1", "1")));
    }
    let audit = server.account(&["verify"]);
    assert_eq!(audit["disagreements"], json!([]));
    let listed = server.account(&["list"]);
    assert_eq!(
        (&listed[0]["balance"], &listed[0]["held"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(listed[0]["subscription"]["state"], "active");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_resumes_under_its_plan_with_its_slot() {
    let site = FakeSite::start().await;
    let seed = site.put_linked(40);
    let mut server = start("20");
    server.account(&["seats", "caller", "1"]);
    let body = json!({
        "url": seed, "request": "http", "return_format": "text", "cache": false, "run_in_background": true, "delay": 300,
    });
    let queued = server.post(CRAWL, &[], &body).await;
    assert_eq!(concurrency(&queued), ("1", "1"));
    let id = queued.header("x-crawl-id").to_owned();
    let page = one(&site.url("/page"));
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        server.kill();
        server.start_again();
        let now = state(&server, &id).await;
        assert_ne!(now["state"], "ended", "{now}");
        assert_full(&server.post(SCRAPE, &[], &page).await, 1);
    }
    let began = Instant::now();
    let ended = loop {
        let now = state(&server, &id).await;
        if now["state"] == "ended" {
            break now;
        }
        assert!(began.elapsed() < 6 * SOON, "{now}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(
        (&ended["stop_reason"], &ended["pages"]),
        (&json!("completed"), &json!(41))
    );
    assert_eq!(
        (&ended["failed"], &ended["costs"]["total_cost"]),
        (&json!(0), &json!(0.0))
    );
    let began = Instant::now();
    while server.post(SCRAPE, &[], &page).await.status == 429 {
        assert!(began.elapsed() < SOON);
    }
    let statement = server.account(&["statement", "caller"]);
    assert_eq!(statement["balance"], 0);
    assert_eq!(statement["sums"]["post"]["amount"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_are_charged_once_despite_kills() {
    let mut server = start("400");
    for seats in 1..=SEATS {
        let count = seats.to_string();
        for round in 0..ROUNDS {
            let data = server.world.data();
            let data = data.to_str().unwrap();
            let words = [
                "account", "--json", "--data", data, "seats", "caller", &count,
            ];
            // The server responds in time or not, or the command opens the store itself.
            let after = Duration::from_millis(2 + round * 4 + u64::from(seats) % 4);
            server.kill_during(&words, after);
            server.start_again();
        }
        let after = server.account(&["seats", "caller", &count]);
        assert_eq!(after["subscription"]["seats"], seats);
        assert_eq!(after["balance"], (400 - 20 * i64::from(seats)) * DOLLAR);
    }
    let statement = server.account(&["statement", "caller"]);
    assert_eq!(statement["sums"]["seats"]["entries"], SEATS);
    let charged = statement["sums"]["seats"]["amount"].as_i64().unwrap();
    assert_eq!(charged, -20 * i64::from(SEATS) * DOLLAR);
    let audit = server.account(&["verify"]);
    assert_eq!(audit["disagreements"], json!([]));
}
