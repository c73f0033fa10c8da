//! The Unlimited plan over real sockets: admission, concurrency, and how long slots are held.

mod checks;
mod crawls;
mod ended;
mod load;
mod pool;
mod restart;
mod slots;

use std::time::{Duration, Instant};

use reqwest::{Method, Response};
use serde_json::{Value, json};
use trawl_model::Nanodollars;
use trawl_tests::{Answer, Caller, TestApp, World};

const SCRAPE: &str = "/unlimited/scrape";
const CRAWL: &str = "/unlimited/crawl";
const LINKS: &str = "/unlimited/links";
/// Upper bound on the duration of something immediate, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// A server whose account has spent its whole balance on seats.
async fn with_seats(seats: u32) -> TestApp {
    let mut world = World::new();
    world.dollars = "0";
    let app = TestApp::of(world).await;
    let price = Nanodollars(20_000_000_000 * i64::from(seats));
    let billing = app.app.billing();
    let paid = billing.top_up(&app.account, price, None).await;
    paid.expect("paid in");
    let bought = billing.set_seats(&app.account, seats).await;
    bought.expect("bought");
    assert_eq!(app.balance(), 0);
    app
}

/// A request for one page of a site.
fn one(url: &str) -> Value {
    json!({"url": url, "return_format": "empty", "request": "http", "cache": false})
}

/// The concurrency headers of a response.
fn concurrency(answer: &Answer) -> (&str, &str) {
    (
        answer.header("x-concurrency-limit"),
        answer.header("x-concurrency-active"),
    )
}

/// Sends a request for JSONL and returns the response before its body.
async fn open(caller: &Caller, path: &str, body: &Value) -> Response {
    let headers = [("accept", "application/jsonl")];
    let opened = caller.open(Method::POST, path, &headers, body.to_string());
    let response = opened.await.expect("an answer");
    assert_eq!(response.status(), 200);
    response
}

/// Checks the response of a route without a free slot.
fn assert_full(answer: &Answer, seats: u32) {
    assert_eq!(answer.status, 429);
    let body =
        format!("{{\"error\":\"concurrency_limit_reached\",\"seats\":{seats},\"active\":{seats}}}");
    assert_eq!(String::from_utf8_lossy(&answer.body), body);
    assert_eq!(answer.header("retry-after"), "1");
    let seats = seats.to_string();
    assert_eq!(concurrency(answer), (seats.as_str(), seats.as_str()));
}

/// Number of slots in use.
fn active(app: &TestApp) -> u32 {
    app.app.billing().slots(&app.account).active
}

/// Waits until this number of slots is in use.
async fn until_active(app: &TestApp, expected: u32) {
    let began = Instant::now();
    while active(app) != expected {
        assert!(
            began.elapsed() < SOON,
            "{} slots are in use, not {expected}",
            active(app)
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
