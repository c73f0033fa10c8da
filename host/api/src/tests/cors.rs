//! Requests of web pages from other origins.

use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::http::{HeaderMap, Request};

use super::server::{TestResponse, TestServer};

const ORIGIN: &str = "https://app.example";

async fn preflight(server: &TestServer, path: &str) -> TestResponse {
    let request = Request::builder()
        .method("OPTIONS")
        .uri(path)
        .header("origin", ORIGIN)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization")
        .body(Body::empty());
    server.send(request.expect("a request")).await
}

fn has_cors(headers: &HeaderMap) -> bool {
    headers.contains_key("access-control-allow-origin")
}

#[tokio::test]
async fn a_preflight_is_answered_without_a_key() {
    let server = TestServer::new().await;
    for (path, methods, is_open) in [
        ("/scrape", "POST", true),
        ("/v1/scrape", "POST", true),
        ("/unlimited/crawl", "POST", true),
        ("/crawl/c1", "GET, DELETE", true),
        ("/fetch/a.example/b", "GET, POST", true),
        ("/account/notices", "PUT", true),
        ("/health", "GET", false),
        ("/metrics", "GET", false),
        ("/admin/accounts", "GET, POST", false),
        ("/v1/admin/verify", "GET", false),
    ] {
        let answer = preflight(&server, path).await;
        assert_eq!((answer.status.as_u16(), answer.body.as_str()), (204, ""));
        let allowed = answer.header("access-control-allow-methods");
        assert_eq!(allowed, methods, "{path}");
        let allowed = answer.header("access-control-allow-headers");
        assert!(allowed.starts_with("Authorization, "), "{path}: {allowed}");
        assert!(!answer.header("access-control-max-age").is_empty());
        assert_eq!(has_cors(&answer.headers), is_open, "{path}");
    }
    assert_eq!(preflight(&server, "/nothing").await.status, 404);
}

#[tokio::test]
async fn a_page_of_any_origin_reads_what_is_answered_to_a_key() {
    let server = TestServer::new().await;
    let request = server
        .request("POST", "/scrape")
        .header("origin", ORIGIN)
        .body(Body::from(r#"{"url":"a.com"}"#));
    let answer = server.send(request.expect("a request")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert_eq!(answer.header("access-control-expose-headers"), "*");
    // The refusal of a key can be read, too: it says what is wrong.
    let keyless = [("origin", ORIGIN)];
    let answer = server.get_from("/account", "192.0.2.1:1", &keyless).await;
    assert_eq!(answer.status, 401);
    assert!(has_cors(&answer.headers));
    // And a 404, which only says what is not served.
    let answer = server.get_from("/scrap", "192.0.2.1:1", &keyless).await;
    assert_eq!(answer.status, 404);
    assert!(has_cors(&answer.headers));
    // Nothing else: what is open to the server's own network is not open to pages in it.
    for path in ["/metrics", "/health", "/admin/accounts", "/providers"] {
        let answer = server.get_from(path, "127.0.0.1:1", &keyless).await;
        assert!(!has_cors(&answer.headers), "{path}");
    }
    let answer = server.get("/account").await;
    assert!(!has_cors(&answer.headers), "no page asks");
}

#[tokio::test]
async fn a_page_reads_that_the_server_is_shutting_down() {
    let server = TestServer::new().await;
    server.service.is_draining.store(true, Ordering::SeqCst);
    for path in ["/scrape", "/v1/unlimited/crawl", "/account/notices"] {
        let asked = preflight(&server, path).await;
        assert_eq!(asked.status, 204, "{path}");
        assert!(has_cors(&asked.headers), "{path}");
    }
    let keyless = [("origin", ORIGIN)];
    for path in ["/account", "/v1/crawl/c1", "/nothing"] {
        let refused = server.get_from(path, "192.0.2.1:1", &keyless).await;
        assert_eq!(refused.status, 503, "{path}");
        assert!(has_cors(&refused.headers), "{path}");
        assert_eq!(refused.header("access-control-expose-headers"), "*");
    }
    for path in ["/providers", "/v1/openapi.json", "/admin/accounts"] {
        let refused = server.get_from(path, "192.0.2.1:1", &keyless).await;
        assert_eq!(refused.status, 503, "{path}");
        assert!(!has_cors(&refused.headers), "{path}");
    }
}
