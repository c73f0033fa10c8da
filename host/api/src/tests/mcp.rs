//! Tools, through `/mcp`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use trawl_model::memory::MemoryBudget;

use super::server::{TestResponse, TestServer};

const ACCEPT: &str = "application/json, text/event-stream";

async fn sent(server: &TestServer, message: &Value) -> TestResponse {
    let request = server.request("POST", "/v1/mcp").header("accept", ACCEPT);
    let body = Body::from(message.to_string());
    server.send(request.body(body).expect("a request")).await
}

fn call(tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

/// The result of a call of a tool.
async fn called(server: &TestServer, tool: &str, arguments: Value) -> Value {
    let response = sent(server, &call(tool, &arguments)).await;
    assert_eq!(response.status, 200, "{}", response.body);
    response.json()["result"].take()
}

#[tokio::test]
async fn a_tool_does_what_its_endpoint_does() {
    let server = TestServer::new().await;
    let body = json!({"url": "https://a.test/", "return_format": "markdown"});
    let direct = server.post("/scrape", body.to_string()).await.json();
    let result = called(&server, "scrape", json!({"url": "https://a.test/"})).await;
    assert_eq!(result["isError"], false, "{result}");
    let page = &result["structuredContent"]["pages"][0];
    for field in ["url", "status", "content", "costs"] {
        assert_eq!(page[field], direct[0][field], "{field}");
    }
    let total = &result["structuredContent"]["costs"]["total_cost"];
    assert_eq!(*total, direct[0]["costs"]["total_cost"]);
}

#[tokio::test]
async fn a_refusal_of_the_endpoint_is_that_of_the_tool() {
    let server = TestServer::new().await;
    let body = json!({"url": "https://a.test/", "return_format": "nope"});
    let direct = server.post("/scrape", body.to_string()).await;
    assert_eq!(direct.status, 400);
    let result = called(&server, "scrape", body).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"][0]["text"], direct.json()["error"]);
    assert_eq!(result["structuredContent"]["status"], 400);
}

#[tokio::test]
async fn the_message_and_each_request_of_its_tool_count_against_the_limit() {
    let server = TestServer::with("10", 4).await;
    let page = json!({"url": "https://a.test/"});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(
        sent(&server, &list).await.header("ratelimit-remaining"),
        "3"
    );
    let result = called(&server, "scrape", page.clone()).await;
    assert_eq!(result["isError"], false);
    // The fourth request is the message, and its tool has none left.
    let result = called(&server, "scrape", page).await;
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("slow down"), "{text}");
    assert_eq!(sent(&server, &list).await.status, 429);
}

#[tokio::test]
async fn requests_of_a_tool_are_in_the_trace_of_its_message() {
    const SENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let server = TestServer::new().await;
    let message = call("scrape", &json!({"url": "https://a.test/"})).to_string();
    let request = server.request("POST", "/mcp").header("accept", ACCEPT);
    let request = request.header("traceparent", SENT);
    let request = request.body(Body::from(message)).expect("a request");
    let own = server
        .send(request)
        .await
        .header("traceresponse")
        .to_owned();
    let trace = *server.service.last_trace.lock().expect("a lock");
    let context = trace.expect("a trace").context;
    assert_eq!(context.trace_id(), SENT[3..35]);
    assert!(own.starts_with(&SENT[..36]), "{own}");
    for span in [SENT, &own] {
        assert!(!span.contains(&context.span_id()), "a span of its own");
    }
}

#[tokio::test]
async fn what_is_no_message_is_refused_as_everywhere() {
    let server = TestServer::new().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let without_key = Request::post("/mcp").header("accept", ACCEPT);
    let without_key = without_key
        .body(Body::from(list.clone()))
        .expect("a request");
    assert_eq!(server.send(without_key).await.status, 401);
    assert_eq!(server.get("/mcp").await.status, 405);
    let unacceptable = server.post("/mcp", list).await;
    assert_eq!(unacceptable.status, 406);
    let error = unacceptable.json();
    let error = error["error"].as_str().expect("a text");
    assert!(error.contains("text/event-stream"), "{error}");
    let request = server.request("POST", "/mcp").header("accept", ACCEPT);
    let broken = server
        .send(request.body(Body::from("{")).expect("a request"))
        .await;
    assert!(broken.status.is_client_error(), "{}", broken.status);
    assert!(broken.json()["error"].is_string(), "{}", broken.body);
    let query = server.request("POST", "/mcp?x=1").header("accept", ACCEPT);
    let query = query.body(Body::from("{}")).expect("a request");
    assert_eq!(server.send(query).await.status, 400);
}

#[tokio::test]
async fn a_client_that_hangs_up_cancels_the_pages_of_its_tool() {
    const TIME_MAX: Duration = Duration::from_secs(30);
    let server = TestServer::new().await;
    // Each page in flight has one.
    let in_flight = || Arc::strong_count(&server.service.release);
    let before = in_flight();
    let message = call("scrape", &json!({"url": "https://slow.test/"})).to_string();
    let request = server.request("POST", "/mcp").header("accept", ACCEPT);
    let request = request.body(Body::from(message)).expect("a request");
    let mut sending = Box::pin(server.open(request));
    let until = Instant::now() + TIME_MAX;
    while in_flight() == before {
        let waited = tokio::time::timeout(Duration::from_millis(10), &mut sending).await;
        assert!(waited.is_err() && Instant::now() < until, "the page waits");
    }
    drop(sending);
    let until = Instant::now() + TIME_MAX;
    while in_flight() > before {
        assert!(Instant::now() < until, "the page goes on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_message_that_is_repeated_with_its_key_is_served_once() {
    let server = TestServer::new().await;
    let message = call("scrape", &json!({"url": "https://a.test/"})).to_string();
    let send = async |key: &str| {
        let request = server.request("POST", "/mcp").header("accept", ACCEPT);
        let request = request.header("idempotency-key", key);
        let request = request.body(Body::from(message.clone()));
        server.send(request.expect("a request")).await.json()
    };
    let first = send("k").await;
    assert_eq!(first["result"]["isError"], false, "{first}");
    assert_eq!(send("k").await, first);
    assert_eq!(server.service.n_runs.load(Ordering::SeqCst), 1);
    assert_eq!(send("l").await, first);
    assert_eq!(server.service.n_runs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_message_of_very_many_values_is_not_read() {
    let server = TestServer::new().await;
    let many = |count: usize| call("crawl_status", &json!({"id": "c1", "x": vec![0; count]}));
    let refused = sent(&server, &many(60_000)).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    let error = refused.json()["error"].to_string();
    assert!(error.contains("50000 values"), "{error}");
    // The tool has no such argument.
    let read = sent(&server, &many(40_000)).await;
    assert_eq!(read.json()["result"]["isError"], true, "{}", read.body);
}

#[tokio::test]
async fn a_reply_counts_as_memory_until_it_is_read() {
    const BYTES: usize = 3 << 20;
    let budget = MemoryBudget::new(256 << 20);
    let server = TestServer::with_memory(Arc::clone(&budget)).await;
    // The refusal repeats the name.
    let message = call(&"x".repeat(BYTES), &json!({})).to_string();
    let request = server.request("POST", "/mcp").header("accept", ACCEPT);
    let request = request.body(Body::from(message)).expect("a request");
    let response = server.open(request).await;
    assert_eq!(response.status(), 200);
    let used = budget.in_use().used;
    assert!(used >= BYTES as u64, "{used} bytes");
    // What was read of the message is given back.
    assert!(used < 2 * BYTES as u64, "{used} bytes");
    drop(response);
    assert_eq!(budget.in_use().used, 0);
}
