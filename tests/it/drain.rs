//! Graceful shutdown: new requests are refused, running ones finish, and background crawls resume
//! in the next server.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use trawl_tests::vendors::GOOD_KEY;
use trawl_tests::{Caller, FakeSite, SearchServer, ServerProcess, World, run_program};

/// Upper bound on a shutdown that waits only for pages of a few seconds.
const SOON: Duration = Duration::from_secs(30);

/// Pages that each take 450 ms longer than the one before: the first is there at once, the others
/// are in flight for a while.
fn slow_pages(site: &FakeSite, count: usize) -> Vec<String> {
    (0..count)
        .map(|n| site.url(&format!("/slow/{}", n * 450)))
        .collect()
}

/// Waits until a server that is shutting down refuses new requests.
async fn until_refused(caller: &Caller) {
    for _ in 0..100 {
        let sent = caller.send(Method::GET, "/data/credits", &[], String::new());
        let answer = sent.await.expect("an answer while requests are in flight");
        if answer.status == 503 {
            assert_eq!(answer.header("retry-after"), "1");
            let reason = answer.error();
            assert!(
                reason.starts_with("the server is shutting down: "),
                "{reason}"
            );
            return;
        }
        assert_eq!(answer.status, 200);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the server still accepts requests");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_complete_while_new_requests_are_refused() {
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
    // On a new connection, because the server is still listening.
    until_refused(&Caller::new(
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
    assert!(server.ended(SOON).await, "it exited successfully");
    let audit = server.account(&["verify"]);
    assert_eq!(audit["disagreements"], json!([]));
    assert_eq!(server.account(&["list"])[0]["held"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_whose_caller_hung_up_is_charged_before_the_end() {
    let services = SearchServer::start().await;
    let mut world = World::new();
    world.use_searches(services.address, &[], &[("BRAVE_API_KEY", GOOD_KEY)]);
    let mut server = ServerProcess::start(world);
    services.hold(true);
    let body = json!({"search": "tides"});
    let is_asked = async {
        while services.asked().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        answer = server.post("/search", &[], &body) => panic!("it is held back: {answer:?}"),
        () = is_asked => {}
    }
    server.terminate();
    // A server that does not wait for the search has ended by then.
    tokio::time::sleep(Duration::from_secs(2)).await;
    services.hold(false);
    assert!(server.ended(SOON).await, "it exited successfully");
    let statement = server.account(&["statement", "caller"]);
    let entries = statement["entries"].as_array().expect("a list");
    let posts = entries.iter().filter(|entry| entry["kind"] == "post");
    let amounts: Vec<_> = posts.map(|post| post["amount"].as_i64()).collect();
    assert_eq!(amounts, [Some(-6_000_000)]);
    assert_eq!(server.account(&["list"])[0]["held"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn background_crawls_resume_in_the_next_server() {
    let site = FakeSite::start().await;
    let seed = site.put_linked(30);
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
    assert!(server.ended(SOON).await, "it exited successfully");
    let n_before = site.requests().len();
    assert!(n_before < 30, "the crawl was still running: {n_before}");
    let audit = server.account(&["verify"]);
    assert_eq!(audit["disagreements"], json!([]));
    // The command line works without a server, and nothing is still reserved.
    assert_eq!(server.account(&["list"])[0]["held"], 0);

    server.start_again();
    let mut state = Value::Null;
    for _ in 0..1_200 {
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
    // Only a page that was in flight when the server stopped may be requested again.
    assert!((30..=31).contains(&of_pages.count()), "{fetched:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_on_the_same_data_directory_does_not_start() {
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
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("in use") && stderr.contains(&data),
        "{stderr}"
    );
    assert_eq!(server.get("/data/credits").await.status, 200);
    assert_eq!(server.account(&["list"])[0]["name"], "caller");
}
