//! What a request sends and what is read back from the store is held under leases of its account,
//! one part at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use trawl_billing::{Answer, IdempotencyStart, Repeated};
use trawl_model::clock::Timestamp;
use trawl_model::memory::{MemoryBudget, MemoryKind, MemoryLease};
use trawl_model::{Nanodollars, StopReason, UrlRow, UrlState};
use trawl_store::{CrawlCounts, CrawlState, PageLog, PageRow, Progress};

use super::data::{running_crawl, test_account};
use super::server::TestServer;

const MIB: usize = 1 << 20;
const ID: &str = "0a1b";
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes in use of one kind.
fn held(budget: &MemoryBudget, kind: MemoryKind) -> u64 {
    let now = budget.in_use();
    let found = now.held().find(|(held, _)| *held == kind);
    found.map_or(0, |(_, bytes)| bytes)
}

/// A budget of which an account on its own gets 80 MiB, and its oldest page as much again.
fn budget() -> Arc<MemoryBudget> {
    MemoryBudget::new(256 << 20)
}

/// Lets the account hold its share, and a page of it all that its oldest page may have.
async fn hold_all(budget: &Arc<MemoryBudget>, server: &TestServer) -> [MemoryLease; 2] {
    hold_share(budget, test_account(server).as_str()).await
}

/// The same with the share of this name.
async fn hold_share(budget: &Arc<MemoryBudget>, name: &str) -> [MemoryLease; 2] {
    let page = budget.share(name).page();
    let [mut regular, mut oldest] = [(); 2].map(|()| page.lease_for(MemoryKind::Outputs));
    regular.record(80 * MIB);
    oldest.grow_to(60 * MIB).await.expect("the oldest page");
    [regular, oldest]
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A body of `/transform` in parts of a megabyte, and how many of them were taken.
fn upload(n_parts: usize) -> (Body, Arc<AtomicUsize>) {
    let n_taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&n_taken);
    let html = "x".repeat(MIB);
    let parts = (0..n_parts).map(move |n| {
        count.fetch_add(1, Ordering::SeqCst);
        let text = match n {
            0 => format!(r#"{{"data":[{{"html":"{html}"#),
            n if n + 1 == n_parts => format!(r#"{html}"}}],"return_format":"raw"}}"#),
            _ => html.clone(),
        };
        Ok::<_, std::io::Error>(Bytes::from(text))
    });
    (Body::from_stream(stream::iter(parts)), n_taken)
}

#[tokio::test]
async fn a_request_body_is_read_as_far_as_its_account_has_memory() {
    let budget = budget();
    let server = TestServer::with_memory(Arc::clone(&budget)).await;
    let rest = hold_all(&budget, &server).await;
    let (body, n_taken) = upload(40);
    let mut answer = Box::pin(server.post("/transform", body));
    let sent = async {
        until("it waits", || budget.in_use().n_waiting > 0).await;
        let n_before = n_taken.load(Ordering::SeqCst);
        assert!(n_before <= 2, "{n_before} MiB were taken");
        n_before
    };
    let n_before = tokio::select! {
        n_before = sent => n_before,
        answer = &mut answer => panic!("it does not wait: {}", answer.status),
    };
    drop(rest);
    let answer = answer.await;
    assert_eq!(answer.status, 413, "10 MB are the limit: {}", answer.body);
    assert_eq!(n_taken.load(Ordering::SeqCst), 40, "after {n_before}");
    until("nothing is held", || budget.in_use().used == 0).await;
}

#[tokio::test]
async fn a_small_request_of_another_account_waits_for_nobody() {
    let budget = MemoryBudget::new(64 << 20);
    let server = TestServer::with_memory(Arc::clone(&budget)).await;
    let share = budget.share("greedy");
    let mut greedy = share.page().lease();
    while tokio::time::timeout(
        Duration::ZERO,
        greedy.grow_to(greedy.bytes() as usize + MIB),
    )
    .await
    .is_ok()
    {}
    let body = json!({"data": [{"html": "<p>x</p>"}]}).to_string();
    let answer = tokio::time::timeout(Duration::from_secs(5), server.post("/transform", body));
    assert_eq!(answer.await.expect("at once").status, 200);
}

/// A fetched URL of a crawl.
fn fetched(n: u32, url: String) -> UrlRow {
    UrlRow {
        n,
        url,
        depth: 0,
        referrer: None,
        anchor: None,
        target: None,
        state: UrlState::Done,
    }
}

/// An ended crawl with this number of stored pages, each with so many bytes of content.
async fn stored_crawl(server: &TestServer, n_pages: u32, content: usize) {
    let store = server.service.store();
    let record = running_crawl(&test_account(server), ID, "{}");
    store.create_crawl(&record).await.expect("a crawl");
    let data = server.directory();
    let mut log = PageLog::continue_after(data, ID, None).expect("a log");
    let content = "x".repeat(content);
    let entries: Vec<Vec<u8>> = (1..=n_pages)
        .map(|n| {
            json!({"url": n.to_string(), "content": content})
                .to_string()
                .into_bytes()
        })
        .collect();
    let entries: Vec<&[u8]> = entries.iter().map(|entry| &entry[..]).collect();
    let places = log.append(&entries).expect("appended");
    let pages = (1..).zip(places).map(|(n, place)| PageRow {
        seq: n.into(),
        n: n - 1,
        status: 200,
        is_failed: false,
        place,
        at: None,
        cost: Nanodollars::ZERO,
        cause: None,
        error: None,
        content: None,
    });
    let urls = (0..n_pages).map(|n| fetched(n, format!("http://a.example/{n}")));
    let progress = Progress {
        urls: urls.collect(),
        pages: pages.collect(),
        counts: CrawlCounts::default(),
    };
    store
        .save_crawl_progress(ID, &progress)
        .await
        .expect("saved");
    let ended = store
        .end_crawl(ID, StopReason::Completed, Timestamp(2))
        .await;
    ended.expect("ended");
}

async fn open(server: &TestServer, query: &str, accept: &str) -> Response {
    let request = server.request("GET", &format!("/crawl/{ID}/pages?{query}"));
    let mut request = request.body(Body::empty()).expect("a request");
    request.headers_mut().remove("content-type");
    let accept = accept.parse().expect("a header");
    request.headers_mut().insert("accept", accept);
    server.open(request).await
}

#[tokio::test]
async fn stored_pages_are_read_one_after_the_other() {
    const N_PAGES: u32 = 40;
    for accept in ["application/json", "application/jsonl"] {
        let budget = MemoryBudget::new(64 << 20);
        let server = TestServer::with_memory(Arc::clone(&budget)).await;
        stored_crawl(&server, N_PAGES, 2 * MIB).await;
        let response = open(&server, "limit=10000", accept).await;
        assert_eq!(response.status(), 200);
        let mut body = response.into_body();
        let (mut n_bytes, mut most) = (0, 0);
        while let Some(frame) = body.frame().await {
            let data = frame.expect("no error").into_data().expect("data");
            n_bytes += data.len();
            most = most.max(budget.in_use().used);
            assert_eq!(held(&budget, MemoryKind::Stored), budget.in_use().used);
        }
        assert!(n_bytes > N_PAGES as usize * 2 * MIB, "{n_bytes}");
        assert!((2 << 20..3 << 20).contains(&most), "{accept}: {most}");
        drop(body);
        assert_eq!(budget.in_use().used, 0);
    }
}

#[tokio::test]
async fn stored_pages_that_cannot_be_read_break_the_answer_off() {
    for query in ["", "follow=true"] {
        for accept in ["application/json", "application/jsonl"] {
            let server = TestServer::new().await;
            stored_crawl(&server, 3, 100_000).await;
            let log = server
                .directory()
                .join("crawls")
                .join(format!("{ID}.pages"));
            let length = std::fs::metadata(&log).expect("a log").len();
            let file = std::fs::OpenOptions::new().write(true).open(&log);
            file.expect("a log").set_len(length - 1).expect("truncated");
            let mut body = open(&server, query, accept)
                .await
                .into_body()
                .into_data_stream();
            let mut text = Vec::new();
            let error = loop {
                match body.next().await {
                    Some(Ok(data)) => text.extend_from_slice(&data),
                    Some(Err(error)) => break Some(error),
                    None => break None,
                }
            };
            assert!(
                error.is_some(),
                "{query} {accept}: it ends as if it were complete"
            );
            let text = String::from_utf8(text).expect("UTF-8");
            assert_eq!(text.matches("content").count(), 2, "what could be read");
        }
    }
}

#[tokio::test]
async fn the_last_page_of_an_ended_crawl_has_no_next_cursor() {
    let server = TestServer::new().await;
    stored_crawl(&server, 3, 10).await;
    let page = async |query: &str| {
        let response = open(&server, query, "application/json").await;
        let next = response.headers().get("x-next-cursor").cloned();
        let body = response.into_body().collect().await.expect("a body");
        let entries: Value = serde_json::from_slice(&body.to_bytes()).expect("JSON");
        let n_entries = entries.as_array().map_or(0, Vec::len);
        (
            n_entries,
            next.map(|next| next.to_str().expect("text").to_owned()),
        )
    };
    assert_eq!(page("limit=2").await, (2, Some("2".to_owned())));
    assert_eq!(page("limit=2&cursor=2").await, (1, None));
    assert_eq!(page("limit=3").await, (3, None));
    assert_eq!(page("cursor=3").await, (0, None));
    assert_eq!(page("cursor=9").await, (0, None));
}

#[tokio::test]
async fn a_repeated_answer_holds_its_memory_until_it_is_read() {
    let budget = budget();
    let server = TestServer::with_memory(Arc::clone(&budget)).await;
    let share = budget.share(test_account(&server).as_str());
    let billing = server.service.billing();
    let body = json!({"data": [{"html": "<p>x</p>"}]}).to_string();
    let send = || {
        let request = server.request("POST", "/transform");
        let request = request.header("idempotency-key", "k");
        let request = request.body(Body::from(body.clone()));
        server.open(request.expect("a request"))
    };
    let first = send().await.into_body().collect().await;
    let first = first.expect("a body").to_bytes().to_vec();
    until("nothing is held", || budget.in_use().used == 0).await;
    let again = send().await;
    assert_eq!(again.headers()["idempotency-replayed"], "true");
    assert_eq!(held(&budget, MemoryKind::Answers), 64 << 10);
    let read = again
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    assert_eq!(read, first);
    drop(read);
    until("nothing is held", || budget.in_use().used == 0).await;

    // A large one waits for the account's memory.
    let rest = hold_all(&budget, &server).await;
    let account = test_account(&server);
    let begun = billing.begin(&account, "large", [7; 32], &share).await;
    let Ok(IdempotencyStart::New(large)) = begun else {
        panic!("{begun:?}");
    };
    let answer = Answer {
        status: 200,
        content_type: "application/json".to_owned(),
        headers: Vec::new(),
        body: vec![b' '; 20 * MIB].into(),
    };
    large.finish(answer).await.expect("stored");
    let mut replay = Box::pin(billing.begin(&account, "large", [7; 32], &share));
    let early = tokio::time::timeout(Duration::from_millis(200), &mut replay).await;
    assert!(early.is_err(), "it is read without memory");
    drop(rest);
    let Ok(IdempotencyStart::Repeated(Repeated::Replay(answer))) = replay.await else {
        panic!("no replay");
    };
    assert_eq!(held(&budget, MemoryKind::Answers), 20 << 20);
    drop(answer);
}

#[tokio::test]
async fn a_list_holds_its_memory_until_it_is_read() {
    let budget = MemoryBudget::new(64 << 20);
    let server = TestServer::with_memory(Arc::clone(&budget)).await;
    stored_crawl(&server, 600, 10).await;
    for path in ["/data/pages?limit=1000", "/account/statement"] {
        let request = server.request("GET", path);
        let request = request.body(Body::empty()).expect("a request");
        let response = server.open(request).await;
        assert_eq!(response.status(), 200, "{path}");
        let mut body = response.into_body();
        let mut most = 0;
        while let Some(frame) = body.frame().await {
            let part = frame.expect("no error");
            most = most.max(held(&budget, MemoryKind::Stored));
            drop(part);
        }
        drop(body);
        assert!(most > 0, "{path}");
        until("nothing is held", || budget.in_use().used == 0).await;
    }
}

#[tokio::test]
async fn a_statement_ends_with_the_newest_entry_at_its_start() {
    let server = TestServer::new().await;
    let billing = server.service.billing();
    let account = test_account(&server);
    let cases = [("csv", ",top_up,", 1), ("json", r#""kind":"top_up""#, 2)];
    for (format, top_up, n_before) in cases {
        let path = format!("/account/statement?format={format}");
        let request = server.request("GET", &path).body(Body::empty());
        let response = server.open(request.expect("a request")).await;
        let id = format!("late-{format}");
        let late = billing.top_up(&account, Nanodollars(1), Some(&id));
        late.await.expect("paid in");
        let body = response.into_body().collect().await.expect("a statement");
        let text = String::from_utf8(body.to_bytes().to_vec()).expect("a text");
        assert_eq!(text.matches(top_up).count(), n_before, "{text}");
        let is_closed = text.ends_with(r#""closing_balance":10.000000001}"#);
        assert_eq!(is_closed, format == "json", "{text}");
    }
}

#[tokio::test]
async fn what_a_tool_makes_of_an_answer_is_held_until_it_is_sent() {
    let budget = budget();
    let server = TestServer::with_memory(Arc::clone(&budget)).await;
    let params = json!({"name": "scrape", "arguments": {"url": "https://a.test/"}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = server.request("POST", "/mcp");
    let request = request.header("accept", "application/json, text/event-stream");
    let request = request.body(Body::from(message.to_string()));
    let response = server.open(request.expect("a request")).await;
    assert_eq!(response.status(), 200);
    assert!(held(&budget, MemoryKind::Answers) > 0);
    drop(response);
    until("nothing is held", || budget.in_use().used == 0).await;
}

#[tokio::test]
async fn the_request_of_a_crawl_is_read_once_there_is_memory() {
    let budget = budget();
    let server = TestServer::with_memory(Arc::clone(&budget)).await;
    stored_crawl(&server, 1, 10).await;
    for method in ["GET", "DELETE"] {
        let rest = hold_all(&budget, &server).await;
        let request = server.request(method, &format!("/crawl/{ID}"));
        let request = request.body(Body::empty()).expect("a request");
        let mut answer = Box::pin(server.open(request));
        let early = tokio::time::timeout(Duration::from_millis(200), &mut answer).await;
        assert!(early.is_err(), "{method}: it is read without memory");
        drop(rest);
        let answer = answer.await;
        assert_eq!(answer.status(), 200, "{method}");
        assert!(held(&budget, MemoryKind::Stored) > 0, "{method}");
        drop(answer);
        until("nothing is held", || budget.in_use().used == 0).await;
    }
}

#[tokio::test]
async fn a_crawl_of_the_last_process_waits_for_memory_before_it_reads() {
    const N_URLS: u32 = 2_500;
    let budget = budget();
    let server = TestServer::with_memory(Arc::clone(&budget)).await;
    let account = test_account(&server);
    let request = r#"{"url":"http://a.test/0","return_format":"empty"}"#;
    let record = running_crawl(&account, ID, request);
    let store = server.service.store();
    store.create_crawl(&record).await.expect("a crawl");
    let urls = (0..N_URLS).map(|n| fetched(n, format!("http://a.test/{n}")));
    let progress = Progress {
        urls: urls.collect(),
        ..Progress::default()
    };
    let saved = store.save_crawl_progress(ID, &progress).await;
    saved.expect("saved");

    let crawls = server.service.crawls();
    let rest = hold_share(&budget, &format!("crawls of {account}")).await;
    let last = crawls.interrupt().await.expect("the store works");
    crawls.recover(last).await;
    until("it waits", || budget.in_use().n_waiting > 0).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let waiting = crawls.show(&account, ID).await.expect("it is stored");
    assert_eq!(waiting.progress.state, CrawlState::Queued);
    drop(rest);
    let begun = Instant::now();
    let ended = loop {
        let view = crawls.show(&account, ID).await.expect("it is stored");
        if view.record.state == CrawlState::Ended {
            break view;
        }
        assert!(begun.elapsed() < PATIENCE, "{:?}", view.progress);
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(ended.record.stop, Some(StopReason::Completed));
    let urls = store.crawl_urls(ID, Some(N_URLS - 2), 9).await;
    let numbers: Vec<u32> = urls.expect("URLs").iter().map(|row| row.n).collect();
    assert_eq!(numbers, [N_URLS - 1], "no URL was found again");
    until("nothing is held", || budget.in_use().used == 0).await;
}
