//! Ceilings and balances under many pages in flight: reservations fit the pages, so a small ceiling
//! does not make a crawl serial, and it is spent to the last page.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use trawl_model::Nanodollars;
use trawl_tests::caller::assert_free;
use trawl_tests::{Caller, FakeSite, TestApp};

use super::{CENT, body_of, settled};

/// A page that links to these paths.
fn index(site: &FakeSite, paths: impl Iterator<Item = String>) -> String {
    let links: String = paths
        .map(|path| format!("<a href=\"{path}\">x</a>"))
        .collect();
    site.put("/", "text/html", links)
}

fn sum(entries: &[Value]) -> i64 {
    entries.iter().map(Caller::total).sum()
}

/// A crawl's entries and its state.
async fn crawl(caller: &Caller, body: &Value) -> (Vec<Value>, Value) {
    let answer = caller.post("/crawl", &[], body).await;
    assert_eq!(answer.status, 200, "{}", answer.error());
    let entries = answer.json().as_array().unwrap().clone();
    let id = answer.header("x-crawl-id");
    let state = caller.get(&format!("/crawl/{id}")).await.json();
    (entries, state)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_ceiling_leaves_a_crawl_its_concurrency() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let url = index(&site, (0..40).map(|n| format!("/slow/800?{n}")));
    let body = json!({"url": url, "request": "http", "return_format": "empty", "cache": false,
        "max_credits_allowed": 500});
    let (entries, state) = crawl(&app, &body).await;
    // The index, 40 slow pages, and the page that all of them link to.
    assert_eq!(entries.len(), 42, "{state}");
    assert_eq!(state["stop_reason"], "completed", "{state}");
    assert_eq!(site.slow_at_once(), 10);
    settled(&app).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_seeds_share_one_ceiling() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let seeds = (0..6).map(|n| site.put(&format!("/p/{n}"), "text/plain", body_of(30_000)));
    let seeds: Vec<String> = seeds.collect();
    let ceiling = 100_000;
    let body = json!({"url": seeds.join(","), "request": "http", "return_format": "empty",
        "cache": false, "max_credits_allowed": 1});
    let (entries, state) = crawl(&app, &body).await;
    // Each page alone costs about a third of the ceiling.
    let fetched = entries.iter().filter(|entry| entry["error"].is_null());
    assert!((2..6).contains(&fetched.count()), "{state}");
    let paid = sum(&entries);
    assert!(paid > ceiling / 2 && paid <= ceiling, "{paid}: {state}");
    assert_eq!(state["stop_reason"], "max_credits_allowed", "{state}");
    settled(&app).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_wait_for_their_host_hold_no_money() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let url = index(&site, (0..8).map(|n| format!("/slow/0?{n}")));
    let (_, caller) = app.another("poor", Nanodollars(CENT / 10)).await;
    let body = json!({"url": url, "request": "http", "return_format": "empty", "cache": false,
        "delay": 150});
    // The crawl waits for its host most of the time: another page of the account finds money.
    let meanwhile = async {
        for _ in 0..3 {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            let page = json!({"url": site.url("/page"), "request": "http", "cache": false});
            caller.fine(page).await;
        }
    };
    let ((entries, state), ()) = tokio::join!(crawl(&caller, &body), meanwhile);
    assert_eq!(
        (entries.len(), &state["stop_reason"]),
        (10, &json!("completed"))
    );
    settled(&app).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_that_is_cancelled_does_not_wait_for_money() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let (account, caller) = app.another("poor", Nanodollars(CENT / 2)).await;
    let slow = json!({"url": site.url("/slow/25000"), "request": "http", "cache": false});
    let crawling = async {
        requested(&site, "/slow/25000").await;
        // The page of the crawl needs what the other one holds.
        let funds = app.app.billing().funds(&account);
        let n_bytes = funds.balance.0 - funds.held.0 / 2;
        let n_bytes = usize::try_from(n_bytes).expect("a balance");
        let url = site.put("/large", "text/plain", body_of(n_bytes));
        let body = json!({"url": url, "request": "http", "return_format": "empty", "cache": false,
            "run_in_background": true});
        let queued = caller.post("/crawl", &[], &body).await.json();
        let id = queued["id"].as_str().expect("an id").to_owned();
        requested(&site, "/large").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let state = caller.get(&format!("/crawl/{id}")).await.json();
        assert_eq!(state["state"], "running", "it waits for money: {state}");
        let path = format!("/crawl/{id}");
        let cancelled = caller.send(Method::DELETE, &path, &[], String::new());
        assert_eq!(cancelled.await.expect("an answer").status, 200);
        let ended = caller.crawl_ended(&id, Duration::from_secs(10)).await;
        assert_eq!(ended["stop_reason"], "cancelled", "{ended}");
        let pages = caller.get(&format!("/crawl/{id}/pages")).await.json();
        assert_free(&pages[0]);
    };
    tokio::select! {
        entry = caller.page(slow) => panic!("the other page has ended: {entry}"),
        () = crawling => {}
    }
}

/// Waits until the site has a request for this path.
async fn requested(site: &FakeSite, path: &str) {
    let line = format!("GET {path} ");
    for _ in 0..500 {
        if site.requests().iter().any(|head| head.starts_with(&line)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nothing requests `{path}`");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ceiling_is_spent_to_the_last_page() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let page = 30_000;
    for n in 0..60 {
        site.put(&format!("/p/{n}"), "text/plain", body_of(page));
    }
    let url = index(&site, (0..60).map(|n| format!("/p/{n}")));
    let ceiling = 10 * 100_000;
    let body = json!({"url": url, "request": "http", "return_format": "empty", "cache": false,
        "max_credits_allowed": 10});
    let (entries, state) = crawl(&app, &body).await;
    let paid = sum(&entries);
    assert!(paid <= ceiling, "{paid}");
    assert!(paid > ceiling - 2 * page as i64, "{paid}: {state}");
    assert_eq!(state["stop_reason"], "max_credits_allowed", "{state}");
    for entry in entries.iter().filter(|entry| !entry["error"].is_null()) {
        assert_free(entry);
        let error = entry["error"].as_str().unwrap();
        assert!(error.contains("`max_credits_allowed` is 10"), "{error}");
    }
    settled(&app).await;
    // The same with the balance.
    let (_, caller) = app.another("poor", Nanodollars(ceiling)).await;
    let body = json!({"url": url, "request": "http", "return_format": "empty", "cache": false});
    let (entries, state) = crawl(&caller, &body).await;
    let paid = sum(&entries);
    assert!(
        (ceiling - 2 * page as i64..=ceiling).contains(&paid),
        "{paid}: {state}"
    );
    assert_eq!(state["stop_reason"], "balance", "{state}");
    settled(&app).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_large_page_does_not_end_the_crawl_of_the_others() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    site.put("/large", "text/plain", body_of(5_000_000));
    for n in 0..20 {
        site.put(&format!("/p/{n}"), "text/plain", body_of(10_000));
    }
    let paths = std::iter::once("/large".to_owned()).chain((0..20).map(|n| format!("/p/{n}")));
    let url = index(&site, paths);
    // 5 MB cost 50 credits.
    let body = json!({"url": url, "request": "http", "return_format": "empty", "cache": false,
        "max_credits_allowed": 20});
    let (entries, state) = crawl(&app, &body).await;
    let failed: Vec<_> = entries
        .iter()
        .filter(|entry| !entry["error"].is_null())
        .collect();
    assert_eq!((entries.len(), failed.len()), (22, 1), "{state}");
    assert_free(failed[0]);
    let error = failed[0]["error"].as_str().unwrap();
    assert!(error.contains("`max_credits_allowed` is 20"), "{error}");
    settled(&app).await;
}
