//! The routes of the Unlimited plan: what no caller on a socket can bring about at will.

use std::time::Duration;

use axum::body::Body;

use super::world::{Answer, World};
use crate::Service;
use trawl_billing::AccountId;

const PATH: &str = "/unlimited/scrape";

/// A world whose account has so many seats and nothing else, and its key so many requests a minute.
async fn with_seats(seats: u32, per_minute: u32) -> (World, AccountId) {
    let world = World::with(&(20 * seats).to_string(), per_minute).await;
    let billing = world.service.billing();
    let account = billing.find("test").expect("the account").id.clone();
    let bought = billing.set_seats(&account, seats).await;
    bought.expect("bought");
    (world, account)
}

fn active(world: &World, account: &AccountId) -> u32 {
    world.service.billing().slots(account).active
}

async fn until_free(world: &World, account: &AccountId) {
    for _ in 0..500 {
        if active(world, account) == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the slot is never free");
}

fn concurrency(answer: &Answer) -> (&str, &str) {
    (
        answer.header("x-concurrency-limit"),
        answer.header("x-concurrency-active"),
    )
}

#[tokio::test]
async fn who_asks_too_often_hears_of_the_seats_as_well() {
    let (world, _) = with_seats(3, 1).await;
    let first = world.post(PATH, r#"{"url":"a.com"}"#).await;
    assert_eq!(
        (first.status.as_u16(), concurrency(&first)),
        (200, ("3", "1"))
    );
    for path in [PATH, "/v1/unlimited/links"] {
        let second = world.post(path, r#"{"url":"a.com"}"#).await;
        assert_eq!(second.status, 429);
        assert_eq!(second.body, r#"{"error":"slow down"}"#);
        assert!(!second.header("retry-after").is_empty());
        assert_eq!(concurrency(&second), ("3", "0"));
    }
    let plain = world.post("/scrape", r#"{"url":"a.com"}"#).await;
    assert_eq!(
        (plain.status.as_u16(), concurrency(&plain)),
        (429, ("", ""))
    );
}

#[tokio::test]
async fn a_panic_frees_the_slot() {
    let (world, account) = with_seats(1, 10_000).await;
    for _ in 0..3 {
        let broken = world.post(PATH, r#"{"url":"bug.test"}"#).await;
        assert_eq!((broken.status.as_u16(), active(&world, &account)), (500, 0));
        let broken = world.post(PATH, r#"{"url":"http://panic.test"}"#).await;
        assert_eq!((broken.status.as_u16(), active(&world, &account)), (200, 0));
        let many = r#"{"url":"a.com,http://panic.test,b.com"}"#;
        let broken = world.post(PATH, many).await;
        assert_eq!((broken.status.as_u16(), active(&world, &account)), (200, 0));
        assert_eq!(concurrency(&broken), ("1", "1"));
    }
}

#[tokio::test]
async fn work_under_an_idempotency_key_keeps_its_slot_without_its_caller() {
    let (world, account) = with_seats(1, 10_000).await;
    let request = || {
        let request = world.request("POST", PATH).header("idempotency-key", "k");
        let body = Body::from(r#"{"url":"http://slow.test"}"#);
        request.body(body).expect("a request")
    };
    let hung_up = tokio::time::timeout(Duration::from_millis(200), world.send(request())).await;
    assert!(hung_up.is_err());
    assert_eq!(active(&world, &account), 1);
    let refused = world.post(PATH, r#"{"url":"a.com"}"#).await;
    assert_eq!(refused.status, 429);
    assert_eq!(
        refused.body,
        r#"{"error":"concurrency_limit_reached","seats":1,"active":1}"#
    );
    world.service.release.notify_one();
    until_free(&world, &account).await;
    let replayed = world.send(request()).await;
    assert_eq!(replayed.header("idempotency-replayed"), "true");
    assert_eq!(concurrency(&replayed), ("1", "1"));
}
