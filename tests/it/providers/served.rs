//! All eleven providers as components and over sockets: pages with and without JavaScript, and
//! failures.

use serde_json::{Value, json};
use trawl_tests::vendors::{BAD_KEY, GOOD_KEY, LARGE_BYTES, PAGE, PAGE_RENDERED, POOR_KEY};

use super::{NAMES, Stage, first, pooled_pairs};

/// A router that prefers a provider, with the caller's key where the provider accepts one.
fn prefer(number: u32, key: &str) -> Value {
    match number {
        1..=9 => first(&format!("provider_{number}"), key),
        _ => json!({"provider": format!("provider_{number}")}),
    }
}

async fn stage() -> Stage {
    let pairs = pooled_pairs();
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    Stage::with(&pairs).await
}

/// A URL that our own stack cannot reach, so that vendors with two secrets are used as well.
/// provider_1 accepts no IP addresses; it is used before our own stack anyway.
fn url(number: u32, path: &str) -> String {
    match number {
        1 => format!("http://shop.example{path}"),
        _ => format!("http://127.0.0.1:1{path}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_comes_as_text_is_not_decoded_again() {
    let stage = stage().await;
    let body = json!({"url": url(9, "/legacy"), "request": "http", "return_format": "text", "router": prefer(9, GOOD_KEY)});
    let entry = stage.app.page(body).await;
    assert_eq!(
        entry["costs"]["vendor"]["provider"], "provider_9",
        "{entry}"
    );
    let content = entry["content"].as_str().unwrap();
    assert!(content.contains("Grüße \"aus\" 東京"), "{content}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_provider_serves_pages_with_and_without_javascript() {
    let stage = stage().await;
    for number in 1..=11 {
        for (mode, expected) in [("http", PAGE), ("browser", PAGE_RENDERED)] {
            let body = json!({"url": url(number, "/page"), "request": mode, "router": prefer(number, GOOD_KEY)});
            let entry = stage.app.page(body).await;
            let vendor = &entry["costs"]["vendor"];
            assert_eq!(
                vendor["provider"],
                format!("provider_{number}"),
                "{mode}: {entry}"
            );
            assert_eq!(entry["content"], expected, "{number} {mode}");
            assert_eq!(entry["status"], 200, "{number} {mode}");
            assert_eq!(vendor["attempts"], 1, "{number} {mode}");
            assert_eq!(vendor["byok"], number <= 9, "{number} {mode}");
            assert!(
                vendor["vendor_cost"].as_f64().unwrap() > 0.0,
                "{number} {mode}: {entry}"
            );
            assert!(
                vendor["billed_cost"].as_f64().unwrap() >= 0.0001,
                "{number} {mode}"
            );
        }
    }
    stage.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_provider_distinguishes_target_errors_from_vendor_errors() {
    let stage = stage().await;
    for number in 1..=11 {
        let router = prefer(number, GOOD_KEY);
        let body = json!({"url": url(number, "/missing"), "request": "http", "router": router});
        let entry = stage.app.page(body).await;
        assert_eq!(entry["status"], 404, "{number}: {entry}");
        for path in ["/blocked", "/garbage", "/refused", "/breaks"] {
            let body = json!({"url": url(number, path), "request": "http", "router": router});
            let entry = stage.app.page(body).await;
            assert!(!entry["error"].is_null(), "{number} {path}: {entry}");
            assert_eq!(entry["costs"]["total_cost"], 0.0, "{number} {path}");
            assert!(entry["costs"]["vendor"].is_null(), "{number} {path}");
        }
    }
    stage.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_provider_reports_rejected_keys_and_missing_credit() {
    let stage = stage().await;
    for (number, name) in NAMES {
        for (key, expected) in [(BAD_KEY, "bad_key"), (POOR_KEY, "no_credit")] {
            let body = json!({"url": stage.site.url("/page").replace("127.0.0.1", "localhost"), "request": "http", "metadata": true,
                "router": {"mode": "first", "provider": format!("provider_{number}"), "token": key, "funding": "own"}});
            let entry = stage.app.page(body).await;
            assert_eq!(
                entry["metadata"]["provider_attempts"][0]["outcome"], expected,
                "{name}: {entry}"
            );
            assert!(
                entry["costs"]["vendor"].is_null(),
                "our own stack served it"
            );
        }
    }
    stage.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawls_delay_holds_for_pages_of_a_provider() {
    let stage = Stage::without_credentials().await;
    let seeds = ["/page", "/page?2", "/page?3"].map(|path| format!("http://shop.example{path}"));
    let body = json!({"url": seeds.join(","), "request": "http", "depth": 0, "delay": 700, "respect_robots": false,
        "router": first("provider_2", GOOD_KEY)});
    let started = std::time::Instant::now();
    let answer = stage.app.post("/crawl", &[], &body).await;
    assert_eq!(answer.status, 200);
    let entries = answer.json();
    let entries = entries.as_array().unwrap();
    assert_eq!(entries.len(), 3, "{entries:?}");
    for entry in entries {
        assert_eq!(
            entry["costs"]["vendor"]["provider"], "provider_2",
            "{entry}"
        );
    }
    assert!(started.elapsed() >= std::time::Duration::from_millis(1_400));
    stage.assert_used(&["provider_2"; 3]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_above_the_limit_is_a_failure() {
    let stage = stage().await;
    for number in [2, 4, 7, 10] {
        let body = json!({"url": url(number, "/large"), "request": "http", "router": prefer(number, GOOD_KEY)});
        let entry = stage.app.page(body).await;
        let length = entry["content"].as_str().unwrap().len();
        assert!(
            length > LARGE_BYTES,
            "{number}: {length} bytes, {}",
            entry["error"]
        );
    }
    let huge = trawl_tests::vendors::Answered::new(200, "text/html", vec![b'x'; 60 << 20])
        .header("Spb-initial-status-code", 200);
    stage.vendors.always("provider_2", huge);
    let mut alone = prefer(2, GOOD_KEY);
    alone["funding"] = json!("own");
    let body = json!({"url": url(2, "/page"), "request": "http", "router": alone});
    let entry = stage.app.page(body).await;
    assert!(
        entry["error"].as_str().unwrap().contains("larger than"),
        "{entry}"
    );
    assert_eq!(stage.app.get("/health").await.status, 200);
    stage.app.assert_settled().await;
}
