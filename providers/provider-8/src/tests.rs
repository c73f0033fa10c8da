//! Runs the adapter on its cases, and checks what depends on the page function.

use trawl_sdk::provider::{Credential, Pool, WaitFor};
use trawl_sdk::testkit::{check_cases, converse, pair};

use super::actor::page_function;
use super::*;

#[test]
fn all_cases_hold() {
    check_cases::<Apify>(concat!(env!("CARGO_MANIFEST_DIR"), "/cases"));
}

fn task() -> Task {
    let task = Task::new("https://shop.example/a?b=1&c=2#d", "https://api.apify.com");
    Task {
        time_ms: 150_000,
        ..task
    }
}

#[test]
fn each_mode_has_its_actor() {
    let talk = converse::<Apify>(&task(), &[]);
    let request = talk.first();
    assert_eq!(request.method, "POST");
    assert_eq!(
        request.url,
        "https://api.apify.com/v2/actors/apify~cheerio-scraper/runs?timeout=120&maxTotalChargeUsd=0.02&waitForFinish=60"
    );
    assert_eq!(request.credentials, [Credential::Bearer(TOKEN.to_owned())]);
    let mut body = request.body_json();
    let types = body["additionalMimeTypes"].take();
    assert!(
        types
            .as_array()
            .is_some_and(|types| types.contains(&"image/png".into()))
    );
    let expected = json!({
        "startUrls": [{"url": task().url, "method": "GET", "headers": {}}],
        "keepUrlFragments": true,
        "pageFunction": page_function(&task()),
        "maxPagesPerCrawl": 1,
        "maxConcurrency": 1,
        "maxRequestRetries": 0,
        "proxyConfiguration": {"useApifyProxy": true},
        "initialCookies": [],
        "pageLoadTimeoutSecs": 60,
        "pageFunctionTimeoutSecs": 120,
        "additionalMimeTypes": null,
    });
    assert_eq!(body, expected);
}

#[test]
fn a_request_has_every_option() {
    let wished = Task {
        method: "POST".to_owned(),
        body: b"x=1".to_vec(),
        headers: vec![pair("Accept", "text/html")],
        cookies: vec![pair("a", "1")],
        javascript: true,
        wait_ms: Some(1500),
        wait_for: Some(WaitFor {
            selector: "a[href=\"x\"]".to_owned(),
            time_ms: 5000,
        }),
        script: Some("alert('a')\n`${b}`".to_owned()),
        country: Some("DE".to_owned()),
        pool: Pool::Residential,
        time_ms: 40_000,
        settings: r#"{"playwright_actor":"me/mine","memory_mb":2048,"max_charge_usd":1.5}"#
            .to_owned(),
        ..task()
    };
    let talk = converse::<Apify>(&wished, &[]);
    let url = "https://api.apify.com/v2/actors/me~mine/runs?timeout=30&memory=2048\
               &maxTotalChargeUsd=1.5&waitForFinish=30";
    assert_eq!(talk.first().url, url);
    let expected = json!({
        "startUrls": [{"url": wished.url, "method": "POST", "headers": {"Accept": "text/html"}, "payload": "x=1"}],
        "keepUrlFragments": true,
        "pageFunction": page_function(&wished),
        "maxPagesPerCrawl": 1,
        "maxConcurrency": 1,
        "maxRequestRetries": 0,
        "proxyConfiguration": {"useApifyProxy": true, "apifyProxyGroups": ["RESIDENTIAL"], "apifyProxyCountry": "DE"},
        "initialCookies": [{"name": "a", "value": "1", "domain": "shop.example", "path": "/"}],
        "pageLoadTimeoutSecs": 30,
        "pageFunctionTimeoutSecs": 30,
        "waitUntil": "load",
        "maxScrollHeightPixels": 0,
    });
    assert_eq!(talk.first().body_json(), expected);
    let binary = Task {
        body: vec![0xff],
        ..wished
    };
    assert_eq!(converse::<Apify>(&binary, &[]).class(), Class::Unsupported);
}

#[test]
fn actions_are_literals_in_the_page_function() {
    let wished = Task {
        javascript: true,
        wait_ms: Some(1500),
        wait_for: Some(WaitFor {
            selector: "a[href=\"x\"]".to_owned(),
            time_ms: 5000,
        }),
        script: Some("alert('a')\n`${b}`".to_owned()),
        ..task()
    };
    let function = page_function(&wished);
    let lines: Vec<_> = function.lines().collect();
    let expected = [
        "async function pageFunction(context) {",
        r#"  await context.page.waitForSelector("a[href=\"x\"]", { timeout: 5000 }).catch(() => null);"#,
        "  await context.page.waitForTimeout(1500);",
        r#"  await context.page.evaluate("alert('a')\n`${b}`").catch(() => null);"#,
        "  const body = context.page ? await context.page.content() : context.body;",
    ];
    assert_eq!(lines[..5], expected);
    let bare = page_function(&task());
    assert!(
        !bare.contains("/* actions */") && !bare.contains("waitFor") && !bare.contains("evaluate")
    );
}
