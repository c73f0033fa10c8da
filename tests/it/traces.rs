//! Trace context: from a request to its response, to the sites and to the webhooks.

use serde_json::json;
use trawl_model::TraceContext;
use trawl_tests::{FakeSite, Receiver, TestApp, World};

const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";
const SENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The `traceparent` in the head of a request.
fn traceparent(head: &str) -> Option<TraceContext> {
    let mut lines = head.lines();
    let value = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("traceparent").then_some(value)
    });
    value.map(|value| TraceContext::parse(value.trim()).expect("a valid context"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trace_context_goes_where_it_is_configured_to() {
    let mut world = World::new();
    world.trace.responses = true;
    world.trace.requests = true;
    world.trace.webhooks = true;
    let (app, site, receiver) = (
        TestApp::of(world).await,
        FakeSite::start().await,
        Receiver::start().await,
    );
    let url = site.put("/page", "text/html", "<p>text");
    let scrape = json!({"url": url, "request": "http", "cache": false});
    let answer = app.post("/scrape", &[("traceparent", SENT)], &scrape).await;
    let own = TraceContext::parse(answer.header("traceresponse")).expect("a context");
    assert_eq!(own.trace_id(), TRACE_ID);
    assert!(!SENT.contains(&own.span_id()));
    let fetched = traceparent(&site.requests()[0]).expect("a context");
    assert_eq!(fetched.trace_id(), TRACE_ID);
    assert_ne!(fetched.span_id(), own.span_id());

    let crawl = json!({
        "url": url, "request": "http", "cache": false,
        "webhooks": {"destination": receiver.url(), "on_find": true, "on_website_status": true},
    });
    let crawled = app.post("/crawl", &[("traceparent", SENT)], &crawl).await;
    assert_eq!(crawled.status, 200);
    for delivery in receiver.has(2).await {
        let context = TraceContext::parse(&delivery.headers["traceparent"]);
        assert_eq!(context.expect("valid").trace_id(), TRACE_ID);
    }
    let heads = site.requests();
    // The page again, and robots.txt before it.
    assert_eq!(heads.len(), 3, "{heads:?}");
    assert!(heads.iter().all(|head| traceparent(head).is_some()));
    let mut spans: Vec<String> = heads
        .iter()
        .filter_map(|head| traceparent(head).map(TraceContext::span_id))
        .collect();
    spans.sort();
    spans.dedup();
    assert_eq!(spans.len(), 3, "each request is a span");

    // A request without a valid one has no trace.
    let bad = SENT.replace("00-", "ff-");
    let answer = app
        .post("/scrape", &[("traceparent", bad.as_str())], &scrape)
        .await;
    assert_eq!(answer.header("traceresponse"), "");
    assert_eq!(traceparent(&site.requests()[3]), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_default_trace_context_goes_nowhere() {
    let (app, site, receiver) = (
        TestApp::start().await,
        FakeSite::start().await,
        Receiver::start().await,
    );
    let url = site.put("/page", "text/html", "<p>text");
    let crawl = json!({
        "url": url, "request": "http", "cache": false,
        "webhooks": {"destination": receiver.url(), "on_find": true},
    });
    let crawled = app.post("/crawl", &[("traceparent", SENT)], &crawl).await;
    assert_eq!(crawled.header("traceresponse"), "");
    let deliveries = receiver.has(1).await;
    assert!(!deliveries[0].headers.contains_key("traceparent"));
    let heads = site.requests();
    assert!(heads.iter().all(|head| traceparent(head).is_none()));
}
