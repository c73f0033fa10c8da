//! Results of each endpoint when no model is configured.

use super::*;

/// What a result says of the model where none is configured.
fn no_model() -> Value {
    json!({"used": false, "reason": "no model is configured"})
}

/// A server whose analysts find neither questions nor links.
async fn app_that_finds_nothing() -> TestApp {
    let qa = analyst_with("qa", &json!({"pairs": []}), &json!({"content": []}));
    let links = analyst_with(
        "filter_links",
        &json!({"links": []}),
        &json!({"relevant_urls": []}),
    );
    TestApp::of(world(&[&qa, &links])).await
}

#[tokio::test]
async fn results_are_in_the_entries_of_their_pages() {
    let site = site().await;
    let contacts = analyst_with("contacts", &json!({"emails": []}), &json!({"contacts": []}));
    let label = analyst_with("label", &json!({"labels": [{"label": "news"}]}), &json!({}));
    let app = TestApp::of(world(&[&contacts, &label])).await;
    for (path, key, expected) in [
        (
            CONTACTS,
            "contacts",
            json!({"emails": [], "model": no_model()}),
        ),
        (
            LABEL,
            "labels",
            json!({"labels": [{"label": "news"}], "model": no_model()}),
        ),
    ] {
        let before = app.balance();
        for path in [path.to_owned(), format!("/v1{path}")] {
            let answer = app.post(&path, &[], &request(&site, json!({}))).await;
            assert_deprecated(&answer);
            assert_eq!(answer.header("x-crawl-id").len(), 32);
            let entries = entries(&answer);
            assert_eq!(entries.len(), 3);
            for entry in &entries {
                assert_eq!(entry[key], expected, "{entry}");
                assert_eq!(entry["costs"]["ai_cost"], 0.0);
            }
        }
        let limited = app
            .post(path, &[], &request(&site, json!({"limit": 1})))
            .await;
        assert_eq!(super::entries(&limited).len(), 1);
        let lines = [("accept", "application/jsonl")];
        let lines = app
            .post(path, &lines, &request(&site, json!({"limit": 2})))
            .await;
        assert_eq!(lines.body.iter().filter(|&&byte| byte == b'\n').count(), 2);
        assert!(app.balance() < before);
    }
    app.assert_settled().await;
}

#[tokio::test]
async fn a_failed_page_is_not_analysed_and_costs_nothing() {
    let site = FakeSite::start().await;
    let contacts = analyst_with("contacts", &json!({"emails": []}), &json!({"contacts": []}));
    let app = TestApp::of(world(&[&contacts])).await;
    let body = json!({"url": site.url("/missing"), "request": "http", "cache": false});
    let entries = entries(&app.post(CONTACTS, &[], &body).await);
    assert_eq!(entries[0]["status"], 404);
    assert!(entries[0].get("contacts").is_none(), "{}", entries[0]);
    assert_eq!(paid(&app).await, 0);
}

#[tokio::test]
async fn answers_are_one_object() {
    let site = site().await;
    let pair = json!({"question": "q", "answer": "a", "url": "http://127.0.0.1/", "score": 1});
    let qa = analyst_with("qa", &json!({"pairs": []}), &json!({"content": [pair]}));
    let app = TestApp::of(world(&[&qa])).await;
    let body = request(
        &site,
        json!({"prompt": "hours", "limit": 2, "return_format": "markdown", "text": "x", "model": "y"}),
    );
    let answer = app.post(QA, &[], &body).await;
    assert_deprecated(&answer);
    assert_eq!(
        answer.header("x-ignored-parameters"),
        "text, model, return_format"
    );
    let answer = answer.json();
    assert_eq!(answer["content"], json!([pair]));
    assert_eq!(answer["error"], Value::Null);
    assert_eq!(answer["status"], 200);
    assert_eq!(answer["url"], site.url("/"));
    assert_eq!(answer["model"], no_model());
    assert_costs_add_up(&answer["cost"]);
    assert_eq!(total(&answer["cost"]), paid(&app).await);

    let body = json!({"url": site.url("/missing"), "request": "http", "cache": false});
    let answer = app.post(QA, &[], &body).await.json();
    assert_eq!(
        (&answer["content"], &answer["status"]),
        (&json!([]), &json!(404))
    );
    assert!(answer["error"].is_string(), "{answer}");
    assert_eq!(answer["cause"], "http_status", "{answer}");
    assert_eq!(total(&answer["cost"]), 0);
}

#[tokio::test]
async fn what_had_no_effect_on_a_page_is_named_once_in_the_joined_answer() {
    let site = site().await;
    let app = app_that_finds_nothing().await;
    // Plain HTTP serves the pages, so no browser has use for a window.
    let more = json!({"request": "smart", "prompt": "hours", "limit": 2, "viewport": {"width": 900, "height": 700}});
    for path in [QA, LINKS] {
        let answer = app.post(path, &[], &request(&site, more.clone())).await;
        assert!(!answer.header("x-ignored-parameters").contains("viewport"));
        let answer = answer.json();
        assert_eq!(
            answer["metadata"],
            json!({"ignored": ["viewport"]}),
            "{answer}"
        );
    }
    let answer = app
        .post(QA, &[], &request(&site, json!({"prompt": "hours"})))
        .await;
    assert!(answer.json().get("metadata").is_none());
    app.assert_settled().await;
}

#[tokio::test]
async fn relevant_links_are_one_object() {
    let site = site().await;
    let found = json!({"relevant_urls": ["http://127.0.0.1/a"], "links": [{"url": "http://127.0.0.1/a", "score": 0.9}]});
    let links = analyst_with("filter_links", &json!({"links": []}), &found);
    let app = TestApp::of(world(&[&links])).await;
    let answer = app
        .post(LINKS, &[], &request(&site, json!({"limit": 2})))
        .await;
    assert_deprecated(&answer);
    let answer = answer.json();
    assert_eq!(answer["content"], json!([found]));
    assert_eq!(answer["model"], no_model());
    assert_eq!(
        (&answer["error"], &answer["status"]),
        (&json!(""), &json!(200))
    );
    assert_costs_add_up(&answer["cost"]);
    assert_eq!(total(&answer["cost"]), paid(&app).await);

    // Several seeds are one crawl with one limit.
    let seeds = format!("{},{}", site.url("/a"), site.url("/b"));
    let before = site.requests().len();
    let answer = app
        .post(
            LINKS,
            &[],
            &request(
                &site,
                json!({"url": seeds, "limit": 1, "respect_robots": false}),
            ),
        )
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(site.requests().len() - before, 1);
    let many = app
        .post(
            LINKS,
            &[],
            &json!([request(&site, json!({})), request(&site, json!({}))]),
        )
        .await;
    assert_eq!(many.status, 400);
}

#[tokio::test]
async fn contacts_are_stored_and_listed() {
    let site = site().await;
    let joined = json!({"contacts": [
        {"kind": "email", "value": "info@site.example", "details": {"sources": ["text"]}, "pages": [site.url("/"), site.url("/a")]},
        {"kind": "phone", "value": "+4930123456", "pages": ["https://www.other.com/x"]},
    ]});
    let contacts = analyst_with("contacts", &json!({"emails": []}), &joined);
    let app = TestApp::of(world(&[&contacts])).await;
    assert_eq!(
        app.get("/data/contacts").await.json(),
        json!({"data": [], "count": 0})
    );
    for _ in 0..2 {
        entries(
            &app.post(CONTACTS, &[], &request(&site, json!({"limit": 2})))
                .await,
        );
    }
    let all = app.get("/data/contacts").await.json();
    assert_eq!(all["count"], 2, "{all}");
    let own = app
        .get("/v1/data/contacts?domain=127.0.0.1&limit=1")
        .await
        .json();
    assert_eq!(own["count"], 1);
    let contact = &own["data"][0];
    assert_eq!(
        (&contact["kind"], &contact["value"]),
        (&json!("email"), &json!("info@site.example"))
    );
    assert_eq!(contact["details"], json!({"sources": ["text"]}));
    assert_eq!(contact["pages"], json!([site.url("/"), site.url("/a")]));
    let other = app.get("/data/contacts?domain=other.com").await.json();
    assert_eq!(other["data"][0]["domain"], "other.com");
    let behind = app.get("/data/contacts?limit=1&page=3").await.json();
    assert_eq!((&behind["data"], &behind["count"]), (&json!([]), &json!(2)));
    assert_eq!(app.get("/data/contacts?limit=x").await.status, 400);
    let (_, stranger) = app
        .another("stranger", trawl_model::Nanodollars::ZERO)
        .await;
    assert_eq!(stranger.get("/data/contacts").await.json()["count"], 0);

    // A background crawl does the same, and its stored pages contain the results.
    let body = request(&site, json!({"run_in_background": true, "limit": 1}));
    let queued = app.post(CONTACTS, &[], &body).await.json();
    let id = queued["id"].as_str().unwrap().to_owned();
    let pages = app.get(&format!("/crawl/{id}/pages?follow=true")).await;
    assert_eq!(
        entries(&pages)[0]["contacts"],
        json!({"emails": [], "model": no_model()})
    );
}

#[tokio::test]
async fn the_status_of_a_crawl_says_which_contacts_are_not_stored() {
    let site = site().await;
    let page = site.url("/");
    let joined = json!({"contacts": [
        {"kind": "email", "value": "info@site.example", "pages": [page]},
        {"kind": "address", "value": "x".repeat(3_000), "pages": [page]},
    ]});
    let contacts = analyst_with("contacts", &json!({"emails": []}), &joined);
    let app = TestApp::of(world(&[&contacts])).await;
    let one = request(&site, json!({"limit": 1}));
    let answer = app.post(CONTACTS, &[], &one).await;
    assert_eq!(entries(&answer).len(), 1);
    let id = answer.header("x-crawl-id").to_owned();
    let shown = app.get(&format!("/crawl/{id}")).await.json();
    let left_out = &shown["left_out"];
    assert_eq!(left_out["contacts"], 1, "{shown}");
    let reason = left_out["reasons"][0].as_str().unwrap();
    assert!(reason.contains("2,048 bytes"), "{shown}");
    // The request is shown as it was sent.
    assert_eq!(shown["request"], one);
    assert_eq!(app.get("/data/contacts").await.json()["count"], 1);

    let answer = app.post("/crawl", &[], &one).await;
    let id = answer.header("x-crawl-id").to_owned();
    let shown = app.get(&format!("/crawl/{id}")).await.json();
    assert!(shown.get("left_out").is_none(), "{shown}");
}

#[tokio::test]
async fn invalid_parameters_are_named_in_the_error() {
    let site = site().await;
    let contacts = analyst_with("contacts", &json!({}), &json!({}));
    let app = TestApp::of(world(&[&contacts])).await;
    let refused = app.post(CONTACTS, &[], &json!({"prompt": "x"})).await;
    assert_eq!(refused.status, 400);
    assert_deprecated(&refused);
    assert!(
        refused.json()["error"]
            .as_str()
            .unwrap()
            .starts_with("url: ")
    );
    let long = request(&site, json!({"prompt": "x".repeat(20_000)}));
    let refused = app.post(CONTACTS, &[], &long).await;
    assert!(
        refused.json()["error"]
            .as_str()
            .unwrap()
            .starts_with("prompt: ")
    );
    let unlimited = app
        .post(
            "/unlimited/crawl",
            &[],
            &request(&site, json!({"prompt": "x"})),
        )
        .await;
    assert_eq!(unlimited.status, 403);
    let stranger = trawl_tests::Caller::new(app.address, "tr_unknown");
    let refused = stranger.post(QA, &[], &json!({})).await;
    assert_eq!(refused.status, 401);
    assert_deprecated(&refused);
}

#[tokio::test]
async fn a_crawl_without_pages_reports_the_reason() {
    let site = site().await;
    let app = app_that_finds_nothing().await;
    for path in [QA, LINKS] {
        let body = request(&site, json!({"budget": {"/": 0}}));
        let answer = app.post(path, &[], &body).await;
        assert_deprecated(&answer);
        let answer = answer.json();
        assert_eq!(answer["status"], 599, "{answer}");
        assert_eq!(
            answer["error"],
            "the crawl may fetch no page, check `budget`, `blacklist`, `whitelist` and `limit`"
        );
        assert_eq!(total(&answer["cost"]), 0);
    }
    assert!(site.requests().is_empty());
    assert_eq!(paid(&app).await, 0);
}
