//! Sitemaps of a crawl that has ended.

use std::time::Duration;

use serde_json::{Value, json};
use trawl_tests::{FakeSite, TestApp};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sitemaps_are_not_read_after_the_end_of_the_crawl() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let robots = format!("User-agent: *\nSitemap: {}\n", site.url("/map.xml"));
    site.put("/robots.txt", "text/plain", robots);
    // Half a second each, one after the other.
    let files: String = (0..60)
        .map(|n| {
            let file = site.url(&format!("/slow/500?{n}"));
            format!("<sitemap><loc>{file}</loc></sitemap>")
        })
        .collect();
    let index = format!("<sitemapindex>{files}</sitemapindex>");
    site.put("/map.xml", "application/xml", index);
    // The first page takes long enough that reading has begun, and its link is over the limit.
    let request = json!({
        "url": site.url("/slow/2000"), "request": "http", "limit": 1, "sitemap": true, "cache": false,
    });
    let answer = app.post("/crawl", &[], &request).await;
    let entries: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(entries.len(), 1, "{entries:?}");
    let n_read = || {
        let requests = site.requests();
        let read = requests
            .iter()
            .filter(|head| head.starts_with("GET /slow/500?"));
        read.count()
    };
    let n_before = n_read();
    assert!((1..60).contains(&n_before), "{n_before}");
    tokio::time::sleep(Duration::from_secs(4)).await;
    let n_after = n_read();
    // One request may have been on its way.
    assert!(n_after <= n_before + 1, "{n_before}, then {n_after}");
    app.assert_settled().await;
}
