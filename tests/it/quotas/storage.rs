//! Bytes that an account may store, crawls that it may have.

use serde_json::{Value, json};
use trawl_tests::{TestApp, TrapSite, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_ends_when_its_account_has_stored_its_share() {
    let mut world = World::new();
    world.limits.stored_mib_per_account = 1;
    let (app, site) = (TestApp::of(world).await, TrapSite::start().await);
    // The URLs of ten thousand links are more than a mebibyte.
    let request = json!({"url": site.url("/many"), "request": "http", "return_format": "empty", "cache": false});
    let answer = app.post("/crawl", &[], &request).await;
    assert_eq!(answer.status, 200);
    let id = answer.header("x-crawl-id");
    let status = app.get(&format!("/crawl/{id}")).await.json();
    assert_eq!(status["stop_reason"], "stored_bytes", "{status}");
    let entries: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    assert!(entries.len() < 5_000, "{}", entries.len());
    let limits = app.get("/account").await.json()["limits"].take();
    let stored = limits["stored_bytes"]["used"].as_u64();
    assert!(
        stored >= limits["stored_bytes"]["limit"].as_u64(),
        "{limits}"
    );
    assert_eq!(limits["streaming_crawls"]["used"], 0, "{limits}");
    let refused = app.post("/crawl", &[], &request).await;
    assert_eq!(refused.status, 507);
    assert!(
        refused.error().starts_with("stored_bytes: "),
        "{}",
        refused.error()
    );
    let page = json!({"url": site.url("/leaf/1"), "cache": false});
    assert_eq!(app.post("/scrape", &[], &page).await.status, 200);
    let pages = app.get(&format!("/crawl/{id}/pages")).await;
    assert_eq!(pages.status, 200, "what is stored can be read");
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_streaming_crawl_has_its_place_as_long_as_it_runs() {
    let mut world = World::new();
    world.limits.streaming_crawls_per_account = 1;
    let (app, site) = (TestApp::of(world).await, TrapSite::start().await);
    let slow = json!({"url": site.url("/many"), "return_format": "empty", "request": "http", "delay": 200, "cache": false});
    let headers = [("content-type", "application/jsonl")];
    let open = app.open(http::Method::POST, "/crawl", &headers, slow.to_string());
    let open = open.await.expect("a response");
    assert_eq!(open.status(), 200);
    let id = open.headers()["x-crawl-id"].to_str().unwrap().to_owned();
    let one = json!({"url": site.url("/leaf/1"), "limit": 1});
    let refused = app.post("/crawl", &[], &one).await;
    assert_eq!(refused.status, 429);
    let error = refused.error();
    assert!(
        error.starts_with("streaming_crawls: the account has 1 of 1"),
        "{error}"
    );
    let background = json!({"url": site.url("/leaf/1"), "limit": 1, "run_in_background": true});
    assert_eq!(app.post("/crawl", &[], &background).await.status, 200);
    // A caller who hangs up frees the place.
    drop(open);
    let mut answer = app.post("/crawl", &[], &one).await;
    for _ in 0..100 {
        if answer.status != 429 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        answer = app.post("/crawl", &[], &one).await;
    }
    let crawl = app.get(&format!("/crawl/{id}")).await.json();
    assert_eq!(answer.status, 200, "{crawl}");
}
