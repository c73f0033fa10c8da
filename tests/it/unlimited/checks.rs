//! The checks of a request, and their order.

use serde_json::{Value, json};
use trawl_tests::caller::assert_free;
use trawl_tests::{Caller, FakeSite, TestApp};

use super::{CRAWL, LINKS, SCRAPE, assert_full, concurrency, one, open, until_active, with_seats};

const PATHS: [&str; 6] = [
    SCRAPE,
    CRAWL,
    LINKS,
    "/v1/unlimited/scrape",
    "/v1/unlimited/crawl",
    "/v1/unlimited/links",
];

/// Checks that every route responds with this status and exactly this body.
async fn check(caller: &Caller, body: &Value, status: u16, text: &str) {
    for path in PATHS {
        let answer = caller.post(path, &[], body).await;
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(String::from_utf8_lossy(&answer.body), text, "{path}");
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(concurrency(&answer), ("", ""), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_plan_parameters_and_slots_are_checked_in_this_order() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let wrong = json!({"url": site.url("/page"), "prompt": "x"});
    let mut stranger = (*app).clone();
    stranger.key = "tr_of_nobody".to_owned();
    let unknown = r#"{"error":"invalid api key","hint":"the key is unknown or revoked: check that it is complete, or create another one"}"#;
    check(&stranger, &wrong, 401, unknown).await;
    let required = r#"{"error":"unlimited_plan_required"}"#;
    check(&app, &wrong, 403, required).await;

    let billing = app.app.billing();
    billing.set_seats(&app.account, 1).await.unwrap();
    billing.suspend_seats(&app.account).await.unwrap();
    let inactive = r#"{"error":"unlimited_plan_inactive"}"#;
    check(&app, &wrong, 403, inactive).await;
    billing.resume_seats(&app.account).await.unwrap();

    let refusal =
        r#"{"error":"prompt: is not part of the Unlimited plan, which uses no AI: leave it out"}"#;
    check(&app, &wrong, 400, refusal).await;
    let busy = tokio::spawn({
        let (caller, url) = ((*app).clone(), site.url("/silent"));
        async move { caller.post(SCRAPE, &[], &one(&url)).await }
    });
    until_active(&app, 1).await;
    check(&app, &wrong, 400, refusal).await;
    let nothing = json!({"url": ""});
    let missing = r#"{"error":"url: is missing or empty, send the URL of a page"}"#;
    check(&app, &nothing, 400, missing).await;
    for path in PATHS {
        let answer = app.post(path, &[], &one(&site.url("/page"))).await;
        assert_full(&answer, 1);
    }
    busy.abort();
    until_active(&app, 0).await;
    let fine = app.post(SCRAPE, &[], &one(&site.url("/page"))).await;
    assert_eq!((fine.status, concurrency(&fine)), (200, ("1", "1")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ai_parameters_are_refused_in_every_object() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    let url = site.url("/page");
    for name in [
        "prompt",
        "custom_prompt",
        "extraction_prompt",
        "extraction_schema",
        "model",
        "vision",
        "openrouter",
        "openrouter_api_key",
    ] {
        for value in [json!("x"), json!({}), json!(true), json!("")] {
            let mut object = one(&url);
            object[name] = value;
            for body in [object.clone(), json!([one(&url), object])] {
                for path in [SCRAPE, CRAWL, LINKS] {
                    let answer = app.post(path, &[], &body).await;
                    assert_eq!(answer.status, 400, "{body}");
                    let text = answer.error();
                    assert!(text.starts_with(&format!("{name}: ")), "{text}");
                }
            }
        }
        let mut object = one(&url);
        object[name] = Value::Null;
        let answer = app.post(SCRAPE, &[], &json!([object])).await;
        assert_eq!(answer.status, 200, "{object}");
    }
    // The other routes have no such rule.
    let body = json!({"url": url, "model": "x"});
    let answer = app.post("/scrape", &[], &body).await;
    assert_eq!(answer.status, 402);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_free_and_in_the_ledger() {
    let (app, site) = (with_seats(2).await, FakeSite::start().await);
    let (good, bad) = (site.url("/page"), site.url("/nowhere"));
    let body = json!({
        "url": format!("{good},{bad}"), "return_format": "markdown", "metadata": true, "unknown": 1,
    });
    let answer = app.post(SCRAPE, &[], &body).await;
    assert_eq!((answer.status, concurrency(&answer)), (200, ("2", "1")));
    assert_eq!(answer.header("x-ignored-parameters"), "unknown");
    let entries = answer.json();
    assert!(entries[0]["content"].as_str().unwrap().contains("A page"));
    assert_eq!(
        (&entries[0]["error"], &entries[1]["status"]),
        (&Value::Null, &json!(404))
    );
    for entry in entries.as_array().unwrap() {
        assert_free(entry);
    }
    let mut lines: Vec<_> = app
        .entries()
        .await
        .into_iter()
        .filter(|entry| !entry.url.is_empty())
        .map(|entry| (entry.kind.name(), entry.url.to_string(), entry.amount.0))
        .collect();
    lines.sort();
    assert_eq!(lines, [("post", good, 0), ("void", bad, 0)]);
    app.assert_settled().await;
    let account = app.get("/account").await.json();
    assert_eq!(account["balance"], 0.0);
    let subscription = &account["subscription"];
    assert_eq!(
        (&subscription["state"], &subscription["seats"]),
        (&json!("active"), &json!(2))
    );
    assert_eq!(
        (&subscription["price"], &subscription["active"]),
        (&json!(40.0), &json!(0))
    );
    let statement = app.get("/account/statement").await.json();
    let seats = statement["entries"].as_array().unwrap().iter();
    let seats: Vec<_> = seats.filter(|entry| entry["kind"] == "seats").collect();
    assert_eq!((seats.len(), &seats[0]["amount"]), (1, &json!(-40.0)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replayed_response_needs_no_slot() {
    let (app, site) = (with_seats(1).await, FakeSite::start().await);
    let (page, key) = (one(&site.url("/page")), [("idempotency-key", "k")]);
    let first = app.post(SCRAPE, &key, &page).await;
    until_active(&app, 0).await;
    let again = app.post(SCRAPE, &key, &page).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(
        (concurrency(&first), concurrency(&again)),
        (("1", "1"), ("1", "0"))
    );
    assert_eq!(first.body, again.body);
    let (silent, url) = (site.url("/silent"), site.url("/page"));
    let busy = open(&app, SCRAPE, &one(&format!("{url},{silent}"))).await;
    let meanwhile = app.post(SCRAPE, &key, &page).await;
    assert_eq!(meanwhile.header("idempotency-replayed"), "true");
    assert_eq!(concurrency(&meanwhile), ("1", "1"));
    let other = [("idempotency-key", "another")];
    assert_full(&app.post(SCRAPE, &other, &page).await, 1);
    drop(busy);
    until_active(&app, 0).await;
}
