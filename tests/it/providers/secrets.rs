//! Every vendor is used in every mode with canary keys, then all output is searched for them.
//! Spec S21.

use std::path::Path;

use serde_json::{Value, json};
use trawl_tests::vendors::{Answered, BAD_KEY, BUSY_KEY, GOOD_KEY, POOR_KEY, to_base64};
use trawl_tests::{ServerProcess, VendorServer, World};

use super::{NAMES, pooled_pairs};

/// All encodings of a canary that must not occur anywhere.
fn forms() -> Vec<String> {
    let mut forms = Vec::new();
    for key in [GOOD_KEY, POOR_KEY, BUSY_KEY, BAD_KEY] {
        let percent = key
            .replace('/', "%2F")
            .replace('+', "%2B")
            .replace('=', "%3D");
        forms.extend([key.to_owned(), percent.to_lowercase(), percent]);
        for before in ["", "a", "ab"] {
            let text = to_base64(format!("{before}{key}").as_bytes());
            // Without the letters that depend on what precedes and follows it.
            let start = (before.len() * 8).div_ceil(6);
            let end = (before.len() + key.len()) * 8 / 6;
            forms.push(text[start..end].to_owned());
        }
    }
    forms
}

fn assert_clean(what: &str, bytes: &[u8]) {
    for form in forms() {
        let found = bytes
            .windows(form.len())
            .position(|window| window == form.as_bytes());
        if let Some(place) = found {
            let from = place.saturating_sub(200);
            let around = String::from_utf8_lossy(&bytes[from..(place + 60).min(bytes.len())]);
            panic!("a key in {what}: …{around}…");
        }
    }
}

fn assert_folder_clean(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            assert_folder_clean(&entry.path());
        } else if kind.is_file() {
            let bytes = std::fs::read(entry.path()).expect("a file");
            assert_clean(&entry.path().display().to_string(), &bytes);
        }
    }
}

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
    assert_clean("an answer", &all);
    let asked = vendors.order().len();
    assert!(asked > 100, "the vendors were called {asked} times");
    assert_folder_clean(&server.world.data());
    let log = std::fs::read(server.world.path("log")).expect("a log");
    assert!(
        log.len() > 100_000,
        "a log at the lowest level, not {} bytes",
        log.len()
    );
    assert_clean("the log", &log);
}
