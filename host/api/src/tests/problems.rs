//! Errors as problem details.

use std::sync::atomic::Ordering;

use axum::body::Body;
use serde_json::{Value, json};

use super::server::{TestResponse, TestServer};

const PROBLEM: &str = "application/problem+json";

/// Sends a request with this key, and `Accept` if it is given.
async fn sent(
    server: &TestServer,
    (method, path, body): (&str, &str, &'static str),
    key: &str,
    accept: Option<&str>,
) -> TestResponse {
    let request = axum::http::Request::builder().method(method).uri(path);
    let request = request
        .header("authorization", key)
        .header("content-type", "application/json");
    let request = match accept {
        Some(accept) => request.header("accept", accept),
        None => request,
    };
    let request = request.body(Body::from(body)).expect("a request");
    server.send(request).await
}

/// Sends a request with and without the wish for problem details, and checks that the two answers
/// say the same.
async fn check(server: &TestServer, request: (&str, &str, &'static str), key: &str) -> Value {
    let plain = sent(server, request, key, None).await;
    let problem = sent(server, request, key, Some(PROBLEM)).await;
    let name = request.1;
    assert_eq!(plain.status, problem.status, "{name}");
    assert_eq!(plain.header("content-type"), "application/json", "{name}");
    assert_eq!(problem.header("content-type"), PROBLEM, "{name}");
    for header in ["www-authenticate", "allow", "retry-after"] {
        assert_eq!(plain.header(header), problem.header(header), "{name}");
    }
    assert!(!problem.header("x-request-id").is_empty(), "{name}");
    let (mut expected, found) = (plain.json(), problem.json());
    expected["detail"] = expected["error"].clone();
    expected["type"] = json!("about:blank");
    expected["title"] = json!(plain.status.canonical_reason());
    expected["status"] = json!(plain.status.as_u16());
    assert_eq!(found, expected, "{name}");
    found
}

#[tokio::test]
async fn every_kind_of_error_has_the_form_of_problem_details() {
    let server = TestServer::new().await;
    let key = server.key.clone();
    let refused = check(&server, ("GET", "/data/credits", ""), "wrong").await;
    assert_eq!(refused["status"], 401);
    assert_eq!(refused["detail"], "invalid api key");
    assert!(refused["hint"].is_string());
    let unknown = check(&server, ("GET", "/scrap", ""), &key).await;
    assert_eq!(unknown["title"], "Not Found");
    let method = check(&server, ("DELETE", "/scrape", ""), &key).await;
    assert_eq!(method["status"], 405);
    let invalid = check(&server, ("POST", "/scrape", r#"{"url":7}"#), &key).await;
    assert_eq!(invalid["status"], 400);
    let bug = r#"{"url":"bug.test"}"#;
    let failed = check(&server, ("POST", "/v1/scrape", bug), &key).await;
    assert_eq!(failed["title"], "Internal Server Error");
    server.service.is_draining.store(true, Ordering::SeqCst);
    let closing = check(&server, ("GET", "/data/credits", ""), &key).await;
    assert_eq!(closing["status"], 503);
}

#[tokio::test]
async fn what_is_no_error_stays_as_it_is() {
    let server = TestServer::new().await;
    let key = server.key.clone();
    let credits = ("GET", "/data/credits", "");
    let answer = sent(&server, credits, &key, Some(PROBLEM)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "application/json");
    assert!(answer.json()["detail"].is_null());
    let browser = "application/json, application/problem+json;q=0.1";
    let refused = sent(&server, credits, "wrong", Some(browser)).await;
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("content-type"), "application/json");
}

#[tokio::test]
async fn a_problem_is_compressed_like_any_error() {
    let server = TestServer::new().await;
    let request = axum::http::Request::builder().uri("/data/credits");
    let request = request
        .header("accept", PROBLEM)
        .header("accept-encoding", "gzip");
    let response = server
        .send(request.body(Body::empty()).expect("a request"))
        .await;
    assert_eq!(response.header("content-type"), PROBLEM);
    assert_eq!(response.header("content-encoding"), "gzip");
}
