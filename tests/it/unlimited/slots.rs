//! Slots are held until the last byte of a response, and are freed however a request ends.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_tests::FakeSite;

use super::{
    CRAWL, SCRAPE, SOON, active, assert_full, concurrency, one, open, until_active, with_seats,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_is_held_until_the_last_byte_of_a_stream() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    let pages = format!("{},{}", site.url("/page"), site.url("/slow/2500"));
    let mut stream = open(&app, SCRAPE, &one(&pages)).await;
    assert_eq!(stream.headers()["x-concurrency-active"], "1");
    let first = stream.chunk().await.unwrap().expect("the first page");
    assert!(first.ends_with(b"\n"));
    assert_full(&app.post(SCRAPE, &[], &one(&site.url("/page"))).await, 1);
    let second = stream.chunk().await.unwrap().expect("the second page");
    let entry: Value = serde_json::from_slice(&second).unwrap();
    assert_eq!(entry["url"], site.url("/slow/2500"));
    while stream.chunk().await.unwrap().is_some() {}
    until_active(&app, 0).await;
    let after = app.post(SCRAPE, &[], &one(&site.url("/page"))).await;
    assert_eq!(after.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_is_freed_when_the_client_disconnects() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    let (page, silent) = (site.url("/page"), site.url("/silent"));
    for round in 0..10 {
        // In the middle of a stream.
        let mut stream = open(&app, SCRAPE, &one(&format!("{page},{silent}?{round}"))).await;
        stream.chunk().await.unwrap().expect("the first page");
        assert_eq!(active(&app), 1);
        drop(stream);
        until_active(&app, 0).await;

        // Before the response.
        let url = format!("{silent}?{round}");
        let caller = (*app).clone();
        let asked = tokio::spawn(async move { caller.post(SCRAPE, &[], &one(&url)).await });
        until_active(&app, 1).await;
        asked.abort();
        until_active(&app, 0).await;

        // In the middle of a crawl.
        let body = json!({"url": site.url("/slow/500"), "request": "http", "cache": false, "return_format": "text"});
        let crawl = open(&app, CRAWL, &body).await;
        assert_eq!(active(&app), 1);
        drop(crawl);
        until_active(&app, 0).await;
    }
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_is_freed_after_failed_pages() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    for path in ["/status/500", "/reset", "/truncated", "/garbage", "/loop"] {
        let answer = app.post(SCRAPE, &[], &one(&site.url(path))).await;
        assert_eq!((answer.status, concurrency(&answer)), (200, ("1", "1")));
        assert!(answer.json()[0]["error"].is_string(), "{path}");
        until_active(&app, 0).await;
    }
    let mut slow = one(&site.url("/silent"));
    slow["request_timeout"] = json!(1_000);
    let began = Instant::now();
    let answer = app.post(SCRAPE, &[], &slow).await;
    assert_eq!(answer.json()[0]["status"], 524);
    assert!(began.elapsed() < SOON);
    until_active(&app, 0).await;
    let refused = app
        .post(SCRAPE, &[], &json!({"url": "a", "cookies": 3}))
        .await;
    assert_eq!((refused.status, active(&app)), (400, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seats_can_change_while_requests_run() {
    let (app, site) = (with_seats(2).await, FakeSite::start().await);
    let (page, silent) = (site.url("/page"), site.url("/silent"));
    let billing = app.app.billing();
    let two = one(&format!("{page},{silent}"));
    let (first, second) = (
        open(&app, SCRAPE, &two).await,
        open(&app, SCRAPE, &two).await,
    );
    assert_eq!(second.headers()["x-concurrency-active"], "2");
    assert_full(&app.post(SCRAPE, &[], &one(&page)).await, 2);
    let more = trawl_model::Nanodollars(20_000_000_000);
    billing.top_up(&app.account, more, None).await.unwrap();
    billing.set_seats(&app.account, 3).await.unwrap();
    let third = app.post(SCRAPE, &[], &one(&page)).await;
    assert_eq!((third.status, concurrency(&third)), (200, ("3", "3")));

    billing.suspend_seats(&app.account).await.unwrap();
    let refused = app.post(SCRAPE, &[], &one(&page)).await;
    assert_eq!(
        (refused.status, refused.error().as_str()),
        (403, "unlimited_plan_inactive")
    );
    // Requests in flight continue.
    assert_eq!(active(&app), 2);
    drop(first);
    until_active(&app, 1).await;
    billing.resume_seats(&app.account).await.unwrap();
    let again = app.post(SCRAPE, &[], &one(&page)).await;
    assert_eq!(concurrency(&again), ("3", "2"));
    drop(second);
    until_active(&app, 0).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(active(&app), 0);
}
