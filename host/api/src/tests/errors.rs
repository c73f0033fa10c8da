//! Every error has the same format, on every endpoint.

use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::json;

use super::server::{TestResponse, TestServer};

const POSTS: [&str; 3] = ["/scrape", "/links", "/v1/transform"];
const UNLIMITED: [&str; 3] = [
    "/unlimited/scrape",
    "/v1/unlimited/crawl",
    "/unlimited/links",
];
const GETS: [&str; 2] = ["/data/credits", "/v1/plugins"];
const ABSENT: [&str; 2] = ["/pipeline/label", "/search"];

/// Asserts an error response with this status and a message that contains this text.
fn check(response: &TestResponse, status: u16, text: &str) {
    assert_eq!(response.status, status, "{}", response.body);
    assert_eq!(response.header("content-type"), "application/json");
    assert!(!response.header("x-request-id").is_empty());
    let json = response.json();
    let error = json["error"].as_str().unwrap_or_default();
    assert!(
        error.contains(text) && !error.is_empty(),
        "{error:?} does not contain {text:?}"
    );
    // A refused key, and a lack of money, have a hint, too. Decisions D227 and D431.
    let n_members = if matches!(status, 401 | 402) { 2 } else { 1 };
    assert_eq!(json.as_object().map(serde_json::Map::len), Some(n_members));
}

fn bare(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
}

#[tokio::test]
async fn every_endpoint_needs_a_key() {
    let server = TestServer::new().await;
    let keyed = POSTS
        .iter()
        .chain(&ABSENT)
        .chain(&UNLIMITED)
        .map(|path| ("POST", path))
        .chain(GETS.iter().map(|path| ("GET", path)));
    for (method, path) in keyed {
        for key in [
            None,
            Some(""),
            Some("Bearer"),
            Some("Bearer wrong"),
            Some("wrong"),
            Some("Basic eDp5"),
        ] {
            let mut request = bare(method, path);
            if let Some(key) = key {
                request = request.header("authorization", key);
            }
            let response = server
                .send(request.body(Body::from("{}")).expect("a request"))
                .await;
            check(&response, 401, "invalid api key");
            assert_eq!(response.header("www-authenticate"), "Bearer");
        }
    }
}

#[tokio::test]
async fn a_refused_key_has_a_hint_that_says_why_and_what_to_do() {
    let server = TestServer::new().await;
    let own = format!("Bearer {}", server.key);
    let hint = async |path: &str, key: Option<&[u8]>| {
        let mut request = bare("GET", path);
        if let Some(key) = key {
            request = request.header("authorization", key);
        }
        let response = server
            .send(request.body(Body::empty()).expect("a request"))
            .await;
        check(&response, 401, "invalid api key");
        let hint = response.json()["hint"].take();
        hint.as_str().unwrap_or_default().to_owned()
    };
    for path in ["/account", "/providers", "/admin/accounts", "/v1/metrics"] {
        for none in [None, Some(&b""[..])] {
            let hint = hint(path, none).await;
            assert!(hint.ends_with("send `Authorization: Bearer KEY`"), "{hint}");
        }
        for wrong in [&b"Bearer tr_wrong"[..], b"tr_wrong", b"Bearer tr_\xe4"] {
            let hint = hint(path, Some(wrong)).await;
            assert!(hint.starts_with("the key is unknown or revoked"), "{hint}");
        }
        let of_scheme = hint(path, Some(b"Basic eDp5")).await;
        assert!(of_scheme.contains("another scheme than `Bearer`"));
        assert!(of_scheme.ends_with("send `Authorization: Bearer KEY`"));
    }
    let of_admin = hint("/account", Some(b"Bearer tra_admin")).await;
    assert!(
        of_admin.contains("send the key of an account"),
        "{of_admin}"
    );
    for path in ["/admin/accounts", "/metrics"] {
        let of_account = hint(path, Some(own.as_bytes())).await;
        assert!(of_account.contains("needs the admin key"), "{of_account}");
    }
}

#[tokio::test]
async fn a_key_without_bearer_works_and_the_rate_limit_is_reported() {
    let server = TestServer::new().await;
    let request = bare("GET", "/data/credits").header("authorization", &server.key);
    let response = server
        .send(request.body(Body::empty()).expect("a request"))
        .await;
    assert_eq!(response.status, StatusCode::OK);
    assert_eq!(response.header("ratelimit-limit"), "10000");
    assert_eq!(response.header("ratelimit-remaining"), "9999");
    let reset = response.header("ratelimit-reset");
    assert!(reset.parse::<u32>().is_ok());
    assert_eq!(
        response.header("ratelimit-policy"),
        "\"minute\";q=10000;w=60"
    );
    assert_eq!(
        response.header("ratelimit"),
        format!("\"minute\";r=9999;t={reset}")
    );
}

#[tokio::test]
async fn unknown_paths_and_wrong_methods() {
    let server = TestServer::new().await;
    for path in [
        "/nothing",
        "/v1",
        "/v2/scrape",
        "/scrape/",
        "/v1/v1/scrape",
        "/%00",
        "/metrics/x",
    ] {
        check(&server.get(path).await, 404, "no such endpoint");
    }
    for (path, meant) in [("/scrape/", "`/scrape`"), ("/Links", "`/links`")] {
        check(&server.get(path).await, 404, meant);
    }
    let start = server.get("/").await;
    assert_eq!(start.status, 200);
    assert!(start.header("content-type").starts_with("text/html"));
    check(&server.post("/", "{}").await, 405, ": use GET");
    for path in POSTS {
        for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
            let request = server
                .request(method, path)
                .body(Body::empty())
                .expect("a request");
            let response = server.send(request).await;
            check(&response, 405, ": use POST");
            assert_eq!(response.header("allow"), "POST");
        }
    }
    for path in GETS.iter().chain(&["/health", "/openapi.json"]) {
        check(&server.post(path, "{}").await, 405, ": use GET");
    }
    for (method, path, served) in [
        ("PATCH", "/account/keys", "GET or POST"),
        ("GET", "/account/keys/tr_1", "DELETE"),
        ("GET", "/account/keys/tr_1/budget", "PUT"),
        ("POST", "/v1/crawl/c1", "GET or DELETE"),
        ("DELETE", "/fetch/a.example/b", "GET or POST"),
        ("POST", "/account/notices", "PUT"),
    ] {
        let request = server.request(method, path).body(Body::empty());
        let response = server.send(request.expect("a request")).await;
        check(&response, 405, &format!("method: use {served}"));
        for method in served.split(" or ") {
            assert!(response.header("allow").contains(method), "{path}");
        }
    }
    // The table is `axum`'s: what it allows is named, but HEAD, which goes with GET.
    let request = Request::builder()
        .method("PATCH")
        .uri("/admin/accounts")
        .header("authorization", "Bearer tra_admin");
    let request = request.body(Body::empty()).expect("a request");
    let response = server.send(request).await;
    check(&response, 405, ": use GET or POST");
    assert_eq!(response.header("allow"), "GET,HEAD,POST");
    assert_eq!(server.post("/ai/anything", "{}").await.status, 402);
    check(&server.get("/ai/anything").await, 405, ": use POST");
}

#[tokio::test]
async fn a_query_parameter_that_an_endpoint_does_not_have_is_refused_by_name() {
    let server = TestServer::new().await;
    for path in [
        "/scrape",
        "/v1/crawl",
        "/links",
        "/transform",
        "/pipeline/label",
        "/crawl/abc/resume",
        "/batch",
        "/batch/abc/resume",
        "/account/keys",
        "/account/webhook-secret",
    ] {
        let path = format!("{path}?limit=3");
        let response = server.post(&path, r#"{"url":"a.com"}"#).await;
        let expected = "limit: unknown query parameter, this endpoint has none, parameters are";
        check(&response, 400, expected);
    }
    for path in ["/data/credits", "/plugins", "/v1/account", "/crawl/abc"] {
        let response = server.get(&format!("{path}?a%20b")).await;
        check(
            &response,
            400,
            "a b: unknown query parameter, this endpoint has none",
        );
    }
    for path in [
        "/data/pages",
        "/v1/data/contacts",
        "/data/api_keys",
        "/account/keys",
        "/account/statement",
        "/crawl",
        "/crawl/abc/pages",
        "/crawl/abc/skipped",
        "/batch",
        "/batch/abc/pages",
        "/batch/abc/skipped",
    ] {
        let response = server.get(&format!("{path}?limt=3")).await;
        check(&response, 400, "limt: unknown field `limt`");
    }
    // An empty query has no parameter.
    assert_eq!(server.get("/account?").await.status, 200);
    assert_eq!(server.get("/openapi.json?_=1").await.status, 200);
    // The plan is checked before the parameters.
    let path = "/unlimited/scrape?limit=3";
    let response = server.post(path, r#"{"url":"a.com"}"#).await;
    check(&response, 403, "unlimited_plan_required");
}

#[tokio::test]
async fn a_list_without_room_for_an_item_is_refused() {
    let server = TestServer::new().await;
    for (path, most) in [
        ("/data/pages", 1_000),
        ("/data/contacts", 1_000),
        ("/data/api_keys", 1_000),
        ("/account/statement", 1_000),
        ("/crawl", 1_000),
        ("/crawl/abc/pages", 10_000),
        ("/crawl/abc/pages?follow=true", 10_000),
        ("/crawl/abc/skipped", 100_000),
        ("/batch", 1_000),
        ("/batch/abc/pages", 10_000),
        ("/batch/abc/skipped", 100_000),
    ] {
        let separator = if path.contains('?') { '&' } else { '?' };
        let of = |limit: &str| format!("{path}{separator}limit={limit}");
        let expected = format!("limit: must be an integer from 1 to {most};");
        check(&server.get(&of("0")).await, 400, &expected);
        check(
            &server.get(&of("")).await,
            400,
            "limit: is empty, send an integer",
        );
        check(&server.get(&of("-1")).await, 400, "limit: must be a");
        check(&server.get(&of("x")).await, 400, "limit: must be a");
    }
    check(
        &server.get("/data/pages?page=").await,
        400,
        "page: is empty",
    );
    let cursor = server.get("/crawl/abc/pages?cursor=").await;
    check(&cursor, 400, "cursor: is empty");
}

#[tokio::test]
async fn a_post_whose_fields_are_optional_needs_no_body() {
    let server = TestServer::new().await;
    let bare = async |method: &str, path: &str| {
        let request = server.request(method, path).body(Body::empty());
        let mut request = request.expect("a request");
        request.headers_mut().remove("content-type");
        server.send(request).await
    };
    for path in ["/account/keys", "/account/webhook-secret"] {
        let response = bare("POST", path).await;
        assert_eq!(response.status, 200, "{path}: {}", response.body);
    }
    let resumed = bare("POST", "/crawl/abc/resume").await;
    check(&resumed, 404, "no crawl has this id");
    let resumed = bare("POST", "/batch/abc/resume").await;
    check(&resumed, 404, "no batch has this id");
    // What is required is missing as in an empty object, and a PUT has to say what it stores.
    check(&bare("POST", "/scrape").await, 415, "application/json");
    check(
        &bare("PUT", "/account/notices").await,
        415,
        "application/json",
    );
    let text = Request::post("/account/keys")
        .header("authorization", &server.key)
        .header("content-type", "text/plain")
        .body(Body::from("{}"));
    check(&server.send(text.expect("a request")).await, 415, "JSON");
}

#[tokio::test]
async fn unimplemented_endpoints_say_so() {
    let server = TestServer::new().await;
    let reasons = [
        "its plugin `label` is not loaded: the operator adds it",
        "does not offer web search: the operator names a search service",
    ];
    for (path, reason) in ABSENT.iter().zip(reasons) {
        let response = server.post(path, r#"{"url":"a.com","search":"a"}"#).await;
        check(&response, 501, reason);
        assert_eq!(response.header("ratelimit-limit"), "10000");
    }
    for path in ["/crawl/abc", "/crawl/abc/pages", "/crawl/abc/skipped"] {
        check(&server.get(path).await, 404, "no crawl has this id");
    }
    for path in ["/batch/abc", "/batch/abc/pages", "/batch/abc/skipped"] {
        check(&server.get(path).await, 404, "no batch has this id");
    }
    let response = server.post("/ai/scrape", "{}").await;
    check(&response, 402, "ai_subscription_required");
    let hint = response.json()["hint"].to_string();
    assert!(hint.contains("use `/scrape` and `/crawl`"), "{hint}");
}

#[tokio::test]
async fn a_body_must_be_declared_as_json() {
    let server = TestServer::new().await;
    for path in POSTS {
        for media_type in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "",
            "json",
        ] {
            let request = Request::post(path)
                .header("authorization", &server.key)
                .header("content-type", media_type)
                .body(Body::from("{}"));
            check(
                &server.send(request.expect("a request")).await,
                415,
                "application/json",
            );
        }
        let request = Request::post(path)
            .header("authorization", &server.key)
            .body(Body::from("{}"));
        check(
            &server.send(request.expect("a request")).await,
            415,
            "application/json",
        );
    }
    let request = Request::post("/scrape")
        .header("authorization", &server.key)
        .header("content-type", "Application/JSON; charset=utf-8")
        .body(Body::from(r#"{"url":"a.com"}"#));
    assert_eq!(server.send(request.expect("a request")).await.status, 200);
}

#[tokio::test]
async fn broken_bodies_are_refused() {
    let server = TestServer::new().await;
    let deep = "[".repeat(100_000);
    let deep_field = format!(
        "{{\"url\":\"a.com\",\"filters\":{}{}}}",
        "{\"a\":".repeat(500),
        "1".to_owned() + &"}".repeat(500)
    );
    for path in POSTS {
        check(&server.post(path, "").await, 400, "the body is empty");
        for body in ["{", "nope", "{\"url\":}", "{'url':1}", &deep] {
            let response = server.post(path, body.to_owned()).await;
            check(&response, 400, "the body is not valid JSON: ");
        }
        for body in ["3", "null", "\"x\"", "[3]", "[[]]"] {
            let response = server.post(path, body.to_owned()).await;
            check(&response, 400, "expected a JSON object");
            assert!(!response.body.contains("Deserialization"), "{path}");
        }
        check(&server.post(path, vec![0xff, 0xfe]).await, 400, "not UTF-8");
        check(
            &server.post(path, deep_field.clone()).await,
            400,
            "filters: ",
        );
        check(&server.post(path, "{}").await, 400, "is missing or empty");
    }
    for path in ["/scrape", "/links"] {
        check(
            &server.post(path, r#"{"url":"a.com","url":"b.com"}"#).await,
            400,
            "duplicate field `url`",
        );
        check(
            &server.post(path, r#"{"url":3}"#).await,
            400,
            "Deserialization error: url: ",
        );
        check(
            &server.post(path, r#"{"url":"a.com","limit":-1}"#).await,
            400,
            "limit: ",
        );
        check(
            &server.post(path, r#"{"url":"a.com","limit":1e400}"#).await,
            400,
            "limit: ",
        );
        check(
            &server
                .post(path, r#"{"url":"a.com","max_credits_allowed":"x"}"#)
                .await,
            400,
            "max_credits_allowed: ",
        );
    }
}

#[tokio::test]
async fn large_bodies_are_refused() {
    let server = TestServer::new().await;
    let filled =
        |bytes: usize| format!("{{\"url\":\"a.com\",\"x\":\"{}\"}}", "y".repeat(bytes - 22));
    assert_eq!(filled(100).len(), 100);
    assert_eq!(server.post("/scrape", filled(10_000_000)).await.status, 200);
    check(
        &server.post("/scrape", filled(10_000_001)).await,
        413,
        "10000000 bytes",
    );
    // Without a declared length, the limit applies to the bytes received.
    let chunks = (0..11).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1_000_000]));
    let body = Body::from_stream(futures_util::stream::iter(chunks));
    check(&server.post("/links", body).await, 413, "10000000 bytes");
    let html = json!({"data": [{"html": "y".repeat(10_000_001)}]}).to_string();
    check(
        &server.post("/transform", html).await,
        413,
        "10000000 bytes",
    );
    let most = json!({"data": [{"html": "y".repeat(10_000_000)}]}).to_string();
    assert_eq!(server.post("/transform", most).await.status, 200);
}

#[tokio::test]
async fn an_empty_account_gets_402() {
    let server = TestServer::with("0", 10).await;
    for (path, body) in [
        ("/scrape", r#"{"url":"a.com"}"#),
        ("/transform", r#"{"data":[{"html":""}]}"#),
    ] {
        let response = server.post(path, body).await;
        check(&response, 402, "balance is zero");
        let hint = response.json()["hint"].to_string();
        assert!(hint.contains("`trawl account top-up`"), "{path}: {hint}");
    }
}

#[tokio::test]
async fn a_key_over_its_rate_limit_gets_429() {
    let server = TestServer::with("10", 2).await;
    assert_eq!(server.get("/data/credits").await.status, 200);
    check(&server.post("/scrape", "").await, 400, "empty");
    let response = server.get("/data/credits").await;
    check(&response, 429, "slow down");
    assert_eq!(response.header("ratelimit-remaining"), "0");
    let retry_after: u32 = response.header("retry-after").parse().expect("seconds");
    assert!((1..=60).contains(&retry_after));
    assert_eq!(
        response.header("ratelimit-reset"),
        response.header("retry-after")
    );
    assert_eq!(
        response.header("ratelimit"),
        format!("\"minute\";r=0;t={retry_after}")
    );
}

#[tokio::test]
async fn a_bug_is_a_500_with_a_fixed_message() {
    let server = TestServer::new().await;
    let response = server.post("/scrape", r#"{"url":"bug.test"}"#).await;
    check(&response, 500, "internal error");
    assert!(!response.body.contains("canary"));
    let request = server
        .request("POST", "/scrape")
        .header("idempotency-key", "1");
    let response = server
        .send(
            request
                .body(Body::from(r#"{"url":"bug.test"}"#))
                .expect("a request"),
        )
        .await;
    check(&response, 500, "internal error");
}

#[tokio::test]
async fn a_draining_server_refuses_requests() {
    let server = TestServer::new().await;
    server.service.is_draining.store(true, Ordering::SeqCst);
    let response = server.post("/scrape", r#"{"url":"a.com"}"#).await;
    check(&response, 503, "shutting down");
    assert_eq!(response.header("retry-after"), "1");
    for path in [
        "/v1/plugins",
        "/data/credits",
        "/openapi.json",
        "/scrape",
        "/nothing",
    ] {
        let response = server.get(path).await;
        check(&response, 503, "shutting down");
        assert_eq!(response.header("retry-after"), "1");
    }
    assert_eq!(server.get("/health").await.status, 503);
    assert_eq!(
        server.get("/v1/health").await.json(),
        json!({"status": "ok"})
    );
    let metrics = server.get_from("/metrics", "127.0.0.1:1", &[]).await;
    assert_ne!(metrics.status, 503);
}

#[tokio::test]
async fn a_closed_ledger_refuses_before_anything_is_fetched() {
    let server = TestServer::new().await;
    server.service.billing().close().await;
    for (path, body) in [
        ("/scrape", r#"{"url":"a.com"}"#),
        ("/links", r#"{"url":"a.com"}"#),
        ("/transform", r#"{"data":[{"html":"x"}]}"#),
    ] {
        let response = server.post(path, body).await;
        check(&response, 503, "try again");
        assert_eq!(response.header("retry-after"), "1");
    }
}

/// Whether a request for the metrics without the admin key is refused.
async fn are_metrics_refused(server: &TestServer, peer: &str, headers: &[(&str, &str)]) -> bool {
    let response = server.get_from("/metrics", peer, headers).await;
    let is_refused = response.status == 401;
    if is_refused {
        check(&response, 401, "invalid api key");
    }
    is_refused
}

#[tokio::test]
async fn metrics_are_open_to_local_connections_only_if_a_setting_says_so() {
    let closed = TestServer::new().await;
    let open = TestServer::new().await.with_open_metrics();
    let remote = [
        ("192.0.2.1:1", &[][..]),
        ("[2001:db8::1]:1", &[]),
        ("127.0.0.1:1", &[("x-forwarded-for", "192.0.2.1")]),
        // A page of a site whose name leads here.
        ("127.0.0.1:1", &[("host", "site.example:8700")]),
        ("127.0.0.1:1", &[("host", "127.0.0.1.site.example")]),
        ("127.0.0.1:1", &[("host", "localhost@site.example")]),
    ];
    let with_key = [("authorization", "Bearer tra_admin")];
    for peer in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        assert!(are_metrics_refused(&closed, peer, &[]).await, "{peer}");
        let is_refused = are_metrics_refused(&closed, peer, &with_key).await;
        assert!(!is_refused, "{peer}");
        for host in ["127.0.0.1:8700", "[::1]:8700", "localhost"] {
            let is_refused = are_metrics_refused(&open, peer, &[("host", host)]).await;
            assert!(!is_refused, "{peer} {host}");
        }
        assert!(!are_metrics_refused(&open, peer, &[]).await, "{peer}");
    }
    for (peer, headers) in remote {
        assert!(are_metrics_refused(&open, peer, headers).await, "{peer}");
    }
    assert!(!are_metrics_refused(&open, "192.0.2.1:1", &with_key).await);
}

#[tokio::test]
async fn errors_contain_no_secrets() {
    let server = TestServer::new().await;
    for body in [
        r#"{"url":"a.com","router":"canary-123"}"#,
        r#"{"url":"a.com","router":{"mode":"first","token":["canary-123"]}}"#,
        r#"{"url":"a.com","headers":{"Authorization":["canary-123"]}}"#,
        r#"{"url":"a.com","cookies":"canary-123"}"#,
    ] {
        let response = server.post("/scrape", body).await;
        assert_eq!(response.status, 400);
        assert!(!response.body.contains("canary"), "{}", response.body);
    }
}
