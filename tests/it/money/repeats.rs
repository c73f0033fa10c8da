//! `Idempotency-Key`: the same POST request twice.

use std::time::Duration;

use serde_json::json;
use trawl_tests::{FakeSite, TestApp};

use super::{DOLLAR, cheap, settled};

/// Waits until a site has received a request.
async fn until_requested(site: &FakeSite) {
    for _ in 0..2_000 {
        if !site.requests().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nothing is requested");
}

/// Waits until the account has paid and nothing is reserved any more.
async fn until_charged(app: &TestApp) {
    for _ in 0..400 {
        let accounts = app.app.billing().accounts();
        let is_settled = accounts.iter().all(|(_, funds)| funds.held.0 == 0);
        if is_settled && app.balance() < 100 * DOLLAR {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the request was cancelled when its client disconnected");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_request_gets_the_same_response_and_is_charged_once() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    for form in ["application/json", "application/jsonl"] {
        let headers = [("idempotency-key", form), ("content-type", form)];
        let urls = [site.url("/page"), site.url("/reset"), site.url("/cookies")];
        let body = cheap(&urls);
        let fetched = site.requests().len();
        let first = app.post("/scrape", &headers, &body).await;
        let (left, seen) = (app.balance(), site.requests().len());
        assert!(left < 100 * DOLLAR && seen >= fetched + 3);
        for path in ["/scrape", "/v1/scrape"] {
            let again = app.post(path, &headers, &body).await;
            assert_eq!((again.status, &again.body), (200, &first.body));
            assert_eq!(again.header("content-type"), form);
            assert_eq!(again.header("idempotency-replayed"), "true");
        }
        assert_eq!((app.balance(), site.requests().len()), (left, seen));
    }
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_request_with_a_used_key_is_a_conflict() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let headers = [("idempotency-key", "one")];
    let body = cheap(&[site.url("/page")]);
    assert_eq!(app.post("/scrape", &headers, &body).await.status, 200);
    let left = app.balance();
    let other = app
        .post("/scrape", &headers, &cheap(&[site.url("/page?2")]))
        .await;
    assert_eq!((other.status, other.error().is_empty()), (409, false));
    assert_eq!(app.post("/links", &headers, &body).await.status, 409);
    assert_eq!((app.balance(), site.requests().len()), (left, 1));
    let (_, someone) = app
        .another("someone", trawl_model::Nanodollars(DOLLAR))
        .await;
    let theirs = someone.post("/scrape", &headers, &body).await;
    assert_eq!(
        (theirs.status, theirs.header("idempotency-replayed")),
        (200, "")
    );
    let refused = app
        .post(
            "/scrape",
            &[("idempotency-key", "two")],
            &json!({"url": ""}),
        )
        .await;
    assert_eq!(refused.status, 400);
    let mended = app
        .post("/scrape", &[("idempotency-key", "two")], &body)
        .await;
    assert_eq!(
        mended.status, 200,
        "a refused request does not use up its key"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_while_the_first_is_in_flight_is_a_conflict() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let headers = [("idempotency-key", "slow")];
    let body = cheap(&[site.url("/slow/3000")]);
    let first = app.post("/scrape", &headers, &body);
    let second = async {
        until_requested(&site).await;
        app.post("/scrape", &headers, &body).await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(
        (first.status, second.status),
        (200, 409),
        "{}",
        second.error()
    );
    assert_eq!(app.post("/scrape", &headers, &body).await.body, first.body);
    assert_eq!(site.requests().len(), 1);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnected_client_gets_its_response_by_repeating_the_request() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let headers = [("idempotency-key", "lost")];
    let body = cheap(&[site.url("/slow/1500"), site.url("/slow/1400")]);
    tokio::select! {
        answer = app.post("/scrape", &headers, &body) => panic!("answered: {answer:?}"),
        () = until_requested(&site) => {}
    }
    until_charged(&app).await;
    let left = app.balance();
    let mut again = app.post("/scrape", &headers, &body).await;
    for _ in 0..400 {
        // The response is stored after its last charge.
        if again.status != 409 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        again = app.post("/scrape", &headers, &body).await;
    }
    assert_eq!(
        (again.status, again.json().as_array().unwrap().len()),
        (200, 2)
    );
    assert_eq!((app.balance(), site.requests().len()), (left, 2));
    settled(&app).await;
}
