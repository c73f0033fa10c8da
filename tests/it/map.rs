//! `POST /map`: the URLs of a site, without fetching its pages.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};
use trawl_tests::{Caller, FakeSite, TestApp};

/// Pages of the large site, as many as the Rust documentation has. How long that takes is a
/// benchmark.
const LARGE: usize = 48_000;

/// The URLs that are listed, and the end.
async fn map(caller: &Caller, body: &Value) -> (Vec<Value>, Value) {
    let answer = caller.post("/map", &[], body).await;
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{text}");
    let mut lines: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    let end = lines.pop().unwrap();
    (lines, end)
}

fn urls(lines: &[Value]) -> Vec<&str> {
    let urls = lines.iter().map(|line| line["url"].as_str());
    urls.map(Option::unwrap).collect()
}

/// The paths that a site was asked for.
fn requested(site: &FakeSite) -> Vec<String> {
    let heads = site.requests();
    let paths = heads.iter().filter_map(|head| head.split(' ').nth(1));
    paths.map(str::to_owned).collect()
}

fn nanodollars(dollars: &Value) -> i64 {
    (dollars.as_f64().unwrap() * 1e9).round() as i64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_map_fetches_the_start_page_and_the_sitemaps_alone_and_charges_the_page() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let (one, gone) = (site.url("/one.xml"), site.url("/gone.xml"));
    let robots = format!("User-agent: *\nSitemap: {one}\nSitemap: {gone}\n");
    site.put("/robots.txt", "text/plain", robots);
    let listed = format!(
        "<urlset><url><loc>{}</loc><lastmod>2026-01-02</lastmod></url><url><loc>{}</loc></url></urlset>",
        site.url("/docs/install"),
        site.url("/docs/about"),
    );
    site.put("/one.xml", "application/xml", listed);
    let links = "<a href=/docs/about>About</a> <a href=/faq#top>How do I install it?</a>";
    let start = site.put("/start", "text/html", links);

    let before = app.balance();
    let (lines, end) = map(&app, &json!({"url": start})).await;
    let expected = ["/start", "/docs/about", "/faq", "/docs/install"].map(|path| site.url(path));
    assert_eq!(urls(&lines), expected);
    assert_eq!(lines[3]["lastmod"], "2026-01-02");
    assert_eq!(
        (&lines[2]["found"], &lines[3]["found"]),
        (&json!("links"), &json!("sitemap"))
    );
    let mut asked = requested(&site);
    asked.sort_unstable();
    assert_eq!(asked, ["/gone.xml", "/one.xml", "/robots.txt", "/start"]);
    assert_eq!(end["sitemaps"][0]["n_urls"], 2);
    assert!(end["sitemaps"][0]["error"].is_null());
    assert_eq!(end["sitemaps"][1]["location"], gone);
    assert!(end["sitemaps"][1]["error"].is_string());
    // The bytes of the start page, and the CPU.
    let cost = nanodollars(&end["total_cost"]);
    assert!(cost >= links.len() as i64, "{cost}");
    assert_eq!(cost, nanodollars(&end["start_page"]["costs"]["total_cost"]));
    assert_eq!(before - app.balance(), cost);

    let request = json!({"url": start, "query": "install", "limit": 2, "words": ["install"]});
    let (lines, end) = map(&app, &request).await;
    let mut found = urls(&lines);
    found.sort_unstable();
    assert_eq!(found, [site.url("/docs/install"), site.url("/faq")]);
    assert!(lines[0]["score"].as_f64() >= lines[1]["score"].as_f64());
    assert_eq!(end["n_found"], 2);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_of_cached_pages_are_listed_and_no_page_is_fetched_for_it() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let html = "text/html";
    let start = site.put("/start", html, "<a href=/a>a</a><a href=/b>b</a>");
    let a = site.put("/a", html, "<a href=/deep>Deep</a>");
    site.put("/b", html, "<a href=/hidden>Hidden</a>");
    app.fine(json!({"url": a, "request": "http"})).await;
    let before = requested(&site).len();
    let (lines, end) = map(&app, &json!({"url": start, "request": "http"})).await;
    let expected = ["/start", "/a", "/b", "/deep"].map(|path| site.url(path));
    assert_eq!(urls(&lines), expected);
    assert_eq!(lines[3]["found"], "cache");
    assert_eq!(end["n_cached_pages"], 1);
    let asked = requested(&site);
    assert!(
        asked[before..]
            .iter()
            .all(|path| path != "/a" && path != "/b"),
        "{asked:?}"
    );
    // Neither for a request that does not use the cache.
    let (lines, _) = map(
        &app,
        &json!({"url": start, "request": "http", "cache": false}),
    )
    .await;
    assert_eq!(urls(&lines), expected[..3]);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_are_sent_when_asked_for_and_a_repeated_request_pays_once() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let start = site.put_linked(3);
    let headers = [
        ("accept", "application/jsonl"),
        ("idempotency-key", "map-1"),
    ];
    let body = json!({"url": start});
    let first = app.post("/v1/map", &headers, &body).await;
    assert_eq!(first.header("content-type"), "application/jsonl");
    let text = String::from_utf8(first.body.clone()).unwrap();
    assert!(text.ends_with("}\n"), "{text}");
    let lines = text.lines().map(serde_json::from_str::<Value>);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().unwrap();
    assert_eq!(lines.len(), 5);
    assert!(lines[4].get("url").is_none() && lines[4]["n_urls"] == 4);
    let paid = app.balance();
    let again = app.post("/v1/map", &headers, &body).await;
    assert_eq!(again.body, first.body);
    assert_eq!(app.balance(), paid);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_map_without_a_start_page_costs_nothing_and_a_failed_one_is_told() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let page = site.url("/p/1");
    let listed = format!("<urlset><url><loc>{page}</loc></url></urlset>");
    site.put("/sitemap.xml", "application/xml", listed);
    let before = app.balance();
    let request = json!({"url": site.url("/start"), "sitemap_only": true});
    let (lines, end) = map(&app, &request).await;
    assert_eq!(urls(&lines), [page.as_str()]);
    assert!(end.get("start_page").is_none());
    let (lines, end) = map(&app, &json!({"url": site.url("/nothing")})).await;
    assert_eq!(urls(&lines), [page.as_str()]);
    assert!(end["start_page"]["error"].is_string(), "{end}");
    assert_eq!(app.balance(), before);
    let two = json!({"url": "http://a.test,http://b.test"});
    let answer = app.post("/map", &[], &two).await;
    assert_eq!(answer.status, 400);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_site_is_mapped_to_its_last_page() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let page = |n: usize| site.url(&format!("/std/module{}/struct.Item{n}.html", n % 100));
    let mut listed = "<urlset>".to_owned();
    for n in 0..LARGE {
        let page = page(n);
        // Writing to a string cannot fail.
        let _ = write!(
            listed,
            "<url><loc>{page}</loc><lastmod>2026-01-01</lastmod></url>"
        );
    }
    listed += "</urlset>";
    site.put("/sitemap.xml", "application/xml", listed);
    let start = site.put("/start", "text/html", "<p>Start</p>");
    let request = json!({"url": start, "query": "module7 item4207"});
    let (lines, end) = map(&app, &request).await;
    assert_eq!(lines.len(), LARGE + 1);
    assert_eq!(end["is_cut"], false);
    assert_eq!(end["sitemaps"][0]["n_urls"], LARGE);
    assert_eq!(lines[0]["url"], page(4_207));
    let found: BTreeSet<&str> = urls(&lines).into_iter().collect();
    assert_eq!(found.len(), LARGE + 1, "none is listed twice");
    assert!((0..LARGE).all(|n| found.contains(page(n).as_str())));
    assert_eq!(site.requests().len(), 3, "no page but the first");
    app.assert_settled().await;
}
