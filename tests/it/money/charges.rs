//! What pages cost, and what happens when the balance is too small.

use std::time::Duration;

use serde_json::{Value, json};
use trawl_billing::LedgerEntryKind;
use trawl_model::Nanodollars;
use trawl_tests::caller::{assert_free, costs};
use trawl_tests::coding::encoded;
use trawl_tests::site::PAGE;
use trawl_tests::{Caller, FakeSite, TestApp};

use super::{CENT, DOLLAR, body_of, cheap, settled};

fn bytes_cost(entry: &Value) -> i64 {
    costs(entry)[3]
}

fn sum(entries: &[Value]) -> i64 {
    entries.iter().map(|entry| costs(entry)[5]).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_decoded_body_is_charged_to_the_byte() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let page = PAGE.len() as i64;
    for (url, bytes) in [
        (site.put("/one", "text/html", "x"), 1),
        (site.put("/none", "text/html", ""), 0),
        (
            site.put("/large", "text/plain", body_of(1_234_567)),
            1_234_567,
        ),
        (site.url("/coded/gzip"), page),
        (site.url("/coded/zstd,br"), page),
        (site.url("/redirect/3"), page),
        (site.url("/typed/png"), 16),
    ] {
        let before = app.balance();
        let entry = app
            .fine(json!({"url": url, "return_format": "bytes", "max_size": 0}))
            .await;
        assert_eq!(bytes_cost(&entry), bytes, "{url}");
        assert_eq!(before - app.balance(), costs(&entry)[5], "{url}");
        let entries = app.entries().await;
        let post = entries.last().unwrap();
        assert_eq!(
            (post.kind, &*post.url),
            (LedgerEntryKind::Post, url.as_str())
        );
        assert_eq!(
            (post.amount.0, post.charge.bytes_transferred.0),
            (-costs(&entry)[5], bytes)
        );
    }
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_page_is_in_the_statement_for_free_with_its_reason() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    for path in [
        "/reset",
        "/status/404",
        "/loop",
        "/truncated",
        "/mislabelled/br",
    ] {
        let url = site.url(path);
        let (_, reason) = app.failure(json!({"url": url})).await;
        let entries = app.entries().await;
        let last = entries.last().unwrap();
        assert_eq!(
            (last.kind, &*last.url),
            (LedgerEntryKind::Void, url.as_str())
        );
        assert_eq!((&last.reason, last.amount), (&reason, Nanodollars::ZERO));
    }
    assert_eq!(app.balance(), 100 * DOLLAR);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sum_of_the_pages_is_the_bill_to_the_nanodollar() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let paths = [
        "/page",
        "/reset",
        "/coded/gzip",
        "/status/500",
        "/typed/json",
        "/loop",
        "/truncated",
        "/typed/png",
    ];
    let urls: Vec<_> = (0..80)
        .map(|n| site.url(&format!("{}?{n}", paths[n % paths.len()])))
        .collect();
    let body =
        json!({"url": urls.join(","), "return_format": ["markdown", "raw"], "metadata": true});
    let before = app.balance();
    let entries = app.scrape(body.clone()).await;
    let failed = entries.iter().filter(|entry| entry["error"].is_string());
    let failed: Vec<_> = failed.inspect(|entry| assert_free(entry)).collect();
    assert_eq!((entries.len(), failed.len()), (80, 50));
    assert_eq!(before - app.balance(), sum(&entries));
    let mut streamed = Vec::new();
    let before = app.balance();
    app.stream(&body, |entry| streamed.push(entry)).await;
    assert_eq!(streamed.len(), 80);
    assert_eq!(before - app.balance(), sum(&streamed));
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_money_nothing_is_fetched() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let (_, poor) = app.another("poor", Nanodollars::ZERO).await;
    let body = cheap(&[site.url("/page")]);
    for path in ["/scrape", "/links"] {
        let answer = poor.post(path, &[], &body).await;
        assert_eq!(
            (answer.status, answer.error().as_str()),
            (402, "balance is zero")
        );
    }
    let data = json!({"data": [{"html": "<p>x"}], "return_format": "text"});
    assert_eq!(poor.post("/transform", &[], &data).await.status, 402);
    assert_eq!(site.connections(), 0);
    app.fine(body).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_concurrent_runs_on_one_cent_get_one_page() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let bytes = CENT as usize * 6 / 10;
    let url = site.put("/large", "text/plain", body_of(bytes));
    let body = json!({"url": url, "return_format": "text", "max_size": 10, "request": "http", "cache": false});
    for round in 0..5 {
        let (account, poor) = app
            .another(&format!("poor {round}"), Nanodollars(CENT))
            .await;
        let (one, two) = tokio::join!(poor.page(body.clone()), poor.page(body.clone()));
        let entries = [one, two];
        let (good, bad): (Vec<&Value>, Vec<_>) =
            entries.iter().partition(|entry| entry["error"].is_null());
        assert_eq!((good.len(), bad.len()), (1, 1), "{entries:?}");
        assert_eq!(
            (&good[0]["content"], &bad[0]["content"]),
            (&json!("xxxxxxxxxx"), &json!(""))
        );
        assert_free(bad[0]);
        let left = app.app.billing().balance(&account).0;
        assert_eq!(CENT - left, costs(good[0])[5]);
    }
    settled(&app).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_runs_never_overspend() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let (account, poor) = app.another("poor", Nanodollars(2 * CENT)).await;
    let urls: Vec<_> = (0..6)
        .map(|n| {
            site.put(
                &format!("/{n}"),
                "text/plain",
                body_of(CENT as usize / 4 + n * 1000),
            )
        })
        .collect();
    let runs: Vec<_> = (0..6)
        .map(|_| {
            let (poor, body) = (poor.clone(), cheap(&urls));
            tokio::spawn(async move { poor.post("/scrape", &[], &body).await })
        })
        .collect();
    let mut paid = 0;
    for run in runs {
        let answer = run.await.unwrap();
        match answer.status {
            200 => paid += sum(answer.json().as_array().unwrap()),
            status => assert_eq!(status, 402),
        }
    }
    let left = app.app.billing().balance(&account).0;
    assert_eq!(left, 2 * CENT - paid);
    assert!(
        (0..CENT / 2).contains(&left),
        "{left} left: affordable pages were not served"
    );
    settled(&app).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_exceeds_its_ceiling_fails_for_free() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let credit = 100_000;
    let above = site.put("/above", "text/plain", body_of(2 * credit));
    let below = site.put("/below", "text/plain", body_of(credit / 2));
    let body = |url: &str, credits: u64| json!({"url": url, "return_format": "text", "max_credits_per_page": credits, "request": "http"});
    let entry = app.page(body(&above, 1)).await;
    assert_free(&entry);
    let reason = entry["error"].as_str().unwrap();
    assert!(reason.contains("`max_credits_per_page` allows"), "{reason}");
    assert_eq!(entry["content"], "");
    assert_eq!(app.balance(), 100 * DOLLAR);
    let (_, reason) = app.failure(body(&below, 0)).await;
    assert!(reason.contains("`max_credits_per_page` allows"), "{reason}");
    assert!(Caller::total(&app.fine(body(&below, 1)).await) <= credit as i64);
    assert!(Caller::total(&app.fine(body(&above, 3)).await) > credit as i64);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_disconnects_leaves_no_reservation() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let slow: Vec<_> = (0..12)
        .map(|n| site.url(&format!("/slow/{}", n * 100)))
        .collect();
    for body in [
        cheap(&slow),
        cheap(&slow[11..]),
        cheap(&[site.url("/silent")]),
    ] {
        for patience in [30, 250, 500] {
            let patience = Duration::from_millis(patience);
            let hung_up = tokio::time::timeout(patience, app.post("/scrape", &[], &body)).await;
            assert!(
                hung_up.is_err(),
                "the response came too early for this test"
            );
        }
    }
    let before = app.entries().await;
    settled(&app).await;
    let entries = app.entries().await;
    assert!(entries.len() >= before.len());
    let abandoned = entries.iter().filter(|entry| entry.reason == "abandoned");
    assert!(
        abandoned.count() >= 9,
        "pages were fetched without a client"
    );
    let posts = entries
        .iter()
        .filter(|entry| entry.kind == LedgerEntryKind::Post);
    assert_eq!(
        100 * DOLLAR - app.balance(),
        -posts.map(|post| post.amount.0).sum::<i64>()
    );
    app.fine(cheap(&[site.url("/page")])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_truncated_page_costs_nothing() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let whole = encoded("gzip", &body_of(1_000_000));
    let half = whole[..whole.len() / 2].to_vec();
    let cut = site.put("/cut", "text/html\r\nContent-Encoding: gzip", half);
    for url in [
        cut,
        site.url("/truncated"),
        site.url("/truncated-chunks"),
        site.url("/reset"),
    ] {
        let entry = app.page(json!({"url": url, "return_format": "raw"})).await;
        assert!(
            entry["error"].is_string() && entry["content"] == "",
            "{entry}"
        );
        assert_free(&entry);
    }
    assert_eq!(app.balance(), 100 * DOLLAR);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_wall_with_a_good_status_is_a_blocked_page_at_no_cost() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let wall = "<h1>shop.example</h1><p>A moment, the connection is looked at.</p>\
        <script>window._cf_chl_opt={}</script>";
    let wall = site.put("/wall", "text/html", wall);
    let form = "<h1>Write to us</h1><p>Tick the box so that we know you are human.</p><form><input name=mail>\
        <div class=h-captcha></div></form><script src=https://hcaptcha.com/1/api.js></script>";
    let form = site.put("/form", "text/html", form);
    let before = app.balance();
    for mode in ["http", "smart"] {
        let entry = app.page(json!({"url": wall, "request": mode})).await;
        assert_free(&entry);
        let error = entry["error"].as_str().unwrap();
        assert!(
            error.contains("blocked") && error.contains("`cloudflare`"),
            "{error}"
        );
        assert_eq!(entry["status"], 200);
    }
    assert_eq!(app.balance(), before);
    app.fine(json!({"url": form, "request": "http"})).await;
    app.assert_settled().await;
}
