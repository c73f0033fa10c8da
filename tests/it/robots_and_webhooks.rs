//! What a site may request of a crawl (robots.txt, sitemaps), and the webhooks of a crawl.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use trawl_model::Nanodollars;
use trawl_tests::caller::assert_free;
use trawl_tests::{Delivery, FakeSite, Receiver, TestApp};

/// The events that a receiver got, as soon as there are `count`.
async fn events(receiver: &Receiver, count: usize) -> Vec<(String, Value)> {
    let deliveries = receiver.has(count).await;
    deliveries.iter().map(Delivery::event).collect()
}

fn link(to: &str) -> String {
    format!("<a href=\"{to}\">{to}</a>")
}

async fn crawled(app: &TestApp, request: &Value) -> Vec<Value> {
    let answer = app.post("/crawl", &[], request).await;
    answer.json().as_array().unwrap().clone()
}

fn paths(site: &FakeSite, entries: &[Value]) -> BTreeSet<String> {
    let root = site.url("");
    let url = |entry: &Value| entry["url"].as_str().unwrap().replace(&root, "");
    entries.iter().map(url).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn robots_txt_applies_by_user_agent_and_lists_sitemaps() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let robots = format!(
        "User-agent: Sneaky\nAllow: /\n\nUser-agent: trawl\nDisallow: /private\nSitemap: {}\n",
        site.url("/map.xml")
    );
    site.put("/robots.txt", "text/plain", robots);
    let map = format!(
        "<urlset><url><loc>{}</loc></url><url><loc>{}</loc></url></urlset>",
        site.url("/hidden"),
        site.url("/private/map")
    );
    site.put("/map.xml", "application/xml", map);
    let start = format!("{}{}", link("/open"), link("/private/x"));
    let url = site.put("/start", "text/html", start);
    for path in ["/open", "/hidden", "/private/x", "/private/map"] {
        site.put(path, "text/html", format!("<p>{path}"));
    }
    let request =
        json!({"url": url, "request": "http", "user_agent": "Sneaky/1.0", "sitemap": true});
    let entries = crawled(&app, &request).await;
    let expected = ["/start", "/open", "/hidden"].map(str::to_owned);
    assert_eq!(paths(&site, &entries), BTreeSet::from(expected));
    assert!(!site.requests().iter().any(|head| head.contains("/private")));
    let rude = json!({"url": url, "request": "http", "respect_robots": false});
    assert!(paths(&site, &crawled(&app, &rude).await).contains("/private/x"));
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_of_sitemaps_that_finds_none_says_so() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let seed = site.put("/start", "text/html", link("/next"));
    let request =
        json!({"url": seed, "request": "http", "sitemap_only": true, "blacklist": ["/no"]});
    let entries = crawled(&app, &request).await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(
        (&entries[0]["url"], &entries[0]["status"]),
        (&json!(seed), &json!(599))
    );
    assert_eq!(entries[0]["cause"], "no_sitemap");
    let error = entries[0]["error"].as_str().unwrap();
    assert!(error.contains("/sitemap.xml"), "{error}");
    assert_free(&entries[0]);
    let fetched = site.requests();
    assert!(
        !fetched.iter().any(|head| head.starts_with("GET /start")),
        "{fetched:?}"
    );

    // None of what it lists may be fetched.
    let list = format!("{}\n", site.url("/no/1"));
    site.put("/sitemap.xml", "text/plain", list);
    let entries = crawled(&app, &request).await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    let error = entries[0]["error"].as_str().unwrap();
    assert!(error.contains("/skipped"), "{error}");
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_sends_its_webhooks() {
    let (app, site, receiver) = (
        TestApp::start().await,
        FakeSite::start().await,
        Receiver::start().await,
    );
    site.put("/robots.txt", "text/plain", "");
    let url = site.put("/start", "text/html", link("/next"));
    site.put("/next", "text/html", "<p>the end");
    let request = json!({
        "url": url, "request": "http", "return_format": "text", "headers": {"authorization": "Bearer canary-secret"},
        "webhooks": {
            "destination": receiver.url(),
            "on_find": true, "on_find_metadata": true, "on_website_status": true,
        },
    });
    let entries = crawled(&app, &request).await;
    assert_eq!(entries.len(), 2);
    assert!(
        entries.iter().all(|entry| entry.get("headers").is_none()),
        "{entries:?}"
    );
    let events = events(&receiver, 5).await;
    let of = |name: &str| -> Vec<&Value> {
        let named = events.iter().filter(|(event, _)| event == name);
        named.map(|(_, body)| body).collect()
    };
    let (found, metadata, status) = (
        of("on_find"),
        of("on_find_metadata"),
        of("on_website_status"),
    );
    assert_eq!((found.len(), metadata.len(), status.len()), (2, 2, 1));
    let last = found
        .iter()
        .find(|body| body["pathname"] == "/next")
        .unwrap();
    assert_eq!(last["content"], "the end");
    assert_eq!(
        (&last["status_code"], &last["domain"]),
        (&json!(200), &json!("127.0.0.1"))
    );
    assert!(
        metadata[0]["headers"]["content-type"].is_string(),
        "{metadata:?}"
    );
    assert_eq!(
        (&status[0]["mode"], &status[0]["links"]),
        (&json!("complete"), &json!(2))
    );
    let sent = format!("{events:?}");
    assert!(!sent.contains("canary-secret"), "{sent}");
    assert!(
        events.iter().all(|(event, body)| body["event"] == **event),
        "{sent}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_that_can_never_be_delivered_are_refused() {
    let app = TestApp::start().await;
    let own = format!("http://{}/hook", app.address);
    for (destination, says) in [
        ("foo", "complete URL"),
        ("https://foo/", "`foo`"),
        ("http://10.0.0.1/hook", "no public IP address"),
        (own.as_str(), "this service itself"),
    ] {
        let webhooks = json!({"destination": destination, "on_find": true});
        let body = json!({"url": "http://sample.trawl.test/", "limit": 1, "webhooks": webhooks});
        let answer = app.post("/crawl", &[], &body).await;
        let error = answer.error();
        assert_eq!(answer.status, 400, "{destination}: {error}");
        assert!(error.starts_with("webhooks"), "{destination}: {error}");
        assert!(error.contains(says), "{destination}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_about_credits_are_about_what_was_spent() {
    let (app, site, receiver) = (
        TestApp::start().await,
        FakeSite::start().await,
        Receiver::start().await,
    );
    // A million bytes' worth: less than a crawl reserves ahead for its first page.
    let (_, poor) = app.another("poor", Nanodollars(1_000_000)).await;
    site.put("/robots.txt", "text/plain", "");
    let first = site.put("/first", "text/html", link("/large"));
    site.put("/large", "text/html", "x".repeat(600_000));
    let crawl = async |limit: u32| {
        let request = json!({
            "url": first, "request": "http", "return_format": "empty", "cache": false, "limit": limit,
            "webhooks": {
                "destination": receiver.url(),
                "on_credits_depleted": true, "on_credits_half_depleted": true, "on_website_status": true,
            },
        });
        let entries = poor.post("/crawl", &[], &request).await.json();
        let entries = entries.as_array().unwrap().clone();
        assert_eq!(entries.len(), limit as usize, "{entries:?}");
        assert!(entries.iter().all(|entry| entry["error"].is_null()));
    };
    let sent = async |count| {
        let events = events(&receiver, count).await;
        // Others that are due would arrive with these.
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(receiver.so_far().len(), events.len());
        let names = events.into_iter().map(|(event, _)| event);
        names.collect::<BTreeSet<_>>()
    };
    crawl(1).await;
    let of_end = BTreeSet::from(["on_website_status".to_owned()]);
    assert_eq!(sent(1).await, of_end, "nearly nothing was spent");
    crawl(2).await;
    let half = BTreeSet::from(["on_website_status", "on_credits_half_depleted"].map(str::to_owned));
    assert_eq!(sent(3).await, half, "more than half, and not all");
    app.assert_settled().await;
}
