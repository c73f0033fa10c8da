//! Responses to valid requests.

use std::sync::atomic::Ordering;

use axum::body::Body;
use serde_json::{Value, json};

use super::server::{TestResponse, TestServer};

const TWO: &str = r#"{"url":"a.com,https://b.com/x"}"#;

fn urls(entries: &[Value]) -> Vec<&str> {
    entries
        .iter()
        .filter_map(|entry| entry["url"].as_str())
        .collect()
}

async fn lines(server: &TestServer, path: &str, body: &'static str) -> TestResponse {
    let request = server
        .request("POST", path)
        .header("accept", "application/jsonl");
    server
        .send(request.body(Body::from(body)).expect("a request"))
        .await
}

#[tokio::test]
async fn a_scrape_is_an_array_in_input_order() {
    let server = TestServer::new().await;
    for path in ["/scrape", "/v1/scrape"] {
        let response = server.post(path, TWO).await;
        assert_eq!(
            (response.status.as_u16(), response.header("content-type")),
            (200, "application/json")
        );
        let json = response.json();
        let entries = json.as_array().expect("an array");
        assert_eq!(urls(entries), ["https://a.com/", "https://b.com/x"]);
        assert_eq!(entries[0]["error"], Value::Null);
        assert_eq!(entries[0]["costs"]["total_cost"], 0.000001001);
        assert!(entries[0].get("links").is_none());
    }
}

#[tokio::test]
async fn lines_are_in_the_order_of_finishing() {
    let server = TestServer::new().await;
    let check = |response: &TestResponse| {
        assert_eq!(
            (response.status.as_u16(), response.header("content-type")),
            (200, "application/jsonl")
        );
        assert!(response.body.ends_with("}\n"));
        let entries: Vec<Value> = response
            .body
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(urls(&entries), ["https://b.com/x", "https://a.com/"]);
    };
    check(&lines(&server, "/scrape", TWO).await);
    let request = axum::http::Request::post("/scrape")
        .header("authorization", &server.key)
        .header("content-type", "application/jsonl")
        .header("accept-encoding", "gzip, br, zstd")
        .body(Body::from(TWO));
    let response = server.send(request.expect("a request")).await;
    check(&response);
    assert_eq!(response.header("content-encoding"), "");
}

#[tokio::test]
async fn an_invalid_url_is_an_entry() {
    let server = TestServer::new().await;
    let response = server
        .post("/scrape", r#"{"url":"https://a.com,file:///etc/passwd"}"#)
        .await;
    let json = response.json();
    assert_eq!(json[0]["status"], 200);
    assert_eq!(json[1]["status"], 526);
    assert_eq!(json[1]["content"], "");
    assert_eq!(json[1]["costs"]["total_cost"], 0.0);
    assert!(
        json[1]["error"]
            .as_str()
            .is_some_and(|error| error.contains("`file` is refused"))
    );
}

#[tokio::test]
async fn a_panic_in_a_run_leaves_a_valid_body() {
    let server = TestServer::new().await;
    let response = server
        .post("/scrape", r#"{"url":"a.com,http://panic.test,b.com"}"#)
        .await;
    assert_eq!(response.json().as_array().map(Vec::len), Some(1));
    let response = lines(
        &server,
        "/scrape",
        r#"{"url":"a.com,http://panic.test,b.com"}"#,
    )
    .await;
    assert!(
        response
            .body
            .lines()
            .all(|line| serde_json::from_str::<Value>(line).is_ok())
    );
}

#[tokio::test]
async fn links_have_no_content() {
    let server = TestServer::new().await;
    // Refused by egress, so no network is needed.
    let body = r#"{"url":"http://127.0.0.1:9/","limit":1,"respect_robots":false,"request":"http","wait_for":1}"#;
    let response = server.post("/links", body).await;
    let json = response.json();
    assert_eq!(json[0]["status"], 526, "{json}");
    assert_eq!(json[0]["content"], "");
    assert_eq!(response.header("x-ignored-parameters"), "wait_for");
    let id = response.header("x-crawl-id");
    let shown = server.get(&format!("/crawl/{id}")).await.json();
    assert_eq!(shown["request"]["url"], "http://127.0.0.1:9/");
}

#[tokio::test]
async fn parameters_without_effect_are_named_in_a_header() {
    let server = TestServer::new().await;
    let response = server
        .post(
            "/scrape",
            r#"{"url":"a.com","depth":2,"cron":"x","a\r\nb":1,"nothing":null}"#,
        )
        .await;
    assert_eq!(
        response.header("x-ignored-parameters"),
        "depth, cron, a%0D%0Ab"
    );
    assert!(!response.headers.contains_key("x-parameter-hints"));
    let body = r#"{"url":"a.com","cache":{"maxAge":0},"returnFormat":"text"}"#;
    let response = server.post("/scrape", body).await;
    assert_eq!(
        response.header("x-ignored-parameters"),
        "cache.maxAge, returnFormat"
    );
    assert_eq!(
        response.header("x-parameter-hints"),
        "cache.maxAge=cache.max_age, returnFormat=return_format"
    );
    let response = server.post("/scrape", TWO).await;
    assert!(!response.headers.contains_key("x-ignored-parameters"));
}

#[tokio::test]
async fn transform_returns_one_object() {
    let server = TestServer::new().await;
    let body = r#"{"data":[{"html":"a"},{"content":[98]}],"return_format":"markdown"}"#;
    let json = server.post("/transform", body).await.json();
    assert_eq!(json["content"], json!(["a", "b"]));
    assert_eq!(
        (&json["error"], &json["status"]),
        (&Value::Null, &json!(200))
    );
    assert_eq!(json["cost"], json["costs"]);
    assert_eq!(json["costs"]["total_cost"], 0.000002002);
    let response = lines(&server, "/v1/transform", r#"{"data":[{"html":"a"}]}"#).await;
    assert_eq!(
        (response.body.lines().count(), response.body.ends_with('\n')),
        (1, true)
    );
}

#[tokio::test]
async fn credits_are_exact_text_and_a_whole_number() {
    let server = TestServer::with("0.12505", 10).await;
    let json = server.get("/data/credits").await.json();
    assert_eq!(
        json,
        json!({"data": {"credits": "1250.5"}, "credits": 1250})
    );
}

#[tokio::test]
async fn a_repeat_with_an_idempotency_key_runs_once() {
    let server = TestServer::new().await;
    let send = async |key: &str, path: &str, body: &'static str| {
        let request = server.request("POST", path).header("idempotency-key", key);
        server
            .send(request.body(Body::from(body)).expect("a request"))
            .await
    };
    let first = send("k1", "/scrape", TWO).await;
    let again = send("k1", "/v1/scrape", TWO).await;
    assert_eq!((first.status, &first.body), (again.status, &again.body));
    assert_eq!(again.header("content-type"), "application/json");
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(server.service.n_runs.load(Ordering::SeqCst), 1);
    for (path, body) in [("/scrape", r#"{"url":"c.com"}"#), ("/links", TWO)] {
        let other = send("k1", path, body).await;
        assert_eq!(other.status, 409);
        assert!(
            other.json()["error"]
                .as_str()
                .is_some_and(|error| error.contains("another request"))
        );
    }
    // A refused request does not use up its key.
    assert_eq!(send("k2", "/scrape", "{}").await.status, 400);
    assert_eq!(send("k2", "/scrape", TWO).await.status, 200);
    assert_eq!(send("", "/scrape", TWO).await.status, 400);
    assert_eq!(send(&"x".repeat(300), "/scrape", TWO).await.status, 400);
}

#[tokio::test]
async fn a_repeat_has_the_headers_of_the_first_response() {
    const NAMES: [&str; 4] = [
        "content-type",
        "x-ignored-parameters",
        "x-parameter-hints",
        "x-crawl-id",
    ];
    let server = TestServer::new().await;
    // Refused by egress, so no network is needed.
    let body = r#"{"url":"http://127.0.0.1:9/","limit":1,"respect_robots":false,"returnFormat":"text","cache":{"maxAge":0}}"#;
    for (path, has_crawl) in [("/scrape", false), ("/crawl", true)] {
        let send = async || {
            let request = server
                .request("POST", path)
                .header("idempotency-key", path)
                .header("accept", "application/jsonl");
            let request = request.body(Body::from(body));
            server.send(request.expect("a request")).await
        };
        let (first, again) = (send().await, send().await);
        assert_eq!((first.status, &first.body), (again.status, &again.body));
        let headers = |response: &TestResponse| NAMES.map(|name| response.header(name).to_owned());
        assert_eq!(headers(&first), headers(&again));
        let [_, ignored, hints, crawl] = headers(&again);
        assert!(
            ignored.contains("returnFormat") && ignored.contains("cache.maxAge"),
            "{ignored}"
        );
        assert!(hints.contains("returnFormat=return_format"), "{hints}");
        assert_eq!(!crawl.is_empty(), has_crawl);
        assert_eq!(first.header("idempotency-replayed"), "");
        assert_eq!(again.header("idempotency-replayed"), "true");
        assert_ne!(first.header("x-request-id"), again.header("x-request-id"));
        assert_ne!(
            first.header("ratelimit-remaining"),
            again.header("ratelimit-remaining")
        );
    }
}

#[tokio::test]
async fn open_endpoints_need_no_key() {
    let server = TestServer::new().await;
    assert_eq!(
        server.get_from("/health", "192.0.2.1:1", &[]).await.json(),
        json!({"status": "ok"})
    );
    let document = server
        .get_from("/v1/openapi.json", "192.0.2.1:1", &[])
        .await
        .json();
    for path in [
        "/scrape",
        "/links",
        "/transform",
        "/data/credits",
        "/plugins",
        "/health",
    ] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
    let schemas = &document["components"]["schemas"];
    for field in [
        "url",
        "return_format",
        "router",
        "max_credits_per_page",
        "automation_scripts",
    ] {
        assert!(
            schemas["ScrapeRequest"]["properties"][field].is_object(),
            "{field}"
        );
    }
    for field in ["url", "status", "content", "error", "costs"] {
        assert!(
            schemas["PageEntry"]["properties"][field].is_object(),
            "{field}"
        );
    }
    assert!(
        schemas["ScrapeRequest"]["example"].is_object()
            && schemas["PageEntry"]["example"].is_object()
    );
}

#[tokio::test]
async fn json_is_compressed_only_on_request() {
    let server = TestServer::new().await;
    let body =
        r#"{"url":"https://a.com/a-page-with-an-address-that-is-long-enough-to-be-worth-it"}"#;
    assert_eq!(
        server
            .post("/scrape", body)
            .await
            .header("content-encoding"),
        ""
    );
    for encoding in ["gzip", "br", "zstd"] {
        let request = server
            .request("POST", "/scrape")
            .header("accept-encoding", encoding);
        let response = server
            .send(request.body(Body::from(body)).expect("a request"))
            .await;
        assert_eq!(response.header("content-encoding"), encoding);
    }
}

#[tokio::test]
async fn request_ids_are_accepted_or_created() {
    let server = TestServer::new().await;
    let ids = |id: &str| {
        let request = server
            .request("GET", "/data/credits")
            .header("x-request-id", id);
        server.send(request.body(Body::empty()).expect("a request"))
    };
    assert_eq!(ids("my-id.1").await.header("x-request-id"), "my-id.1");
    assert_eq!(ids("my id").await.header("x-request-id").len(), 24);
}
