//! The routes of the Unlimited plan: cases that a client cannot trigger deliberately.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;

use trawl_billing::{AccountId, IdempotencyStart};
use trawl_model::Terms;
use trawl_store::CrawlRecord;

use super::data::running_crawl;
use super::server::{TestResponse, TestServer};
use crate::http::format::ResponseFormat;
use crate::http::idempotency::fingerprint;

const PATH: &str = "/unlimited/scrape";

/// A server whose account has this many seats and no other balance, and this rate limit.
async fn with_seats(seats: u32, per_minute: u32) -> (TestServer, AccountId) {
    let server = TestServer::with(&(20 * seats).to_string(), per_minute).await;
    let billing = server.service.billing();
    let account = billing.find("test").expect("the account").id.clone();
    let bought = billing.set_seats(&account, seats).await;
    bought.expect("seats");
    (server, account)
}

fn active(server: &TestServer, account: &AccountId) -> u32 {
    server.service.billing().slots(account).active
}

async fn until_free(server: &TestServer, account: &AccountId) {
    for _ in 0..3_000 {
        if active(server, account) == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the slot is never released");
}

fn concurrency(response: &TestResponse) -> (&str, &str) {
    (
        response.header("x-concurrency-limit"),
        response.header("x-concurrency-active"),
    )
}

#[tokio::test]
async fn a_rate_limited_response_reports_the_seats() {
    let (server, _) = with_seats(3, 1).await;
    let first = server.post(PATH, r#"{"url":"a.com"}"#).await;
    assert_eq!(
        (first.status.as_u16(), concurrency(&first)),
        (200, ("3", "1"))
    );
    for path in [PATH, "/v1/unlimited/links"] {
        let second = server.post(path, r#"{"url":"a.com"}"#).await;
        assert_eq!(second.status, 429);
        assert_eq!(second.body, r#"{"error":"slow down"}"#);
        assert!(!second.header("retry-after").is_empty());
        assert_eq!(concurrency(&second), ("3", "0"));
    }
    let plain = server.post("/scrape", r#"{"url":"a.com"}"#).await;
    assert_eq!(
        (plain.status.as_u16(), concurrency(&plain)),
        (429, ("", ""))
    );
}

#[tokio::test]
async fn a_panic_releases_the_slot() {
    let (server, account) = with_seats(1, 10_000).await;
    for _ in 0..3 {
        let broken = server.post(PATH, r#"{"url":"bug.test"}"#).await;
        assert_eq!(
            (broken.status.as_u16(), active(&server, &account)),
            (500, 0)
        );
        let broken = server.post(PATH, r#"{"url":"http://panic.test"}"#).await;
        assert_eq!(
            (broken.status.as_u16(), active(&server, &account)),
            (200, 0)
        );
        let many = r#"{"url":"a.com,http://panic.test,b.com"}"#;
        let broken = server.post(PATH, many).await;
        assert_eq!(
            (broken.status.as_u16(), active(&server, &account)),
            (200, 0)
        );
        assert_eq!(concurrency(&broken), ("1", "1"));
    }
}

#[tokio::test]
async fn work_with_an_idempotency_key_holds_its_slot_after_a_disconnect() {
    let (server, account) = with_seats(1, 10_000).await;
    let request = || {
        let request = server.request("POST", PATH).header("idempotency-key", "k");
        let body = Body::from(r#"{"url":"http://slow.test"}"#);
        request.body(body).expect("a request")
    };
    let begun = async {
        for _ in 0..3_000 {
            if server.service.n_runs.load(Ordering::SeqCst) > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the work never begins");
    };
    // The client disconnects as soon as the work has begun.
    tokio::select! {
        early = server.send(request()) => panic!("answered: {} {}", early.status, early.body),
        () = begun => {}
    }
    assert_eq!(active(&server, &account), 1);
    let refused = server.post(PATH, r#"{"url":"a.com"}"#).await;
    assert_eq!(refused.status, 429);
    assert_eq!(
        refused.body,
        r#"{"error":"concurrency_limit_reached","seats":1,"active":1}"#
    );
    server.service.release.notify_one();
    until_free(&server, &account).await;
    let replayed = server.send(request()).await;
    assert_eq!(replayed.header("idempotency-replayed"), "true");
    assert_eq!(concurrency(&replayed), ("1", "0"));
}

#[tokio::test]
async fn a_replay_needs_neither_a_plan_nor_a_slot() {
    const BODY: &str = r#"{"url":"a.com"}"#;
    let (server, account) = with_seats(1, 10_000).await;
    let send = async |body: &'static str| {
        let request = server.request("POST", PATH).header("idempotency-key", "k");
        let request = request.body(Body::from(body)).expect("a request");
        server.send(request).await
    };
    let first = send(BODY).await;
    assert_eq!(first.status, 200);
    until_free(&server, &account).await;
    let held = server.service.billing().take_slot(&account);
    let held = held.expect("a free slot");
    let assert_replay = |replay: &TestResponse| {
        assert_eq!(replay.status, 200, "{}", replay.body);
        assert_eq!(replay.header("idempotency-replayed"), "true");
        assert_eq!(replay.body, first.body);
    };
    let replay = send(BODY).await;
    assert_replay(&replay);
    assert_eq!(concurrency(&replay), ("1", "1"));
    let other = send(r#"{"url":"b.com"}"#).await;
    assert_eq!(other.status, 409, "{}", other.body);
    drop(held);

    let suspend = axum::http::Request::builder()
        .method("POST")
        .uri("/admin/accounts/test/seats/suspend")
        .header("authorization", "Bearer tra_admin");
    let suspend = suspend.body(Body::empty()).expect("a request");
    assert_eq!(server.send(suspend).await.status, 200);
    assert_replay(&send(BODY).await);
    let request = server.request("POST", PATH).header("idempotency-key", "n");
    let request = request.body(Body::from(BODY)).expect("a request");
    assert_eq!(server.send(request).await.status, 403);
}

#[tokio::test]
async fn a_repeated_crawl_that_runs_needs_no_second_slot() {
    const BODY: &str = r#"{"url":"http://a.test/","run_in_background":true}"#;
    let (server, account) = with_seats(1, 10_000).await;
    let billing = server.service.billing();
    // The server was killed before it answered.
    let share = server.service.memory().share(account.as_str());
    let hash = fingerprint("/unlimited/crawl", ResponseFormat::Json, BODY.as_bytes());
    let begun = billing.begin(&account, "k", hash, &share).await;
    let Ok(IdempotencyStart::New(mut first)) = begun else {
        panic!("the first of its key")
    };
    let payment = first.open().await.expect("stored").part(0);
    drop(first);
    let record = CrawlRecord {
        terms: Terms::Unlimited,
        ..running_crawl(&account, &payment.name, BODY)
    };
    let created = server.service.store().create_crawl(&record).await;
    created.expect("a row");
    let _of_the_crawl = billing.take_slot(&account).expect("a free slot");
    let send = async |key: &'static str| {
        let request = server.request("POST", "/unlimited/crawl");
        let request = request.header("idempotency-key", key);
        server
            .send(request.body(Body::from(BODY)).expect("a request"))
            .await
    };
    let repeated = send("k").await;
    assert_eq!(repeated.status, 200, "{}", repeated.body);
    assert_eq!(repeated.json()["id"], record.id.as_str());
    assert_eq!(concurrency(&repeated), ("1", "1"));
    let other = send("n").await;
    assert_eq!(other.status, 429, "{}", other.body);
}
