//! The memory budget: what one account has fetched at once never holds more, and others do not wait
//! for it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use trawl_tests::caller::assert_free;
use trawl_tests::coding::stalled_body;
use trawl_tests::{FakeSite, ServerProcess, World};

/// The budget of the server, in MiB. The bodies of the attack would hold 10 GiB.
const BUDGET_MIB: u64 = 128;
/// Upper bound on the server's peak memory: the budget, and what the server has without it.
const PEAK_KIB_MAX: u64 = 512 * 1024;
/// A page of another account. Most take some milliseconds on an idle machine.
const INNOCENT_TIME_MAX: Duration = Duration::from_secs(15);

/// 16 requests of 10 pages whose bodies stall after 63 MiB of gzip.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_stall_stay_within_the_budget() {
    let _compressed = stalled_body();
    let mut world = World::new();
    world.allow_private = &["127.0.0.0/8"];
    world.config = format!("memory_mib = {BUDGET_MIB}\nbody_idle_seconds = 2\n");
    let (server, site) = (ServerProcess::start(world), FakeSite::start().await);
    let another = |name: &str| {
        let created = server.account(&["create", name, "--top-up", "10"]);
        server.with_key(created["api_key"].as_str().expect("a key"))
    };
    let (greedy, innocent) = (another("greedy"), another("innocent"));
    let small = site.url("/page");
    // Each request has a host of its own, so that no host's limit holds it back.
    let mut hosts = Vec::new();
    for number in 0..16 {
        hosts.push(FakeSite::start_at(&format!("127.0.1.{}", number + 1)).await);
    }
    let mut attack = JoinSet::new();
    for host in &hosts {
        let urls: Vec<_> = (0..10)
            .map(|n| host.url(&format!("/stalled?{n}")))
            .collect();
        let body = json!({"url": urls.join(","), "request": "http", "request_timeout": 30});
        let greedy = greedy.clone();
        attack.spawn(async move { greedy.scrape(body).await });
    }
    let attack = attack.join_all();
    tokio::pin!(attack);
    let mut slowest = Duration::ZERO;
    let mut waiting = 0;
    let answers: Vec<Vec<Value>> = loop {
        let begun = Instant::now();
        let visit = innocent.fine(json!({"url": small, "request": "http", "cache": false}));
        let visit = async {
            visit.await;
            slowest = slowest.max(begun.elapsed());
            let health = innocent.get("/health").await.json();
            let memory = &health["memory"];
            assert_eq!(memory["bytes_max"], BUDGET_MIB << 20);
            let used = memory["bytes"].as_u64().expect("a number");
            assert!(used <= BUDGET_MIB << 20, "{memory}");
            waiting = waiting.max(memory["waiting"].as_u64().expect("a number"));
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        tokio::select! {
            answers = &mut attack => break answers,
            () = visit => {}
        }
    };
    for entry in answers.iter().flatten() {
        let error = entry["error"].as_str().expect("an error");
        let is_known = error.contains("for memory") || error.contains("stalled");
        assert!(is_known || entry["status"] == 524, "{entry}");
        assert_free(entry);
    }
    assert!(waiting > 0, "no page had to wait");
    assert!(slowest < INNOCENT_TIME_MAX, "{slowest:?}");
    let peak = server.peak_kib();
    assert!(peak < PEAK_KIB_MAX, "{peak} KiB");
    // A report of `/health` is reused for a second.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let health = innocent.get("/health").await.json();
    assert_eq!(health["memory"]["waiting"], 0);
}
