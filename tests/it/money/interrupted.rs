//! Requests with an `Idempotency-Key` whose server is killed between two pages: repeated, they go
//! on and pay for nothing twice.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use trawl_tests::{Caller, FakeSite, ServerProcess, World};

/// Initial balance in nanodollars.
const START: i64 = 100_000_000_000;
const LINES: (&str, &str) = ("accept", "application/jsonl");
const SOON: Duration = Duration::from_secs(30);

/// Reads this many lines of a response that has not ended.
async fn lines(response: &mut reqwest::Response, count: usize) -> Vec<Value> {
    let mut text = String::new();
    let reading = async {
        while text.matches('\n').count() < count {
            let piece = response.chunk().await.expect("a stream");
            text += std::str::from_utf8(&piece.expect("more lines")).expect("UTF-8");
        }
    };
    let read = tokio::time::timeout(SOON, reading).await;
    assert!(read.is_ok(), "the lines do not come: {text}");
    let whole = text.lines().take(count);
    whole
        .map(|line| serde_json::from_str(line).expect("an entry"))
        .collect()
}

/// Charges by URL; none may be charged twice.
fn charges(server: &ServerProcess) -> BTreeMap<String, i64> {
    let statement = server.account(&["statement", "caller"]);
    let mut charges = BTreeMap::new();
    let entries = statement["entries"].as_array().unwrap();
    for post in entries.iter().filter(|entry| entry["kind"] == "post") {
        let url = post["url"].as_str().unwrap().to_owned();
        let twice = charges.insert(url, -post["amount"].as_i64().unwrap());
        assert!(twice.is_none(), "charged twice: {post}");
    }
    let paid: i64 = charges.values().sum();
    assert_eq!(statement["balance"], START - paid);
    charges
}

/// Checks that every entry was delivered for what is in the ledger, and nothing else was charged.
fn assert_paid(server: &ServerProcess, entries: &[Value]) {
    let delivered = entries.iter().map(|entry| {
        assert!(entry["error"].is_null(), "{entry}");
        (
            entry["url"].as_str().unwrap().to_owned(),
            Caller::total(entry),
        )
    });
    assert_eq!(charges(server), delivered.collect());
    let audit = server.account(&["verify"]);
    assert_eq!(audit["disagreements"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_were_charged_before_a_kill_are_not_charged_again() {
    let site = FakeSite::start().await;
    let mut server = ServerProcess::start(World::new());
    let mut entries = Vec::new();
    for round in 0..4_usize {
        // The kill comes after one to four pages, and while the last one is being fetched.
        let n_pages = round + 1;
        let fast = (0..n_pages).map(|n| site.url(&format!("/page?{round}-{n}")));
        let urls: Vec<String> = fast
            .chain([site.url(&format!("/slow/700?{round}"))])
            .collect();
        let body = json!({"url": urls.join(","), "return_format": "text", "request": "http", "cache": false});
        let key = format!("round {round}");
        let headers = [("idempotency-key", key.as_str()), LINES];
        let sent = server.open(Method::POST, "/scrape", &headers, body.to_string());
        let mut first = sent.await.expect("a head before the last page");
        let before = lines(&mut first, n_pages).await;
        server.kill();
        server.start_again();
        let paid = charges(&server);
        for entry in &before {
            let url = entry["url"].as_str().unwrap();
            assert_eq!(paid[url], Caller::total(entry), "delivered, so charged");
        }
        let other = server
            .post("/scrape", &headers, &json!({"url": site.url("/page")}))
            .await;
        assert_eq!(other.status, 409, "another request with the same key");
        let again = server.post("/scrape", &headers, &body).await;
        assert_eq!(
            (again.status, again.header("idempotency-replayed")),
            (200, "")
        );
        let whole = again.lines();
        assert_eq!(whole.len(), urls.len());
        for entry in &before {
            let repeated = whole.iter().find(|one| one["url"] == entry["url"]);
            assert_eq!(repeated.expect("the same page")["costs"], entry["costs"]);
        }
        entries.extend(whole);
        let replayed = server.post("/scrape", &headers, &body).await;
        assert_eq!(replayed.header("idempotency-replayed"), "true");
        assert_eq!(replayed.body, again.body);
    }
    assert_paid(&server, &entries);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_streamed_crawl_has_its_head_at_once_and_is_paid_once_after_a_kill() {
    let site = FakeSite::start().await;
    let links: String = (0..4)
        .map(|n| format!("<a href='/page?{n}'>{n}</a> "))
        .collect();
    let slow = "<a href='/slow/2500'>slow</a>";
    let seed = site.put("/root", "text/html", format!("<p>{links}{slow}</p>"));
    let mut server = ServerProcess::start(World::new());
    let body = json!({"url": seed, "return_format": "text", "request": "http", "cache": false, "limit": 6});
    let headers = [("idempotency-key", "crawl"), LINES];
    let began = Instant::now();
    let sent = server.open(Method::POST, "/crawl", &headers, body.to_string());
    let mut first = sent.await.expect("a head");
    let id = first.headers()["x-crawl-id"].to_str().unwrap().to_owned();
    let before = lines(&mut first, 3).await;
    assert!(
        began.elapsed() < Duration::from_millis(2_000),
        "before the crawl ends"
    );
    server.kill();
    server.start_again();
    assert!(charges(&server).len() >= before.len());
    let ended = server.get(&format!("/crawl/{id}")).await.json();
    assert_eq!(ended["stop_reason"], "server_stopped");
    let again = server.post("/crawl", &headers, &body).await;
    assert_eq!(again.status, 200);
    assert_paid(&server, &again.lines());
    assert_eq!(again.lines().len(), 6);
    let replayed = server.post("/crawl", &headers, &body).await;
    assert_eq!(replayed.header("idempotency-replayed"), "true");
    assert_eq!(replayed.header("x-crawl-id"), again.header("x-crawl-id"));
    assert_eq!(replayed.body, again.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paid_page_is_delivered_though_the_crawl_has_the_target_of_its_redirect() {
    let site = FakeSite::start().await;
    let root = |links: &[&str]| -> String {
        let links = links.iter();
        links
            .map(|to| format!("<a href='{to}'>{to}</a> "))
            .collect()
    };
    let moved = "/to?/leaf";
    let seed = site.put("/root", "text/html", root(&[moved, "/leaf", "/slow/20000"]));
    site.put("/leaf", "text/html", "<p>leaf".to_owned());
    let mut server = ServerProcess::start(World::new());
    let body = json!({"url": seed, "return_format": "text", "request": "http", "cache": false, "concurrency_limit": 1});
    let headers = [("idempotency-key", "moved"), LINES];
    let sent = server.open(Method::POST, "/crawl", &headers, body.to_string());
    let mut first = sent.await.expect("a head");
    lines(&mut first, 2).await;
    server.kill();
    // Now the target is found before the page that redirects to it.
    site.put("/root", "text/html", root(&["/leaf", moved]));
    server.start_again();
    let again = server.post("/crawl", &headers, &body).await;
    assert_eq!(again.status, 200);
    let entries = again.lines();
    assert_eq!(entries.len(), 3, "{entries:?}");
    assert!(entries.iter().all(|entry| entry["error"].is_null()));
    let paid = charges(&server);
    assert!(paid.contains_key(&site.url(moved)), "{paid:?}");
    let delivered: i64 = entries.iter().map(Caller::total).sum();
    assert_eq!(paid.values().sum::<i64>(), delivered);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_goes_on_for_a_client_who_hung_up() {
    let site = FakeSite::start().await;
    let server = ServerProcess::start(World::new());
    let urls = [site.url("/page"), site.url("/slow/1500")];
    let body =
        json!({"url": urls.join(","), "return_format": "text", "request": "http", "cache": false});
    let headers = [("idempotency-key", "lost"), LINES];
    let sent = server.open(Method::POST, "/scrape", &headers, body.to_string());
    let mut first = sent.await.expect("a head");
    lines(&mut first, 1).await;
    drop(first);
    let until = Instant::now() + SOON;
    let again = loop {
        let again = server.post("/scrape", &headers, &body).await;
        if again.status != 409 {
            break again;
        }
        assert!(Instant::now() < until, "the first does not end");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(
        (again.status, again.header("idempotency-replayed")),
        (200, "true")
    );
    assert_paid(&server, &again.lines());
    assert_eq!(site.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_background_crawl_is_the_same_crawl() {
    let site = FakeSite::start().await;
    let seed = site.put("/root", "text/html", "<a href='/slow/1200'>slow</a>");
    let mut server = ServerProcess::start(World::new());
    let body = json!({"url": seed, "return_format": "text", "request": "http", "cache": false, "run_in_background": true});
    for round in 0..6 {
        let key = format!("crawl {round}");
        let headers = [("idempotency-key", key.as_str())];
        // Killed at different moments around the start of the crawl.
        let sent = server.send(Method::POST, "/crawl", &headers, body.to_string());
        let moment = Duration::from_millis(round * 3);
        let answered = tokio::time::timeout(moment, sent).await.ok().flatten();
        server.kill();
        server.start_again();
        let again = server.post("/crawl", &headers, &body).await;
        assert_eq!(again.status, 200, "{}", again.error());
        let id = again.json()["id"].as_str().unwrap().to_owned();
        if let Some(first) = answered {
            assert_eq!(first.json()["id"], id.as_str());
        }
        let once_more = server.post("/crawl", &headers, &body).await;
        assert_eq!(once_more.json()["id"], id.as_str());
        server.crawl_ended(&id, SOON).await;
    }
    let crawls = server.get("/data/crawl_state?limit=100").await.json();
    let n_crawls = crawls["data"].as_array().map_or(0, Vec::len);
    assert_eq!(n_crawls, 6, "{crawls}");
}
