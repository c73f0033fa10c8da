//! `GET /account` and `GET /account/statement`: a statement that adds up.

use serde_json::{Value, json};
use trawl_tests::caller::nanodollars;
use trawl_tests::{FakeSite, TestApp};

async fn statement(app: &TestApp, query: &str) -> Value {
    let answer = app.get(&format!("/account/statement{query}")).await;
    assert_eq!(answer.status, 200);
    answer.json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_adds_up_and_lists_failed_pages() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let (good, bad) = (site.url("/page"), site.url("/nowhere"));
    app.scrape(json!({"url": format!("{good},{bad}"), "return_format": "text"}))
        .await;

    let bill = statement(&app, "").await;
    let entries = bill["entries"].as_array().unwrap();
    let of = |kind: &str| {
        entries
            .iter()
            .filter(|entry| entry["kind"] == kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("top_up")[0]["amount"], 100.0);
    let posts = of("post");
    assert_eq!((posts.len(), &posts[0]["url"]), (1, &json!(good)));
    assert_eq!(
        nanodollars(&posts[0]["costs"]["total_cost"]),
        -nanodollars(&posts[0]["amount"])
    );
    assert!(!posts[0]["run"].as_str().unwrap().is_empty());
    let voids = of("void");
    assert_eq!(
        (voids.len(), &voids[0]["url"], &voids[0]["amount"]),
        (1, &json!(bad), &json!(0.0))
    );
    assert!(
        voids[0]["reason"].as_str().unwrap().contains("404"),
        "{}",
        voids[0]
    );

    let sum: i64 = entries
        .iter()
        .map(|entry| nanodollars(&entry["amount"]))
        .sum();
    assert_eq!(nanodollars(&bill["opening_balance"]), 0);
    assert_eq!(nanodollars(&bill["closing_balance"]), sum);
    assert_eq!(app.balance(), sum);
    let account = app.get("/v1/account").await.json();
    assert_eq!(nanodollars(&account["balance"]), sum);
    assert_eq!(
        (&account["name"], &account["id"]),
        (&json!("caller"), &bill["account"])
    );
    let shown = account["keys"][0]["key"].as_str().unwrap();
    assert!(app.key.starts_with(shown) && shown.len() < app.key.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn usage_by_day_agrees_with_the_statement() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let urls = format!("{},{}", site.url("/page"), site.url("/nowhere"));
    app.scrape(json!({"url": urls, "return_format": "text"}))
        .await;
    let bill = statement(&app, "").await;
    let entries = bill["entries"].as_array().unwrap();
    let spent: i64 = entries
        .iter()
        .filter(|entry| entry["kind"] == "post")
        .map(|entry| -nanodollars(&entry["amount"]))
        .sum();
    let usage = app.get("/account/usage").await.json();
    let days = usage["days"].as_array().unwrap();
    let sum = |field: &str| -> u64 {
        let days = days.iter().map(|day| day[field].as_u64());
        days.map(Option::unwrap).sum()
    };
    assert_eq!((sum("pages"), sum("failed_pages")), (1, 1), "{usage}");
    let costs = days
        .iter()
        .map(|day| nanodollars(&day["costs"]["total_cost"]));
    assert_eq!(costs.sum::<i64>(), spent, "{usage}");
    let day = days[0]["day"].as_str().unwrap();
    let at = entries[0]["at"].to_string();
    assert!(at.contains(day), "{at} {day}");
    let none = app.get("/account/usage?to=2001-01-01").await.json();
    assert_eq!(none, json!({"days": []}));
    assert_eq!(app.get("/account/usage?from=x").await.status, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_is_available_as_jsonl_and_csv() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    app.fine(json!({"url": site.url("/page"), "return_format": "text"}))
        .await;
    let bill = statement(&app, "").await;
    let entries = bill["entries"].as_array().unwrap();

    let lines = app
        .send(
            http::Method::GET,
            "/account/statement",
            &[("accept", "application/jsonl")],
            String::new(),
        )
        .await
        .unwrap();
    assert_eq!(
        (&lines.lines(), lines.header("content-type")),
        (entries, "application/jsonl")
    );

    let table = app.get("/account/statement?format=csv").await;
    assert_eq!(table.header("content-type"), "text/csv; charset=utf-8");
    let table = String::from_utf8(table.body).unwrap();
    let rows: Vec<Vec<&str>> = table
        .split_terminator("\r\n")
        .map(|row| row.split(',').collect())
        .collect();
    assert_eq!(rows.len(), entries.len() + 1);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{table}");
    let amount = rows[0].iter().position(|name| *name == "amount").unwrap();
    assert_eq!(rows[1][amount], "100", "{table}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_range_limits_a_statement() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    app.fine(json!({"url": site.url("/page")})).await;
    let later = statement(&app, "?from=2999-01-01").await;
    assert_eq!(nanodollars(&later["opening_balance"]), app.balance());
    assert_eq!(
        (&later["closing_balance"], &later["entries"]),
        (&later["opening_balance"], &json!([]))
    );
    let before = statement(&app, "?to=2000-01-01T00:00:00Z").await;
    assert_eq!(
        (nanodollars(&before["closing_balance"]), &before["entries"]),
        (0, &json!([]))
    );
    for (query, name) in [
        ("?from=yesterday", "from"),
        ("?to=1", "to"),
        ("?format=pdf", "format"),
        ("?limit=0", "limit"),
        ("?cursor=7", "cursor"),
    ] {
        let answer = app.get(&format!("/account/statement{query}")).await;
        assert_eq!(answer.status, 400);
        assert!(answer.error().starts_with(name), "{}", answer.error());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_can_be_read_in_pages() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    for _ in 0..3 {
        app.fine(json!({"url": site.url("/page"), "return_format": "text"}))
            .await;
    }
    let bill = statement(&app, "").await;
    let all = bill["entries"].as_array().unwrap();
    assert_eq!(bill["next_cursor"], Value::Null);
    let (mut read, mut query) = (Vec::new(), "?limit=2".to_owned());
    let mut balance = bill["opening_balance"].clone();
    loop {
        let answer = app.get(&format!("/account/statement{query}")).await;
        let page = answer.json();
        assert_eq!(
            page["opening_balance"], balance,
            "it begins where the last one ended"
        );
        balance = page["closing_balance"].clone();
        let entries = page["entries"].as_array().unwrap();
        assert!((1..=2).contains(&entries.len()), "{page}");
        read.extend(entries.clone());
        let Some(next) = page["next_cursor"].as_str() else {
            assert_eq!(answer.header("x-next-cursor"), "");
            break;
        };
        assert_eq!(answer.header("x-next-cursor"), next);
        query = format!("?limit=2&cursor={next}");
    }
    assert_eq!((&read, &balance), (all, &bill["closing_balance"]));

    let first = app.get("/account/statement?format=csv&limit=1").await;
    let table = String::from_utf8(first.body.clone()).unwrap();
    assert_eq!(table.lines().count(), 2, "{table}");
    let next = first.header("x-next-cursor");
    let rest = statement(&app, &format!("?cursor={next}")).await;
    assert_eq!(
        rest["entries"],
        json!(all[1..]),
        "without a limit it is all the rest"
    );
    assert_eq!(rest["closing_balance"], bill["closing_balance"]);
}
