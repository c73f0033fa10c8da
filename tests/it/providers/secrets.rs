//! Every vendor is used in every mode with canary keys, then all output is searched for them.
//! Spec S21.

use serde_json::{Value, json};
use trawl_tests::canary::{assert_clean, assert_folder_clean};
use trawl_tests::vendors::{Answered, BAD_KEY, BUSY_KEY, GOOD_KEY, POOR_KEY, to_base64};
use trawl_tests::{ServerProcess, VendorServer, World};

use super::{NAMES, pooled_pairs};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_is_in_responses_logs_metrics_or_files() {
    let vendors = VendorServer::start().await;
    let pairs = pooled_pairs();
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let mut world = World::new();
    world.use_vendors(vendors.address, &pairs);
    world.log = "trace";
    world.config = "[http]\nmetrics_without_key = true\n".to_owned();
    let server = ServerProcess::start(world);
    let mut all: Vec<u8> = Vec::new();
    let mut ask = async |path: &str, body: Value| {
        let answer = server.post(path, &[], &body).await;
        all.extend_from_slice(&answer.body);
        for (name, value) in &answer.headers {
            all.extend_from_slice(name.as_str().as_bytes());
            all.extend_from_slice(value.as_bytes());
        }
    };
    for (number, name) in NAMES {
        let provider = format!("provider_{number}");
        for key in [GOOD_KEY, POOR_KEY, BUSY_KEY, BAD_KEY] {
            for mode in ["first", "fallback", "off"] {
                for path in ["/page", "/refused"] {
                    let router = json!({"mode": mode, "provider": provider, "token": key, "credentials": {name: key}});
                    let url = format!("http://127.0.0.1:1{path}");
                    ask("/scrape", json!({"url": url, "request": "http", "router": router, "return_headers": true, "metadata": true})).await;
                }
            }
        }
        let router = json!({"mode": "first", "provider": provider, "token": GOOD_KEY});
        ask("/crawl", json!({"url": "http://shop.example/page", "request": "http", "limit": 2, "router": router, "run_in_background": number == 1})).await;
        ask("/scrape", json!({"url": 3, "router": router})).await;
    }
    // Vendors that leak the key: verbatim, encoded, in headers, in errors.
    for (status, fact) in [(200, true), (401, false), (500, false)] {
        let base64 = to_base64(format!("user:{GOOD_KEY}:more").as_bytes());
        let percent = GOOD_KEY
            .replace('/', "%2F")
            .replace('+', "%2B")
            .replace('=', "%3D");
        let body = format!(
            "<p>{GOOD_KEY}</p><p>{base64}</p><a href=\"/?k={percent}\">x</a>{{\"k\":\"{}\"}}",
            GOOD_KEY.replace('/', "\\/")
        );
        let mut echo = Answered::new(status, "text/html", body)
            .header("Spb-x-echo", GOOD_KEY)
            .header("Spb-request-id", GOOD_KEY)
            .header("Spb-resolved-url", format!("http://a.example/{percent}"));
        if fact {
            echo = echo
                .header("Spb-initial-status-code", 200)
                .header("Spb-set-cookie", format!("k={GOOD_KEY}"));
        }
        vendors.always("provider_2", echo);
        let router =
            json!({"mode": "first", "provider": "provider_2", "token": GOOD_KEY, "funding": "own"});
        ask("/scrape", json!({"url": "http://127.0.0.1:1/page", "request": "http", "return_format": ["raw", "text", "markdown", "bytes"],
            "return_headers": true, "return_cookies": true, "return_page_links": true, "metadata": true, "router": router})).await;
    }
    for path in [
        "/metrics",
        "/plugins",
        "/data/credits",
        "/openapi.json",
        "/health",
    ] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        all.extend_from_slice(&answer.body);
    }
    let keys = [GOOD_KEY, POOR_KEY, BUSY_KEY, BAD_KEY].map(str::to_owned);
    assert_clean("an answer", &all, &keys);
    let asked = vendors.order().len();
    assert!(asked > 100, "the vendors were called {asked} times");
    assert_folder_clean(&server.world.data(), &keys);
    let log = std::fs::read(server.world.path("log")).expect("a log");
    assert!(
        log.len() > 100_000,
        "a log at the lowest level, not {} bytes",
        log.len()
    );
    assert_clean("the log", &log, &keys);
}
