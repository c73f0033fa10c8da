//! What anybody may ask without a key, and what that costs the server.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use rustix::time::{ClockId, clock_gettime};

use super::server::TestServer;
use crate::router::open_paths;
use crate::status::key_directory::PATH;

/// CPU time of this thread.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a positive time")
}

#[tokio::test]
async fn no_open_route_costs_an_event_loop_much() {
    const REQUESTS: u32 = 100;
    let server = TestServer::new().await;
    for path in open_paths() {
        for encoding in ["identity", "gzip, br"] {
            let headers = [("accept-encoding", encoding)];
            // Whatever is made once is made now.
            server.get_from(path, "192.0.2.1:1", &headers).await;
            let before = cpu();
            for _ in 0..REQUESTS {
                server.get_from(path, "192.0.2.1:1", &headers).await;
            }
            let each = (cpu() - before) / REQUESTS;
            // A document that is made for each request takes 15 ms and more.
            assert!(
                each < Duration::from_millis(2),
                "{path} {encoding}: {each:?}"
            );
        }
    }
}

#[tokio::test]
async fn the_document_is_made_once_for_the_plugins_in_effect() {
    let server = TestServer::new().await;
    let made = || server.service.n_described.load(Ordering::SeqCst);
    for (generation, n_made) in [(1, 1), (1, 1), (2, 2)] {
        let service = &server.service;
        service.generation.store(generation, Ordering::SeqCst);
        let requests = (0..50).map(|_| server.get_from("/openapi.json", "192.0.2.1:1", &[]));
        for response in futures_util::future::join_all(requests).await {
            assert_eq!(response.status, 200);
        }
        assert_eq!(made(), n_made);
    }
    let first = server.get_from("/openapi.json", "192.0.2.1:1", &[]).await;
    let known = [("if-none-match", first.header("etag"))];
    let again = server
        .get_from("/openapi.json", "192.0.2.1:1", &known)
        .await;
    assert_eq!((again.status.as_u16(), again.body.as_str()), (304, ""));
    assert_eq!(again.header("etag"), first.header("etag"));
    assert_eq!(made(), 2);
}

#[tokio::test]
async fn the_document_is_made_once_even_if_its_request_is_dropped() {
    let server = TestServer::new().await;
    for n_polls in 1..5 {
        let service = &server.service;
        service.generation.fetch_add(1, Ordering::SeqCst);
        let before = service.n_described.load(Ordering::SeqCst);
        let first = server.get_from("/openapi.json", "192.0.2.1:1", &[]);
        let mut first = Box::pin(first);
        for _ in 0..n_polls {
            if (&mut first).now_or_never().is_some() {
                break;
            }
        }
        drop(first);
        let next = server.get_from("/openapi.json", "192.0.2.1:1", &[]).await;
        assert_eq!(next.status, 200);
        let n_made = service.n_described.load(Ordering::SeqCst) - before;
        assert_eq!(n_made, 1, "after {n_polls} polls");
    }
}

#[tokio::test]
async fn the_start_page_is_not_sent_twice() {
    let server = TestServer::new().await;
    let first = server.get_from("/", "192.0.2.1:1", &[]).await;
    assert_eq!(first.header("content-type"), "text/html; charset=utf-8");
    assert!(
        first
            .header("content-security-policy")
            .starts_with("default-src")
    );
    let known = [("if-none-match", first.header("etag"))];
    let again = server.get_from("/", "192.0.2.1:1", &known).await;
    assert_eq!(again.status, 304);
    let packed = [("accept-encoding", "gzip")];
    let packed = server.get_from("/", "192.0.2.1:1", &packed).await;
    assert_eq!(packed.header("content-encoding"), "gzip");
}

#[tokio::test]
async fn the_key_directory_is_signed_and_absent_without_a_key() {
    let server = TestServer::new().await;
    let get = || server.get_from(PATH, "192.0.2.1:1", &[("accept-encoding", "gzip")]);
    assert_eq!(get().await.status, 404);
    server.service.signs_requests.store(true, Ordering::SeqCst);
    let response = get().await;
    assert_eq!(response.status, 200);
    assert_eq!(
        response.header("content-type"),
        "application/http-message-signatures-directory+json"
    );
    assert_eq!(response.header("cache-control"), "max-age=60");
    assert_eq!(response.header("signature-input"), "sig1=()");
    assert_eq!(response.header("signature"), "sig1=:AA==:");
    assert_eq!(response.header("content-encoding"), "", "as it is signed");
    assert_eq!(response.body, "{\"keys\":[]}");
}

#[tokio::test]
async fn a_response_says_its_span_if_the_request_has_a_trace() {
    let server = TestServer::new().await;
    let sent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    let response = server
        .get_from("/health", "192.0.2.1:1", &[("traceparent", sent)])
        .await;
    let span = response.header("traceresponse");
    assert!(span.starts_with(&sent[..36]) && span != sent, "{span}");
    assert_eq!(span.len(), sent.len());
    let response = server.get_from("/health", "192.0.2.1:1", &[]).await;
    assert_eq!(response.header("traceresponse"), "");
}
