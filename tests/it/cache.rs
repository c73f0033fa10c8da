//! The page cache through the API: who is served from it, and what that costs.

use serde_json::{Value, json};
use trawl_model::Nanodollars;
use trawl_tests::caller::costs;
use trawl_tests::site::PAGE;
use trawl_tests::{FakeSite, TestApp};

const DOLLAR: Nanodollars = Nanodollars(1_000_000_000);

async fn world() -> (TestApp, FakeSite) {
    (TestApp::start().await, FakeSite::start().await)
}

fn bytes_cost(entry: &Value) -> i64 {
    costs(entry)[3]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cached_page_is_free_and_marked_as_a_hit() {
    let (app, site) = world().await;
    let request =
        json!({"url": site.url("/page"), "return_format": ["raw", "markdown"], "request": "http"});
    let first = app.fine(request.clone()).await;
    assert_eq!(bytes_cost(&first), PAGE.len() as i64);
    assert_eq!(first.get("metadata"), None);

    let before = app.balance();
    let again = app.fine(request).await;
    assert_eq!(bytes_cost(&again), 0);
    // Rendering the formats costs CPU: for such a small page a nanodollar or less.
    assert_eq!(before - app.balance(), costs(&again)[5]);
    for part in ["url", "status", "content"] {
        assert_eq!(first[part], again[part], "{part}");
    }
    let metadata = again["metadata"].as_object().unwrap();
    assert_eq!(metadata.len(), 1, "{metadata:?}");
    assert_eq!(metadata["cache"]["status"], "hit");
    assert!(metadata["cache"]["age_ms"].is_u64() && metadata["cache"]["stored_at"].is_string());
    assert_eq!(site.requests().len(), 1);

    let request = json!({"url": site.url("/page"), "metadata": true, "return_headers": true});
    let whole = app.fine(request).await;
    assert_eq!(whole["metadata"]["file_size"], PAGE.len());
    assert_eq!(whole["metadata"]["cache"]["status"], "hit");
    assert_eq!(whole["headers"]["content-type"], "text/html; charset=utf-8");
    assert_eq!(site.requests().len(), 1);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn max_age_limits_the_age_of_a_cached_page() {
    let (app, site) = world().await;
    let url = site.url("/page");
    for (number, cache) in [
        json!(false),
        json!(null),
        json!({"max_age": 0}),
        json!(false),
    ]
    .into_iter()
    .enumerate()
    {
        let entry = app.fine(json!({"url": url, "cache": cache})).await;
        assert_eq!(bytes_cost(&entry), PAGE.len() as i64, "{cache}");
        assert_eq!(site.requests().len(), number + 1, "{cache}");
    }
    for cache in [json!(true), json!({"max_age": 60_000}), json!({})] {
        let entry = app.fine(json!({"url": url, "cache": cache})).await;
        assert_eq!(bytes_cost(&entry), 0, "{cache}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_share_public_pages_and_no_private_ones() {
    let (app, site) = world().await;
    let (_, other) = app.another("other", DOLLAR).await;
    let public = json!({"url": site.url("/page")});
    app.fine(public.clone()).await;
    let entry = other.fine(public).await;
    assert_eq!(entry["metadata"]["cache"]["status"], "hit");

    // `/echo` returns the request.
    let url = site.url("/echo");
    for private in [
        json!({"headers": {"X-Token": "canary"}}),
        json!({"cookies": "sid=canary"}),
    ] {
        let mut request = json!({"url": url, "return_format": "raw"});
        let private = private.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(private);
        let entry = app.fine(request).await;
        assert!(entry["content"].as_str().unwrap().contains("canary"));
        let entry =
            other.fine(json!({"url": url, "cache": {"allow_stale": true}, "return_format": "raw"}));
        let entry = entry.await;
        assert!(!entry["content"].as_str().unwrap().contains("canary"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_pages_are_not_cached() {
    let (app, site) = world().await;
    for path in ["/missing", "/status/503 Service Unavailable", "/truncated"] {
        let request = json!({"url": site.url(path), "cache": {"allow_stale": true}});
        app.failure(request.clone()).await;
        let n_requests = site.requests().len();
        app.failure(request).await;
        assert!(site.requests().len() > n_requests, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_was_not_paid_for_is_not_cached() {
    let (app, site) = world().await;
    let url = site.put("/large", "text/plain", vec![b'x'; 200_000]);
    let request = |credits: Option<u32>| json!({"url": url, "return_format": "text", "max_credits_per_page": credits, "request": "http"});
    for _ in 0..2 {
        let (_, reason) = app.failure(request(Some(1))).await;
        assert!(reason.contains("`max_credits_per_page` allows"), "{reason}");
    }
    assert_eq!(bytes_cost(&app.fine(request(None)).await), 200_000);
    assert_eq!(bytes_cost(&app.fine(request(Some(1))).await), 0);
}
