//! Lists of a crawl that are far too long: refused with what is wrong, at once, while others are
//! served.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use trawl_tests::{FakeSite, TestApp};

/// The slowest answer that anybody may get meanwhile, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends requests that are refused, and returns their errors.
async fn errors(app: &TestApp, requests: &[Value]) -> Vec<String> {
    let mut errors = Vec::new();
    for request in requests {
        let started = Instant::now();
        let answer = app.post("/crawl", &[], request).await;
        assert_eq!(
            answer.status,
            400,
            "{}",
            String::from_utf8_lossy(&answer.body)
        );
        assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
        errors.push(answer.json()["error"].as_str().unwrap().to_owned());
    }
    errors
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_beyond_their_bounds_are_refused_by_name_item_and_bound() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let url = site.put("/", "text/html", "<p>innocent</p>");
    let budget: Map<String, Value> = (0..9_000).map(|n| (format!("/{n}"), json!(1))).collect();
    let endless: Map<String, Value> = (0..60_000).map(|n| (format!("/{n}"), json!(1))).collect();
    let nested: Map<String, Value> = (1..100).map(|n| ("/a".repeat(n), json!(1))).collect();
    let one = |pattern: &str| json!({"url": url, "blacklist": vec![pattern; 150]});
    let requests = [
        json!({"url": url, "blacklist": vec!["\\w{12}"; 10_000]}),
        json!({"url": url, "external_domains": vec!["a+\\.b"; 10_000]}),
        json!({"url": url, "whitelist": ["/a", "(a{1000}){1000}"]}),
        json!({"url": url, "budget": budget}),
        json!({"url": url, "budget": nested}),
        // The bound is for the request, not for an object.
        json!([one("\\w{13}"), one("\\w{14}")]),
        json!({"url": url, "budget": endless}),
    ];
    let innocent = async {
        for _ in 0..20 {
            let started = Instant::now();
            let entry = app
                .page(json!({"url": url, "request": "http", "cache": false}))
                .await;
            assert_eq!(entry["status"], 200, "{entry}");
            assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
        }
    };
    let (errors, ()) = tokio::join!(errors(&app, &requests), innocent);
    let expected = [
        ("blacklist: `\\w{12}` (item ", "at most 10000 states"),
        ("external_domains: `a+\\.b` (item ", "at most 10000 states"),
        (
            "whitelist: `(a{1000}){1000}` (item 1)",
            "at most 10000 states",
        ),
        ("budget: has 9000 keys", "at most 1000"),
        ("budget: more than 32 keys apply to `/a/a", "leave out"),
        ("[1].blacklist: `\\w{14}` (item ", "at most 10000 states"),
        ("budget: ", "more than 10000 fields in one object"),
    ];
    assert_eq!(errors.len(), expected.len());
    for (error, (start, part)) in errors.iter().zip(expected) {
        assert!(error.starts_with(start) && error.contains(part), "{error}");
    }
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_plain_lists_and_many_expressions_decide_about_every_url() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let links: String = (0..300)
        .map(|n| format!("<a href=\"/p/{n}\">{n}</a>"))
        .collect();
    let url = site.put("/", "text/html", links);
    for n in 0..300 {
        site.put(&format!("/p/{n}"), "text/html", "<p>page</p>");
    }
    // All but the multiples of fifty, by beginnings of paths and by expressions.
    let plain = (0..9_000).map(|n| format!("/p/{}1", n * 10));
    let mut blacklist: Vec<String> = plain.collect();
    blacklist.extend((0..200).map(|n| format!("/p/{n}[0-9]*[2-9]$")));
    blacklist.push("/p/[1-9]$".to_owned());
    blacklist.extend(["/p/[0-9]?[1-46-9]0$", "/p/[0-9]*1$"].map(str::to_owned));
    let request = json!({
        "url": url, "request": "http", "return_format": "empty", "cache": false,
        "blacklist": blacklist,
    });
    let answer = app.post("/crawl", &[], &request).await;
    assert_eq!(
        answer.status,
        200,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    let entries: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    let paths = entries.iter().map(|entry| entry["url"].as_str().unwrap());
    let mut paths: Vec<&str> = paths
        .filter_map(|url| url.split_once("/p/"))
        .map(|at| at.1)
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, ["0", "100", "150", "200", "250", "50"]);
    app.assert_settled().await;
}
