//! Queued crawls: rows that wait for their turn, within a limit of bytes, and that a restart
//! continues.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use trawl_tests::{FakeSite, ServerProcess, World};

/// Background crawls of an account that run at once.
const RUNNING: usize = 16;
/// Long enough for a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a background crawl of one page and returns its id.
async fn start(server: &ServerProcess, url: &str, more: Value) -> String {
    let mut body = json!({
        "url": url, "limit": 1, "run_in_background": true, "request": "http",
        "respect_robots": false, "cache": false, "request_timeout": 120,
    });
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    let answer = server.post("/crawl", &[], &body).await;
    assert_eq!(answer.status, 200, "{}", answer.error());
    answer.json()["id"].as_str().expect("an id").to_owned()
}

/// Starts as many crawls as run at once, of pages that take twenty seconds, and waits until they
/// run. A cancelled crawl would wait for its page, so they end by themselves.
async fn occupy(server: &ServerProcess, site: &FakeSite) -> Vec<String> {
    let mut ids = Vec::new();
    for n in 0..RUNNING {
        let url = site.url(&format!("/slow/20000?{n}"));
        ids.push(start(server, &url, json!({})).await);
    }
    let until = Instant::now() + PATIENCE;
    for id in &ids {
        while state(server, id).await != "running" {
            assert!(Instant::now() < until, "a crawl does not start");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    ids
}

async fn state(server: &ServerProcess, id: &str) -> String {
    let shown = server.get(&format!("/crawl/{id}")).await.json();
    shown["state"].as_str().expect("a state").to_owned()
}

async fn cancel(server: &ServerProcess, id: &str) {
    let path = format!("/crawl/{id}");
    let sent = server.send(Method::DELETE, &path, &[], String::new());
    assert_eq!(sent.await.map(|answer| answer.status), Some(200));
}

/// What the account uses of a limit.
async fn used(server: &ServerProcess, limit: &str) -> u64 {
    let account = server.get("/account").await.json();
    account["limits"][limit]["used"].as_u64().expect("a number")
}

async fn until_used(server: &ServerProcess, limit: &str, expected: u64) {
    let until = Instant::now() + PATIENCE;
    loop {
        let used = used(server, limit).await;
        if used == expected {
            return;
        }
        assert!(Instant::now() < until, "{limit}: {used}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queued_crawl_runs_with_the_secrets_of_its_request() {
    let site = FakeSite::start().await;
    let server = ServerProcess::start(World::new());
    occupy(&server, &site).await;
    until_used(&server, "queued_crawl_bytes", 0).await;
    let with_header = json!({
        "headers": {"X-Secret": "canary-1", "Accept": "text/html"}, "cookies": "a=canary-2",
    });
    let headers = start(&server, &site.url("/page?headers"), with_header).await;
    let with_password = site
        .url("/page?password")
        .replace("://", "://user:canary-3@");
    let password = start(&server, &with_password, json!({})).await;
    for id in [&headers, &password] {
        assert_eq!(state(&server, id).await, "queued");
    }
    assert!(used(&server, "queued_crawl_bytes").await > 0);
    for id in [&headers, &password] {
        let ended = server.crawl_ended(id, PATIENCE).await;
        assert_eq!(
            (&ended["stop_reason"], &ended["failed"]),
            (&json!("limit"), &json!(0))
        );
    }
    let heads = site.requests();
    let sent = |path: &str| {
        let head = heads
            .iter()
            .find(|head| head.starts_with(&format!("GET {path} ")));
        head.expect("it was fetched").to_lowercase()
    };
    let page = sent("/page?headers");
    assert!(
        page.contains("x-secret: canary-1") && page.contains("a=canary-2"),
        "{page}"
    );
    assert!(sent("/page?password").contains("authorization: basic "));
    until_used(&server, "queued_crawl_bytes", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_requests_of_queued_crawls_have_a_limit_together() {
    let site = FakeSite::start().await;
    let server = ServerProcess::start(World::new());
    occupy(&server, &site).await;
    // Secrets wait in memory, so each byte counts sixteen times.
    let script = json!({"execution_scripts": {"/never": "x".repeat(900_000)}});
    let mut queued = Vec::new();
    let refused = loop {
        let mut body = script.clone();
        body["url"] = site.url("/page").into();
        body["run_in_background"] = true.into();
        let answer = server.post("/crawl", &[], &body).await;
        if answer.status != 200 {
            break answer;
        }
        queued.push(answer.json()["id"].as_str().expect("an id").to_owned());
        assert!(queued.len() < 20, "there is no limit");
    };
    assert_eq!((refused.status, queued.len()), (429, 9));
    assert!(
        refused.error().starts_with("queued_crawl_bytes: "),
        "{}",
        refused.error()
    );
    assert!(!refused.header("retry-after").is_empty());
    assert_eq!(
        used(&server, "background_crawls").await,
        (RUNNING + 9) as u64
    );
    for id in &queued {
        cancel(&server, id).await;
    }
    until_used(&server, "queued_crawl_bytes", 0).await;
    until_used(&server, "background_crawls", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queued_crawls_continue_after_a_restart_and_count_from_the_first_answer_on() {
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(World::new());
    let running = occupy(&server, &site).await;
    let mut queued = Vec::new();
    for n in 0..6 {
        queued.push(start(&server, &site.url(&format!("/page?{n}")), json!({})).await);
    }
    server.kill();
    server.start_again();
    let n_crawls = (running.len() + queued.len()) as u64;
    assert_eq!(used(&server, "background_crawls").await, n_crawls);
    for id in running.iter().chain(&queued) {
        let state = state(&server, id).await;
        assert!(["queued", "running"].contains(&state.as_str()), "{state}");
    }
    // At once, perhaps before it is queued again.
    cancel(&server, &queued[0]).await;
    let cancelled = server.crawl_ended(&queued[0], PATIENCE).await;
    assert_eq!(cancelled["stop_reason"], "cancelled");
    for id in running.iter().chain(&queued[1..]) {
        let ended = server.crawl_ended(id, PATIENCE).await;
        assert_eq!(ended["stop_reason"], "limit", "{ended}");
    }
    assert!(
        !site
            .requests()
            .iter()
            .any(|head| head.starts_with("GET /page?0 "))
    );
    until_used(&server, "background_crawls", 0).await;
    until_used(&server, "queued_crawl_bytes", 0).await;
}
