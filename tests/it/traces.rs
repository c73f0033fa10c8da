//! Trace context: from a request to its response, to the sites and to the webhooks. Spans: from a
//! request to a collector.

use serde_json::json;
use trawl_model::TraceContext;
use trawl_tests::collector::text;
use trawl_tests::{Collector, FakeSite, Receiver, ServerProcess, TestApp, World};

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

/// A server whose spans go to this collector, with these lines in `[trace]`.
fn exporting(collector: &Collector, more: &str) -> ServerProcess {
    let mut world = World::new();
    world.config = format!("[trace]\nendpoint = \"{}\"\n{more}\n", collector.url());
    world.log = "info";
    ServerProcess::start(world)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_of_a_request_go_to_the_collector() {
    let (site, collector) = (FakeSite::start().await, Collector::start().await);
    let mut world = World::new();
    world.config = format!(
        "[trace]\nendpoint = \"{}\"\nrequests = true\nresponses = true\n",
        collector.url()
    );
    let header = ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=crawlers");
    world
        .environment
        .push((header.0.to_owned(), header.1.to_owned()));
    let mut server = ServerProcess::start(world);
    let url = site.put("/page", "text/html", "<h1>Text</h1>");
    let scrape = json!({
        "url": format!("{url}?token=canary"), "request": "http", "cache": false,
        "return_format": "markdown",
    });
    let answer = server
        .post("/v1/scrape", &[("traceparent", SENT)], &scrape)
        .await;
    assert_eq!(answer.status, 200);
    let own = TraceContext::parse(answer.header("traceresponse")).expect("a context");
    // The span of a request ends last.
    let spans = collector.has("POST /scrape").await;
    let named = |name: &str| {
        let mut found = spans.iter().filter(|span| span.name == name);
        found
            .next()
            .unwrap_or_else(|| panic!("{name} in {spans:#?}"))
    };
    let (request, page) = (named("POST /scrape"), named("page"));
    let caller = TraceContext::parse(SENT).expect("a context");
    assert_eq!(request.parent_span_id, caller.parts().1.to_be_bytes());
    assert_eq!(request.span_id, own.parts().1.to_be_bytes());
    assert_eq!(
        text(&request.attributes, "url.path").as_deref(),
        Some("/v1/scrape")
    );
    assert_eq!(
        text(&request.attributes, "http.response.status_code").as_deref(),
        Some("200")
    );
    assert!(text(&request.attributes, "trawl.account").is_some());
    assert_eq!(page.parent_span_id, request.span_id);
    for part in ["fetch", "plugin", "charge"] {
        let part = named(part);
        assert_eq!(part.parent_span_id, page.span_id, "{part:?}");
        assert_eq!(part.trace_id, caller.parts().0.to_be_bytes());
        assert!(
            part.end_time_unix_nano <= page.end_time_unix_nano,
            "{part:?}"
        );
    }
    // What the site was sent is the id that the collector has.
    let of_page = spans
        .iter()
        .filter(|span| text(&span.attributes, "url.full").as_deref() == Some(url.as_str()));
    let sent = of_page.map(|span| &span.span_id);
    let sent: Vec<_> = sent.collect();
    let heads = site.requests();
    let head = heads.iter().find(|head| head.starts_with("GET /page"));
    let received = traceparent(head.expect("a request")).expect("a context");
    assert_eq!(sent, [&received.parts().1.to_be_bytes().to_vec()]);
    assert_eq!(collector.faults(), [""; 0]);
    assert!(
        collector
            .header("x-team")
            .iter()
            .all(|value| value == "crawlers")
    );
    assert!(!collector.header("x-team").is_empty());
    assert!(!format!("{spans:?}").contains("canary"));

    // What is left is sent when the server stops.
    let n_spans = collector.spans().len();
    let health = server.get("/health").await;
    assert_eq!(health.status, 200);
    server.stop();
    let spans = collector.has("GET /health").await;
    assert!(spans.len() > n_spans);
    assert_eq!(collector.faults(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_is_part_of_the_trace_of_its_request() {
    let (site, collector) = (FakeSite::start().await, Collector::start().await);
    let server = exporting(&collector, "");
    let url = site.put("/page", "text/html", "<p>text");
    let crawl = json!({"url": url, "request": "http", "cache": false, "limit": 1});
    let crawled = server.post("/crawl", &[], &crawl).await;
    assert_eq!(crawled.status, 200);
    let spans = collector.has("crawl").await;
    let request = collector.has("POST /crawl").await;
    let request = request.iter().find(|span| span.name == "POST /crawl");
    let request = request.expect("the request");
    assert_eq!(request.parent_span_id, [0_u8; 0], "the trace begins here");
    let crawl = spans.iter().find(|span| span.name == "crawl").expect("one");
    assert_eq!(crawl.parent_span_id, request.span_id);
    let page = spans.iter().find(|span| span.name == "page").expect("one");
    assert_eq!(page.parent_span_id, crawl.span_id);
    assert_eq!(page.trace_id, request.trace_id);
    assert!(text(&crawl.attributes, "trawl.crawl.id").is_some());
    assert_eq!(collector.faults(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traces_that_are_not_sampled_stay_here_and_a_collector_may_be_down() {
    let (site, collector) = (FakeSite::start().await, Collector::start().await);
    let server = exporting(&collector, "sampled_percent = 0");
    let url = site.put("/page", "text/html", "<p>text");
    let scrape = json!({"url": url, "request": "http", "cache": false});
    assert_eq!(server.post("/scrape", &[], &scrape).await.status, 200);
    let sampled = server.post("/scrape", &[("traceparent", SENT)], &scrape);
    assert_eq!(sampled.await.status, 200);
    let spans = collector.has("POST /scrape").await;
    let requests = spans.iter().filter(|span| span.name == "POST /scrape");
    assert_eq!(requests.count(), 1, "the one that its caller has sampled");

    let (down, mut world) = (Collector::start().await, World::new());
    world.config = format!("[trace]\nendpoint = \"{}\"\n", down.url());
    drop(down);
    let mut server = ServerProcess::start(world);
    assert_eq!(server.post("/scrape", &[], &scrape).await.status, 200);
    server.stop();
}
