//! Limits of an account: what is beyond is refused with the name of the limit, and `GET /account`
//! shows them.

use axum::body::Body;
use serde_json::{Value, json};

use trawl_store::DiskThreshold;

use super::server::{TestResponse, TestServer};

/// Pages of this host fail at once: egress refuses it.
const URL: &str = "http://127.0.0.1:1/";

async fn limits(server: &TestServer) -> Value {
    server.get("/account").await.json()["limits"].take()
}

/// A request that starts this number of crawls.
fn crawls(n: usize) -> String {
    Value::from(vec![json!({"url": URL, "respect_robots": false}); n]).to_string()
}

/// A POST with an idempotency key.
async fn keyed(server: &TestServer, key: &str) -> TestResponse {
    let request = server.request("POST", "/scrape");
    let request = request.header("idempotency-key", key);
    let request = request.body(Body::from(r#"{"url":"a.com"}"#));
    server.send(request.expect("a request")).await
}

#[tokio::test]
async fn an_account_sees_its_limits_and_what_is_used_of_them() {
    let server = TestServer::with_storage("10", 500, DiskThreshold::Bytes(0), 1 << 20).await;
    let first = limits(&server).await;
    let names: Vec<&String> = first.as_object().expect("limits").keys().collect();
    let expected = [
        "background_crawls",
        "browser_tabs",
        "queries",
        "queued_crawl_bytes",
        "requests_per_minute",
        "stored_bytes",
        "streaming_crawls",
        "webhook_bytes",
        "webhook_events",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        first["requests_per_minute"],
        json!({"limit": 500, "used": 1})
    );
    assert_eq!(first["stored_bytes"], json!({"limit": 1 << 20, "used": 0}));
    assert_eq!(keyed(&server, "k").await.status, 200);
    let second = limits(&server).await;
    assert_eq!(second["requests_per_minute"]["used"], 3);
    assert!(
        second["stored_bytes"]["used"].as_u64() > Some(0),
        "{second}"
    );
}

#[tokio::test]
async fn crawls_beyond_the_limit_are_refused_together() {
    let server = TestServer::new().await;
    let refused = server.post("/crawl", crawls(21)).await;
    assert_eq!(refused.status, 429, "{}", refused.body);
    let error = refused.json()["error"].take();
    let error = error.as_str().unwrap_or_default();
    assert!(
        error.starts_with("streaming_crawls: the account has 0 of 20"),
        "{error}"
    );
    assert!(!refused.header("retry-after").is_empty());
    let started = server.get("/data/crawl_state").await.json();
    assert_eq!(started["count"], 0, "none was started");
    let granted = server.post("/crawl", crawls(20)).await;
    assert_eq!(granted.status, 200, "{}", granted.body);
    let limits = limits(&server).await;
    assert_eq!(limits["streaming_crawls"], json!({"limit": 20, "used": 0}));
}

#[tokio::test]
async fn nothing_new_is_stored_below_the_floor_of_free_space() {
    let server = TestServer::with_storage("10", 10_000, DiskThreshold::Bytes(u64::MAX), 0).await;
    let crawl = json!({"url": URL}).to_string();
    for refused in [
        server.post("/crawl", crawl).await,
        keyed(&server, "k").await,
    ] {
        assert_eq!(refused.status, 507, "{}", refused.body);
        assert!(
            refused.body.contains("disk is nearly full"),
            "{}",
            refused.body
        );
    }
    assert_eq!(
        server.post("/scrape", r#"{"url":"a.com"}"#).await.status,
        200
    );
    for path in ["/account", "/data/crawl_state", "/account/statement"] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn an_account_that_stored_its_share_gets_no_more_and_reads_on() {
    let server = TestServer::with_storage("10", 10_000, DiskThreshold::Bytes(0), 300).await;
    let first = keyed(&server, "one").await;
    assert_eq!(first.status, 200);
    let refused = keyed(&server, "two").await;
    assert_eq!(refused.status, 507);
    let error = refused.json()["error"].take();
    let error = error.as_str().unwrap_or_default().to_owned();
    assert!(
        error.starts_with("stored_bytes: the account has stored "),
        "{error}"
    );
    assert!(error.contains(" of 300 bytes"), "{error}");
    let crawl = server.post("/crawl", json!({"url": URL}).to_string()).await;
    assert_eq!(crawl.status, 507);
    let repeat = keyed(&server, "one").await;
    assert_eq!((repeat.status, repeat.body), (first.status, first.body));
    let created = server.service.billing();
    let created = created.create_account("other", trawl_model::Nanodollars(1_000_000));
    let (_, key) = created.await.expect("an account");
    let request = server
        .request("POST", "/scrape")
        .body(Body::from(r#"{"url":"a.com"}"#));
    let mut request = request.expect("a request");
    let bearer = format!("Bearer {}", key.expose())
        .parse()
        .expect("a header");
    request.headers_mut().insert("authorization", bearer);
    let one = "one".parse().expect("a header");
    request.headers_mut().insert("idempotency-key", one);
    assert_eq!(server.send(request).await.status, 200, "another account");
}

#[tokio::test]
async fn lists_are_read_by_cursor() {
    let server = TestServer::new().await;
    assert_eq!(server.post("/crawl", crawls(5)).await.status, 200);
    for table in ["crawl_state", "crawl_logs"] {
        let (mut ids, mut cursor) = (Vec::new(), String::new());
        for _ in 0..5 {
            let path = format!("/data/{table}?limit=2&cursor={cursor}");
            let page = server.get(&path).await.json();
            assert_eq!(page["count"], 5, "{page}");
            let rows = page["data"].as_array().expect("rows");
            ids.extend(rows.iter().map(|row| row["crawl_id"].to_string()));
            match page["next_cursor"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => break,
            }
        }
        let n_rows = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!((n_rows, ids.len()), (5, 5), "{table}");
    }
    for (query, name) in [("cursor=x", "cursor"), ("page=100000", "page")] {
        let refused = server.get(&format!("/data/crawl_logs?{query}")).await;
        assert_eq!(refused.status, 400);
        let error = refused.json()["error"].take();
        assert!(
            error.as_str().is_some_and(|error| error.starts_with(name)),
            "{error}"
        );
    }
}
