//! The plan ends while work is under way: no further page begins, and a background crawl is parked.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use trawl_tests::{Caller, FakeSite, ServerProcess, World};

use super::{CRAWL, SCRAPE, SOON, active, one, open, until_active, with_seats};

/// A chain of pages: each links to the next one.
fn chain(site: &FakeSite, pages: usize) -> String {
    for n in 0..pages {
        let next = format!("<p>{n} <a href=\"/chain/{}\">next</a>", n + 1);
        site.put(&format!("/chain/{n}"), "text/html", next);
    }
    site.put(&format!("/chain/{pages}"), "text/html", "<p>the end");
    site.url("/chain/0")
}

/// A crawl of it that takes its time.
fn slowly(seed: &str, in_background: bool) -> Value {
    json!({
        "url": seed, "request": "http", "return_format": "text", "cache": false, "delay": 200, "depth": 1_000,
        "run_in_background": in_background,
    })
}

/// A crawl of it whose second page waits for its turn for longer than a test does.
fn waiting(seed: &str, in_background: bool) -> Value {
    let mut crawl = slowly(seed, in_background);
    crawl["delay"] = json!(60_000);
    crawl["respect_robots"] = json!(false);
    crawl
}

/// Waits until a crawl is in this state.
async fn until(caller: &Caller, id: &str, state: &str) -> Value {
    let began = Instant::now();
    loop {
        let now = caller.get(&format!("/crawl/{id}")).await.json();
        if now["state"] == state {
            return now;
        }
        assert!(began.elapsed() < SOON, "not {state}: {now}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn until_pages(site: &FakeSite, count: usize) {
    let began = Instant::now();
    while site.requests().len() < count {
        assert!(began.elapsed() < SOON, "nothing is fetched");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_background_crawl_is_parked_when_its_plan_is_suspended_and_can_be_resumed() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    let seed = chain(&site, 40);
    let queued = app.post(CRAWL, &[], &slowly(&seed, true)).await;
    let id = queued.header("x-crawl-id").to_owned();
    until_pages(&site, 4).await;
    let billing = app.app.billing();
    billing.suspend_seats(&app.account).await.unwrap();
    let parked = until(&app, &id, "parked").await;
    assert_eq!(parked["stop_reason"], "plan_ended");
    assert!(parked.get("missing_secrets").is_none(), "{parked}");
    assert_eq!(active(&app), 0);
    let seen = site.requests().len();
    assert!(seen < 40, "it was not cut off");
    let resume = format!("/crawl/{id}/resume");
    let refused = app.post(&resume, &[], &json!({})).await;
    assert_eq!(
        (refused.status, refused.error()),
        (403, "unlimited_plan_inactive".to_owned())
    );
    assert_eq!(site.requests().len(), seen, "nothing was fetched meanwhile");
    billing.resume_seats(&app.account).await.unwrap();
    let resumed = app.post(&resume, &[], &json!({})).await;
    assert_eq!(resumed.status, 200);
    assert!(resumed.json().get("stop_reason").is_none());
    let ended = app.crawl_ended(&id, 2 * SOON).await;
    assert_eq!(
        (&ended["stop_reason"], &ended["pages"]),
        (&json!("completed"), &json!(41))
    );
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_streamed_crawl_ends_when_its_plan_is_suspended() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    let seed = chain(&site, 200);
    let stream = open(&app, CRAWL, &slowly(&seed, false)).await;
    let id = stream.headers()["x-crawl-id"].to_str().unwrap().to_owned();
    let reading = tokio::spawn(stream.bytes());
    until_pages(&site, 4).await;
    let billing = app.app.billing();
    billing.suspend_seats(&app.account).await.unwrap();
    let body = tokio::time::timeout(SOON, reading).await.expect("it ends");
    let body = body.unwrap().expect("a whole response");
    let n_lines = body.iter().filter(|&&byte| byte == b'\n').count();
    assert!((1..100).contains(&n_lines), "{n_lines}");
    let ended = app.crawl_ended(&id, SOON).await;
    assert_eq!(ended["stop_reason"], "plan_ended");
    until_active(&app, 0).await;
}

/// Waits until the first page of a crawl is delivered, so that the second one waits for its turn.
async fn until_it_waits(caller: &Caller, id: &str) {
    let began = Instant::now();
    while caller.get(&format!("/crawl/{id}")).await.json()["pages"] != 1 {
        assert!(began.elapsed() < SOON, "its first page is not delivered");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_waits_for_its_turn_is_left_to_the_parked_crawl() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    let queued = app.post(CRAWL, &[], &waiting(&chain(&site, 3), true)).await;
    let id = queued.header("x-crawl-id").to_owned();
    until_it_waits(&app, &id).await;
    app.app.billing().suspend_seats(&app.account).await.unwrap();
    let parked = until(&app, &id, "parked").await;
    assert_eq!(parked["stop_reason"], "plan_ended");
    assert_eq!(parked["pages"], 1);
    let skipped = app.get(&format!("/crawl/{id}/skipped")).await.json();
    assert_eq!(
        skipped,
        json!([]),
        "its pages are fetched once it is resumed"
    );
    until_active(&app, 0).await;
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_waits_for_its_turn_ends_with_the_plan_of_a_streamed_crawl() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    let stream = open(&app, CRAWL, &waiting(&chain(&site, 3), false)).await;
    let id = stream.headers()["x-crawl-id"].to_str().unwrap().to_owned();
    let reading = tokio::spawn(stream.bytes());
    until_it_waits(&app, &id).await;
    app.app.billing().suspend_seats(&app.account).await.unwrap();
    let body = tokio::time::timeout(SOON, reading).await.expect("it ends");
    body.unwrap().expect("a whole response");
    let ended = app.crawl_ended(&id, SOON).await;
    assert_eq!(
        (&ended["stop_reason"], &ended["pages"]),
        (&json!("plan_ended"), &json!(1))
    );
    until_active(&app, 0).await;
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_have_not_begun_fail_when_the_plan_is_suspended() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    // Ten pages are in flight at a time.
    let urls: Vec<String> = (0..14)
        .map(|n| site.url(&format!("/slow/1500?{n}")))
        .collect();
    let body = one(&urls.join(","));
    let caller = (*app).clone();
    let sent = tokio::spawn(async move { caller.post(SCRAPE, &[], &body).await });
    until_pages(&site, 1).await;
    let billing = app.app.billing();
    billing.suspend_seats(&app.account).await.unwrap();
    let answer = sent.await.unwrap();
    assert_eq!(answer.status, 200);
    let entries = answer.json();
    let errors = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["error"]);
    let (good, failed): (Vec<_>, Vec<_>) = errors.partition(|error| error.is_null());
    assert_eq!((good.len(), failed.len()), (10, 4), "{failed:?}");
    for error in failed {
        assert_eq!(error, "the Unlimited plan ended before this page began");
    }
    until_active(&app, 0).await;
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_that_is_recovered_without_a_plan_is_parked() {
    let site = FakeSite::start().await;
    let seed = chain(&site, 30);
    let mut world = World::new();
    world.dollars = "20";
    let mut server = ServerProcess::start(world);
    server.account(&["seats", "caller", "1"]);
    let queued = server.post(CRAWL, &[], &slowly(&seed, true)).await;
    let id = queued.header("x-crawl-id").to_owned();
    until_pages(&site, 4).await;
    server.kill();
    server.account(&["seats", "caller", "--suspend"]);
    for _ in 0..2 {
        server.start_again();
        let parked = until(&server, &id, "parked").await;
        assert_eq!(parked["stop_reason"], "plan_ended");
        server.kill();
    }
    server.account(&["seats", "caller", "--resume"]);
    server.start_again();
    // It waits for its account, however often the server starts.
    until(&server, &id, "parked").await;
    let path = format!("/crawl/{id}/resume");
    let sent = server.send(Method::POST, &path, &[], "{}".to_owned()).await;
    assert_eq!(sent.expect("an answer").status, 200);
    let ended = server.crawl_ended(&id, 2 * SOON).await;
    assert_eq!(
        (&ended["stop_reason"], &ended["pages"]),
        (&json!("completed"), &json!(31))
    );
}
