//! Pages that fail: a free entry with status and error, and the other pages of the request are
//! served.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::TcpListener;
use trawl_tests::caller::assert_free;
use trawl_tests::site::PAGE;

use super::world;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_kind_of_failure_has_its_status() {
    let (app, site) = world().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refused = format!("http://{}/", closed.local_addr().unwrap());
    drop(closed);
    for (url, status, says) in [
        (refused, 521, "refused"),
        (site.url("/truncated"), 522, ""),
        (site.url("/garbage"), 522, ""),
        (site.url("/reset"), 523, "reset"),
        (site.url("/loop"), 310, "redirects"),
        (site.url("/mislabelled/br"), 522, "gzip"),
        ("http://nowhere.invalid/".to_owned(), 525, "nowhere.invalid"),
        ("http://10.1.2.3/".to_owned(), 526, "10.1.2.3"),
        ("ftp://127.0.0.1/x".to_owned(), 526, "`ftp`"),
        ("file:///etc/passwd".to_owned(), 526, "`file`"),
        ("javascript:alert(1)".to_owned(), 526, "`javascript`"),
        (site.url("/to?file:///etc/passwd"), 526, "file"),
    ] {
        let (found, reason) = app
            .failure(json!({"url": url, "request_timeout": 20}))
            .await;
        assert_eq!(found, status, "{url}: {reason}");
        assert!(reason.contains(says), "{url}: {reason}");
        assert!(!reason.ends_with('.'), "{reason}");
    }
    app.assert_settled().await;
    assert_eq!(app.balance(), 100_000_000_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_that_share_a_status_have_causes_of_their_own() {
    let (app, site) = world().await;
    site.put("/robots.txt", "text/plain", "User-agent: *\nDisallow: /no");
    let obeying = json!(true);
    for (url, respect_robots, status, cause) in [
        ("ftp://127.0.0.1/x".to_owned(), &json!(null), 526, "bad_url"),
        (
            "http://10.1.2.3/".to_owned(),
            &json!(null),
            526,
            "private_address",
        ),
        (site.url("/no"), &obeying, 526, "robots"),
        (site.url("/to?/no"), &obeying, 526, "redirect_refused"),
        (
            site.url("/page").replace("http:", "https:"),
            &json!(null),
            526,
            "tls",
        ),
        (site.url("/loop"), &json!(null), 310, "too_many_redirects"),
        (site.url("/status/404"), &json!(null), 404, "http_status"),
    ] {
        let body = json!({"url": url, "request": "http", "respect_robots": respect_robots});
        let entry = app.page(body).await;
        assert_eq!(
            (&entry["status"], &entry["cause"]),
            (&json!(status), &json!(cause)),
            "{url}: {entry}"
        );
    }
    let fine = app
        .fine(json!({"url": site.url("/page"), "request": "http"}))
        .await;
    assert!(fine.get("cause").is_none(), "{fine}");
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_page_ends_at_its_timeout() {
    let (app, site) = world().await;
    for path in ["/silent", "/drip"] {
        let started = Instant::now();
        let (status, reason) = app
            .failure(json!({"url": site.url(path), "request_timeout": 1_000}))
            .await;
        assert_eq!(status, 524, "{reason}");
        let took = started.elapsed();
        assert!(
            took > Duration::from_millis(900) && took < Duration::from_secs(15),
            "{took:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_response_of_the_site_keeps_its_parts() {
    let (app, site) = world().await;
    for (path, status) in [
        ("/status/404", 404),
        ("/missing", 404),
        ("/status/503", 503),
    ] {
        let body = json!({"url": site.url(path), "return_format": "raw", "return_headers": true, "metadata": true});
        let entry = app.page(body).await;
        assert_eq!(entry["status"], status, "{path}");
        assert!(
            entry["error"]
                .as_str()
                .unwrap()
                .contains(&status.to_string()),
            "{entry}"
        );
        assert!(!entry["content"].as_str().unwrap().is_empty());
        assert!(
            entry["headers"]["content-type"].is_string() && entry["metadata"]["title"].is_string()
        );
        assert_free(&entry);
    }
    assert_eq!(app.balance(), 100_000_000_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_page_does_not_fail_the_batch() {
    let (app, site) = world().await;
    let list = ["/page", "/reset", "/loop", "/page?again"]
        .map(|path| site.url(path))
        .join(",");
    let entries = app.scrape(json!({"url": list})).await;
    let errors: Vec<_> = entries
        .iter()
        .map(|entry| entry["error"].is_string())
        .collect();
    assert_eq!(errors, [false, true, true, false]);
    assert_eq!(
        (&entries[0]["content"], &entries[3]["content"]),
        (&json!(PAGE), &json!(PAGE))
    );
    assert!(
        entries
            .iter()
            .all(|entry| entry["content"].is_string() && entry["url"].is_string())
    );
}
