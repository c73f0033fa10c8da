//! Every error answer has one form, on every endpoint.

use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::json;

use super::world::{Answer, World};
use crate::Service;

const POSTS: [&str; 3] = ["/scrape", "/links", "/v1/transform"];
const OF_A_PLAN: [&str; 3] = [
    "/unlimited/scrape",
    "/v1/unlimited/crawl",
    "/unlimited/links",
];
const GETS: [&str; 2] = ["/data/credits", "/v1/plugins"];
const ABSENT: [&str; 2] = ["/pipeline/label", "/search"];

/// The answer is an error with this status and a text that contains this.
fn check(answer: &Answer, status: u16, text: &str) {
    assert_eq!(answer.status, status, "{}", answer.body);
    assert_eq!(answer.header("content-type"), "application/json");
    assert!(!answer.header("x-request-id").is_empty());
    let json = answer.json();
    let error = json["error"].as_str().unwrap_or_default();
    assert!(
        error.contains(text) && !error.is_empty(),
        "{error:?} does not contain {text:?}"
    );
    assert_eq!(json.as_object().map(serde_json::Map::len), Some(1));
}

fn bare(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
}

#[tokio::test]
async fn keys_are_asked_for_everywhere() {
    let world = World::new().await;
    let keyed = POSTS
        .iter()
        .chain(&ABSENT)
        .chain(&OF_A_PLAN)
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
            let answer = world
                .send(request.body(Body::from("{}")).expect("a request"))
                .await;
            check(&answer, 401, "invalid api key");
            assert_eq!(answer.header("www-authenticate"), "Bearer");
        }
    }
}

#[tokio::test]
async fn a_bare_key_works_and_rates_are_told() {
    let world = World::new().await;
    let request = bare("GET", "/data/credits").header("authorization", &world.key);
    let answer = world
        .send(request.body(Body::empty()).expect("a request"))
        .await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("ratelimit-limit"), "10000");
    assert_eq!(answer.header("ratelimit-remaining"), "9999");
    assert!(answer.header("ratelimit-reset").parse::<u32>().is_ok());
}

#[tokio::test]
async fn unknown_paths_and_wrong_methods() {
    let world = World::new().await;
    for path in [
        "/",
        "/nothing",
        "/v1",
        "/v2/scrape",
        "/scrape/",
        "/v1/v1/scrape",
        "/%00",
        "/metrics/x",
    ] {
        check(&world.get(path).await, 404, "no such endpoint");
    }
    for path in POSTS {
        for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
            let request = world
                .request(method, path)
                .body(Body::empty())
                .expect("a request");
            let answer = world.send(request).await;
            check(&answer, 405, "method");
            assert_eq!(answer.header("allow"), "POST");
        }
    }
    for path in GETS.iter().chain(&["/health", "/openapi.json"]) {
        check(&world.post(path, "{}").await, 405, "method");
    }
}

#[tokio::test]
async fn endpoints_without_anything_behind_them_say_so() {
    let world = World::new().await;
    for path in ABSENT {
        let answer = world.post(path, r#"{"url":"a.com"}"#).await;
        check(&answer, 501, "not available");
        assert_eq!(answer.header("ratelimit-limit"), "10000");
    }
    for path in ["/crawl/abc", "/crawl/abc/pages", "/crawl/abc/skipped"] {
        check(&world.get(path).await, 404, "no crawl with this id");
    }
    check(
        &world.post("/ai/scrape", "{}").await,
        402,
        "ai_subscription_required",
    );
}

#[tokio::test]
async fn bodies_must_be_json_by_name() {
    let world = World::new().await;
    for path in POSTS {
        for media_type in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "",
            "json",
        ] {
            let request = Request::post(path)
                .header("authorization", &world.key)
                .header("content-type", media_type)
                .body(Body::from("{}"));
            check(
                &world.send(request.expect("a request")).await,
                415,
                "application/json",
            );
        }
        let request = Request::post(path)
            .header("authorization", &world.key)
            .body(Body::from("{}"));
        check(
            &world.send(request.expect("a request")).await,
            415,
            "application/json",
        );
    }
    let request = Request::post("/scrape")
        .header("authorization", &world.key)
        .header("content-type", "Application/JSON; charset=utf-8")
        .body(Body::from(r#"{"url":"a.com"}"#));
    assert_eq!(world.send(request.expect("a request")).await.status, 200);
}

#[tokio::test]
async fn broken_bodies_are_refused() {
    let world = World::new().await;
    let deep = "[".repeat(100_000);
    let deep_field = format!(
        "{{\"url\":\"a.com\",\"filters\":{}{}}}",
        "{\"a\":".repeat(500),
        "1".to_owned() + &"}".repeat(500)
    );
    for path in POSTS {
        check(&world.post(path, "").await, 400, "the body is empty");
        for body in [
            "{",
            "nope",
            "3",
            "null",
            "\"x\"",
            "[3]",
            "[[]]",
            "{\"url\":}",
            "{'url':1}",
            &deep,
        ] {
            check(
                &world.post(path, body.to_owned()).await,
                400,
                "Deserialization error: ",
            );
        }
        check(&world.post(path, vec![0xff, 0xfe]).await, 400, "not UTF-8");
        check(
            &world.post(path, deep_field.clone()).await,
            400,
            "filters: ",
        );
        check(&world.post(path, "{}").await, 400, "is missing or empty");
    }
    for path in ["/scrape", "/links"] {
        check(
            &world.post(path, r#"{"url":"a.com","url":"b.com"}"#).await,
            400,
            "duplicate field `url`",
        );
        check(
            &world.post(path, r#"{"url":3}"#).await,
            400,
            "Deserialization error: url: ",
        );
        check(
            &world.post(path, r#"{"url":"a.com","limit":-1}"#).await,
            400,
            "limit: ",
        );
        check(
            &world.post(path, r#"{"url":"a.com","limit":1e400}"#).await,
            400,
            "limit: ",
        );
        check(
            &world
                .post(path, r#"{"url":"a.com","max_credits_allowed":"x"}"#)
                .await,
            400,
            "max_credits_allowed: ",
        );
    }
}

#[tokio::test]
async fn large_bodies_are_refused() {
    let world = World::new().await;
    let filled =
        |bytes: usize| format!("{{\"url\":\"a.com\",\"x\":\"{}\"}}", "y".repeat(bytes - 22));
    assert_eq!(filled(100).len(), 100);
    assert_eq!(world.post("/scrape", filled(10_000_000)).await.status, 200);
    check(
        &world.post("/scrape", filled(10_000_001)).await,
        413,
        "10000000 bytes",
    );
    // Without a declared length the body is counted as it comes.
    let pieces = (0..11).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1_000_000]));
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    check(&world.post("/links", body).await, 413, "10000000 bytes");
    let html = json!({"data": [{"html": "y".repeat(10_000_001)}]}).to_string();
    check(&world.post("/transform", html).await, 413, "10000000 bytes");
    let most = json!({"data": [{"html": "y".repeat(10_000_000)}]}).to_string();
    assert_eq!(world.post("/transform", most).await.status, 200);
}

#[tokio::test]
async fn an_empty_account_gets_402() {
    let world = World::with("0", 10).await;
    for (path, body) in [
        ("/scrape", r#"{"url":"a.com"}"#),
        ("/transform", r#"{"data":[{"html":""}]}"#),
    ] {
        check(&world.post(path, body).await, 402, "balance is zero");
    }
}

#[tokio::test]
async fn a_key_that_asks_too_often_gets_429() {
    let world = World::with("10", 2).await;
    assert_eq!(world.get("/data/credits").await.status, 200);
    check(&world.post("/scrape", "").await, 400, "empty");
    let answer = world.get("/data/credits").await;
    check(&answer, 429, "slow down");
    assert_eq!(answer.header("ratelimit-remaining"), "0");
    let retry_after: u32 = answer.header("retry-after").parse().expect("seconds");
    assert!((1..=60).contains(&retry_after));
    assert_eq!(
        answer.header("ratelimit-reset"),
        answer.header("retry-after")
    );
}

#[tokio::test]
async fn a_bug_is_a_500_with_a_fixed_text() {
    let world = World::new().await;
    let answer = world.post("/scrape", r#"{"url":"bug.test"}"#).await;
    check(&answer, 500, "internal error");
    assert!(!answer.body.contains("canary"));
    let request = world
        .request("POST", "/scrape")
        .header("idempotency-key", "1");
    let answer = world
        .send(
            request
                .body(Body::from(r#"{"url":"bug.test"}"#))
                .expect("a request"),
        )
        .await;
    check(&answer, 500, "internal error");
}

#[tokio::test]
async fn a_server_on_its_way_out_takes_no_work() {
    let world = World::new().await;
    world.service.is_draining.store(true, Ordering::SeqCst);
    let answer = world.post("/scrape", r#"{"url":"a.com"}"#).await;
    check(&answer, 503, "shutting down");
    assert_eq!(answer.header("retry-after"), "1");
    for path in [
        "/v1/plugins",
        "/data/credits",
        "/openapi.json",
        "/scrape",
        "/nothing",
    ] {
        let answer = world.get(path).await;
        check(&answer, 503, "shutting down");
        assert_eq!(answer.header("retry-after"), "1");
    }
    assert_eq!(world.get("/health").await.status, 503);
    assert_eq!(
        world.get("/v1/health").await.json(),
        json!({"status": "ok"})
    );
    let metrics = world.get_from("/metrics", "127.0.0.1:1", &[]).await;
    assert_ne!(metrics.status, 503);
}

#[tokio::test]
async fn a_ledger_that_takes_nothing_is_told_before_anything_is_fetched() {
    let world = World::new().await;
    world.service.billing().close().await;
    for (path, body) in [
        ("/scrape", r#"{"url":"a.com"}"#),
        ("/links", r#"{"url":"a.com"}"#),
        ("/transform", r#"{"data":[{"html":"x"}]}"#),
    ] {
        let answer = world.post(path, body).await;
        check(&answer, 503, "try again");
        assert_eq!(answer.header("retry-after"), "1");
    }
}

#[tokio::test]
async fn metrics_are_for_the_machine_itself() {
    let world = World::new().await;
    for (peer, headers) in [
        ("192.0.2.1:1", &[][..]),
        ("[2001:db8::1]:1", &[]),
        ("127.0.0.1:1", &[("x-forwarded-for", "192.0.2.1")]),
    ] {
        check(
            &world.get_from("/metrics", peer, headers).await,
            403,
            "own machine",
        );
    }
    for peer in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        assert_ne!(world.get_from("/metrics", peer, &[]).await.status, 403);
    }
}

#[tokio::test]
async fn secrets_are_not_in_error_answers() {
    let world = World::new().await;
    for body in [
        r#"{"url":"a.com","router":"canary-123"}"#,
        r#"{"url":"a.com","router":{"mode":"first","token":["canary-123"]}}"#,
        r#"{"url":"a.com","headers":{"Authorization":["canary-123"]}}"#,
        r#"{"url":"a.com","cookies":"canary-123"}"#,
    ] {
        let answer = world.post("/scrape", body).await;
        assert_eq!(answer.status, 400);
        assert!(!answer.body.contains("canary"), "{}", answer.body);
    }
}
