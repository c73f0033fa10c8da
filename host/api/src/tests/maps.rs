//! `POST /map` on a server whose pages are made up.

use std::sync::atomic::Ordering;

use serde_json::json;

use super::server::{CACHED_PATH, FAULTY_HOST, TestServer};

/// A host whose sitemaps egress refuses at once.
const SITE: &str = "http://127.0.0.1:1";

#[tokio::test]
async fn a_map_that_is_charged_is_shown_without_money_for_cached_pages() {
    for (n_paid, n_cached_pages) in [(usize::MAX, 1), (1, 0)] {
        let server = TestServer::new().await;
        server.service.n_paid.store(n_paid, Ordering::SeqCst);
        let body = json!({"url": format!("{SITE}/"), "crawl_timeout": 5});
        let response = server.post("/map", body.to_string()).await;
        assert_eq!(response.status, 200, "{}", response.body);
        let map = response.json();
        let lines = map.as_array().expect("a list");
        let url = format!("{SITE}{CACHED_PATH}");
        assert!(lines.iter().any(|line| line["url"] == url), "{map}");
        let end = lines.last().expect("the end");
        assert_eq!(end["n_cached_pages"], n_cached_pages, "{map}");
        assert!(n_cached_pages > 0 || end["is_cut"] == true, "{map}");
        assert!(end["total_cost"].as_f64().is_some_and(|cost| cost > 0.0));
    }
}

#[tokio::test]
async fn a_map_that_is_charged_is_shown_when_the_page_cache_is_broken() {
    let server = TestServer::new().await;
    let site = format!("http://{FAULTY_HOST}:1");
    let body = json!({"url": format!("{site}/"), "crawl_timeout": 5});
    let response = server.post("/map", body.to_string()).await;
    assert_eq!(response.status, 200, "{}", response.body);
    let map = response.json();
    let lines = map.as_array().expect("a list");
    let url = format!("{site}{CACHED_PATH}");
    assert!(lines.iter().any(|line| line["url"] == url), "{map}");
    let end = lines.last().expect("the end");
    assert_eq!(
        (&end["n_cached_pages"], &end["is_cut"]),
        (&json!(0), &json!(true))
    );
    assert!(end["total_cost"].as_f64().is_some_and(|cost| cost > 0.0));
}
