//! A server that is asked to end: nothing new, what was begun is finished, and what runs in the background goes on with the next one.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use trawl_tests::{Caller, FakeSite, ServerProcess, World, run_program};

/// How long a server takes at most that has nothing to wait for but pages of a second.
const SOON: Duration = Duration::from_secs(15);

/// Pages that take a second each, linked from one another.
fn slow_pages(site: &FakeSite, count: usize) -> Vec<String> {
    (0..count)
        .map(|n| site.url(&format!("/slow/{n}")))
        .collect()
}

/// Waits until a server that was asked to end refuses new work.
async fn refuses(caller: &Caller) {
    for _ in 0..100 {
        let sent = caller.send(Method::GET, "/data/credits", &[], String::new());
        let answer = sent.await.expect("an answer while requests are in flight");
        if answer.status == 503 {
            assert_eq!(answer.header("retry-after"), "1");
            assert_eq!(answer.error(), "the server is shutting down");
            return;
        }
        assert_eq!(answer.status, 200);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it goes on taking work");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_end_whole_while_new_requests_are_refused() {
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(World::new());
    let pages = slow_pages(&site, 12);
    let body =
        json!({"url": pages.join(","), "request": "http", "return_format": "text", "cache": false});
    let headers = [("accept", "application/jsonl")];
    let mut stream = server
        .open(Method::POST, "/scrape", &headers, body.to_string())
        .await
        .expect("an answer");
    let mut received = stream
        .chunk()
        .await
        .expect("a stream")
        .expect("a first entry")
        .to_vec();
    server.terminate();
    // On a connection of its own: the server still listens.
    refuses(&Caller::new(
        server
            .base
            .trim_start_matches("http://")
            .parse()
            .expect("an address"),
        &server.key,
    ))
    .await;
    let health = server.get("/health").await;
    assert_eq!(health.status, 503);
    while let Some(piece) = stream.chunk().await.expect("a whole stream") {
        received.extend_from_slice(&piece);
    }
    let text = String::from_utf8(received).expect("UTF-8");
    let entries: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a whole entry a line"))
        .collect();
    assert_eq!(entries.len(), pages.len());
    assert!(
        entries.iter().all(|entry| entry["error"].is_null()),
        "{text}"
    );
    assert!(server.ended(SOON).await, "it ended well");
    let audit = server.account(&["verify"]);
    assert_eq!(audit["disagreements"], json!([]));
    assert_eq!(server.account(&["list"])[0]["held"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crawls_in_the_background_go_on_with_the_next_server() {
    let site = FakeSite::start().await;
    let links: String = (0..30)
        .map(|n| format!("<a href=\"/p/{n}\">{n}</a> "))
        .collect();
    let seed = site.put("/root", "text/html", links);
    for n in 0..30 {
        site.put(&format!("/p/{n}"), "text/html", format!("<p>{n}</p>"));
    }
    let mut server = ServerProcess::start(World::new());
    let body = json!({
        "url": seed, "request": "http", "return_format": "text", "cache": false, "run_in_background": true, "delay": 100,
    });
    let id = server
        .post("/crawl", &[], &body)
        .await
        .header("x-crawl-id")
        .to_owned();
    let path = format!("/crawl/{id}");
    tokio::time::sleep(Duration::from_millis(700)).await;
    server.terminate();
    assert!(server.ended(SOON).await, "it ended well");
    let n_before = site.requests().len();
    assert!(n_before < 30, "the crawl was in the middle: {n_before}");
    let audit = server.account(&["verify"]);
    assert_eq!(audit["disagreements"], json!([]));
    // The command line works without a server, and nothing stays set aside.
    assert_eq!(server.account(&["list"])[0]["held"], 0);

    server.start_again();
    let mut state = Value::Null;
    for _ in 0..200 {
        state = server.get(&path).await.json();
        if state["state"] == "ended" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(state["stop_reason"], "completed", "{state}");
    assert_eq!(state["pages"], 31);
    let fetched = site.requests();
    let of_pages = fetched.iter().filter(|head| head.starts_with("GET /p/"));
    // One that was in flight when the server ended may be asked for again, and no other.
    assert!((30..=31).contains(&of_pages.count()), "{fetched:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_in_the_same_directory_is_refused_in_one_sentence() {
    let server = ServerProcess::start(World::new());
    let path = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    let (data, plugins) = (path(server.world.data()), path(server.world.plugins()));
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data",
        &data,
        "--plugins",
        &plugins,
    ];
    let output = run_program(&server.world, &arguments, b"");
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("in use") && told.contains(&data), "{told}");
    assert_eq!(server.get("/data/credits").await.status, 200);
    assert_eq!(server.account(&["list"])[0]["name"], "caller");
}
