//! Crawls and links under the Unlimited plan.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use trawl_tests::caller::assert_free;
use trawl_tests::{FakeSite, TestApp};

use super::{
    CRAWL, LINKS, SCRAPE, SOON, active, assert_full, concurrency, one, open, until_active,
    with_seats,
};

async fn ended(app: &TestApp, id: &str) -> Value {
    let began = Instant::now();
    loop {
        let state = app.get(&format!("/crawl/{id}")).await.json();
        if state["state"] == "ended" {
            return state;
        }
        assert!(began.elapsed() < 4 * SOON, "{state}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_needs_one_slot_and_is_free() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    let seed = site.put_linked(12);
    let body = json!({"url": seed, "request": "http", "return_format": "text", "cache": false});
    let answer = app.post(CRAWL, &[], &body).await;
    assert_eq!((answer.status, concurrency(&answer)), (200, ("1", "1")));
    let entries = answer.json();
    assert_eq!(entries.as_array().unwrap().len(), 13);
    for entry in entries.as_array().unwrap() {
        assert!(entry["error"].is_null(), "{entry}");
        assert_free(entry);
    }
    until_active(&app, 0).await;
    let state = ended(&app, answer.header("x-crawl-id")).await;
    assert_eq!(
        (&state["stop_reason"], &state["pages"]),
        (&json!("completed"), &json!(13))
    );
    assert_eq!(state["costs"]["total_cost"], 0.0);
    let links = app
        .post(
            LINKS,
            &[],
            &json!({"url": seed, "limit": 1, "request": "http"}),
        )
        .await;
    assert_eq!(concurrency(&links), ("1", "1"));
    assert_eq!(links.json()[0]["links"].as_array().unwrap().len(), 12);
    let posts = app.entries().await;
    let posts = posts.iter().filter(|entry| entry.kind.name() == "post");
    assert!(posts.clone().all(|post| post.amount.0 == 0));
    assert_eq!(posts.count(), 14);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_streaming_crawl_holds_its_slot_to_the_last_byte() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    let links = format!("<a href=\"{}\">slow</a>", site.url("/slow/2500"));
    let seed = site.put("/root", "text/html", links);
    let body = json!({"url": seed, "request": "http", "return_format": "text", "cache": false});
    let mut crawl = open(&app, CRAWL, &body).await;
    crawl.chunk().await.unwrap().expect("the root");
    assert_full(&app.post(LINKS, &[], &body).await, 1);
    while crawl.chunk().await.unwrap().is_some() {}
    until_active(&app, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_background_crawl_holds_its_slot_while_it_runs() {
    let (app, site) = (with_seats(2).await, FakeSite::start().await);
    let seed = site.put_linked(12);
    let body = json!({
        "url": seed, "request": "http", "return_format": "text", "cache": false, "run_in_background": true,
        "delay": 300, "webhooks": {"destination": site.url("/hook"), "on_credits_depleted": true},
    });
    let queued = app.post(CRAWL, &[], &body).await;
    assert_eq!((queued.status, concurrency(&queued)), (200, ("2", "1")));
    let id = queued.header("x-crawl-id").to_owned();
    assert_eq!(active(&app), 1);
    let page = app.post(SCRAPE, &[], &one(&site.url("/page"))).await;
    assert_eq!(concurrency(&page), ("2", "2"));
    let second = app.post(CRAWL, &[], &body).await;
    assert_eq!(concurrency(&second), ("2", "2"));
    assert_full(&app.post(SCRAPE, &[], &one(&site.url("/page"))).await, 2);
    let stopped = app
        .send(
            Method::DELETE,
            &format!("/crawl/{}", second.header("x-crawl-id")),
            &[],
            String::new(),
        )
        .await;
    assert_eq!(stopped.unwrap().status, 200);
    until_active(&app, 1).await;
    let state = ended(&app, &id).await;
    assert_eq!(
        (&state["stop_reason"], &state["pages"]),
        (&json!("completed"), &json!(13))
    );
    until_active(&app, 0).await;
    let hooked = site
        .requests()
        .into_iter()
        .any(|head| head.contains("/hook"));
    assert!(!hooked, "no credits are used up");
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_seeds_are_one_request() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    let seed = site.put_linked(2);
    let body = json!([
        {"url": seed, "request": "http", "run_in_background": true, "delay": 100},
        {"url": site.url("/p/0"), "request": "http", "run_in_background": true},
    ]);
    let queued = app.post(CRAWL, &[], &body).await;
    assert_eq!((queued.status, concurrency(&queued)), (200, ("1", "1")));
    for id in queued.header("x-crawl-id").split(", ") {
        ended(&app, id).await;
    }
    until_active(&app, 0).await;
}
