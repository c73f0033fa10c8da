//! What sites say about the use of their pages, with and without a `purpose`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use trawl_tests::caller::assert_free;
use trawl_tests::{FakeSite, TestApp};

fn link(to: &str) -> String {
    format!("<a href=\"{to}\">{to}</a>")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_says_what_a_page_may_be_used_for() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let robots = "License: /license.xml\nUser-agent: *\nContent-Signal: search=yes,ai-train=no\n";
    site.put("/robots.txt", "text/plain", robots);
    let head = "<meta name=tdm-reservation content=1><meta name=tdm-policy content=/policy>";
    let url = site.put("/page", "text/html", format!("{head}<p>text"));
    let request = json!({"url": url, "request": "http", "metadata": true, "cache": false});
    let page = app.fine(request.clone()).await;
    let no = |source: &str| json!({"allowed": false, "sources": [source]});
    assert_eq!(
        page["metadata"]["rights"],
        json!({
            "ai-input": no("meta tdm-reservation"), "ai-train": no("meta tdm-reservation"),
            "licenses": [site.url("/policy")],
        })
    );
    let mut obeying = request;
    obeying["respect_robots"] = true.into();
    let page = app.fine(obeying).await;
    assert_eq!(
        page["metadata"]["rights"],
        json!({
            "search": {"allowed": true, "sources": ["robots.txt content-signal"]},
            "ai-input": no("meta tdm-reservation"),
            "ai-train": {
                "allowed": false,
                "sources": ["robots.txt content-signal", "meta tdm-reservation"],
            },
            "licenses": [site.url("/license.xml"), site.url("/policy")],
        })
    );
    let plain = site.put("/plain", "text/html", "<p>text");
    let request = json!({"url": plain, "request": "http", "metadata": true, "cache": false});
    assert_eq!(app.fine(request).await["metadata"].get("rights"), None);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_purpose_fails_a_page_at_no_charge() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let url = site.put(
        "/page",
        "text/html",
        "<meta name=robots content=noai><p>secret",
    );
    let before = app.balance();
    let request =
        |purpose: &str| json!({"url": url, "request": "http", "purpose": purpose, "cache": false});
    let page = app.page(request("ai-train")).await;
    assert_eq!(page["cause"], "rights", "{page}");
    assert_eq!(page["content"], "");
    assert_free(&page);
    assert_eq!(app.balance(), before);
    let good = app.fine(request("search")).await;
    assert!(good["content"].as_str().unwrap().contains("secret"));
    let (status, error) = app.refused(&request("sale")).await;
    assert_eq!(status, 400);
    assert!(error.contains("purpose"), "{error}");
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_skips_pages_that_refuse_its_purpose() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let robots = "User-agent: *\nContent-Usage: /private/ search=n\nDisallow: /closed\n";
    site.put("/robots.txt", "text/plain", robots);
    let paths = ["/private/a", "/hidden", "/open", "/closed"];
    let seed = site.put("/seed", "text/html", paths.map(link).concat());
    for path in ["/private/a", "/open", "/closed"] {
        site.put(path, "text/html", format!("<p>{path}"));
    }
    site.put("/hidden", "text/html", "<meta name=robots content=noindex>");
    let request = json!({
        "url": seed, "request": "http", "return_format": "empty", "cache": false, "purpose": "search",
    });
    let answer = app.post("/crawl", &[], &request).await;
    let entries = answer.json();
    let urls = entries.as_array().unwrap().iter();
    let urls: BTreeSet<String> = urls
        .map(|entry| entry["url"].as_str().unwrap().to_owned())
        .collect();
    let expected = ["/seed", "/open"].map(|path| site.url(path));
    assert_eq!(urls, BTreeSet::from(expected), "{entries}");
    let id = answer.header("x-crawl-id").to_owned();
    let skipped: Value = app.get(&format!("/crawl/{id}/skipped")).await.json();
    let skipped = skipped.as_array().unwrap().iter().map(|one| {
        let text = |name: &str| one[name].as_str().unwrap().to_owned();
        (text("url"), text("reason"))
    });
    let skipped: BTreeMap<String, String> = skipped.collect();
    let reason = |path: &str| skipped.get(&site.url(path)).map(String::as_str);
    assert_eq!(reason("/private/a"), Some("rights"));
    assert_eq!(reason("/hidden"), Some("rights"));
    assert_eq!(reason("/closed"), Some("robots"));
    let asked = site.requests();
    let has_asked = |path: &str| asked.iter().any(|head| head.contains(path));
    assert!(!has_asked("/private/a") && !has_asked("/closed") && has_asked("/hidden"));
    app.assert_settled().await;
}
