use trawl_sdk::provider::{Charged, Content, Credential, Pool, WaitFor, resume, start};
use trawl_sdk::testkit::{converse, pair, reply};

use super::input::page_function;
use super::*;

const RUN: &str = "https://api.apify.com/v2/actor-runs/r1";

fn task() -> Task {
    let task = Task::new("https://shop.example/a?b=1&c=2#d", "https://api.apify.com");
    Task {
        time_ms: 150_000,
        ..task
    }
}

fn run(status: &str, usd: Value) -> Reply<'static> {
    let data =
        json!({"id": "r1", "status": status, "defaultDatasetId": "d1", "usageTotalUsd": usd});
    reply(200, &[], json!({"data": data}).to_string().into_bytes())
}

fn items(items: Value) -> Reply<'static> {
    reply(200, &[], items.to_string().into_bytes())
}

/// Responses before the dataset items.
fn succeeded(last: Reply<'static>) -> [Reply<'static>; 3] {
    [
        run("SUCCEEDED", Value::Null),
        run("SUCCEEDED", json!(0.000_456)),
        last,
    ]
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

#[test]
fn a_conversation_waits_then_reads_the_cost_then_the_page() {
    let page = json!([{
        "url": "https://shop.example/gone",
        "status": 404,
        "headers": {"content-type": "text/html", "set-cookie": ["a=b; Path=/", "c=d"]},
        "body": "Z29uZQ==",
        "encoding": "base64",
        "#error": false,
        "#debug": {"statusCode": 404},
    }]);
    let slow = Reply {
        elapsed_ms: 60_500,
        ..run("RUNNING", Value::Null)
    };
    let last = [
        run("SUCCEEDED", json!(0.0001)),
        run("SUCCEEDED", json!(0.000_456)),
        items(page),
    ];
    let replies: Vec<_> = [slow.clone(), slow].into_iter().chain(last).collect();
    let talk = converse::<Apify>(&task(), &replies);
    let sent: Vec<_> = talk.requests()[1..]
        .iter()
        .map(|sent| (sent.method.as_str(), sent.url.as_str()))
        .collect();
    let expected = [
        (
            "GET",
            "https://api.apify.com/v2/actor-runs/r1?waitForFinish=60",
        ),
        (
            "GET",
            "https://api.apify.com/v2/actor-runs/r1?waitForFinish=19",
        ),
        ("GET", RUN),
        ("GET", "https://api.apify.com/v2/datasets/d1/items"),
    ];
    assert_eq!(sent, expected);
    let bearer = [Credential::Bearer(TOKEN.to_owned())];
    assert!(
        talk.requests()
            .iter()
            .all(|sent| sent.credentials == bearer)
    );
    let page = talk.page();
    assert_eq!(
        (page.status, &page.content),
        (Some(404), &Content::Bytes(b"gone".to_vec()))
    );
    assert_eq!(page.url.as_deref(), Some("https://shop.example/gone"));
    assert_eq!(page.cookies, [pair("a", "b"), pair("c", "d")]);
    assert_eq!(page.headers.as_ref().map(Vec::len), Some(3));
    assert_eq!(
        (page.request_id.as_deref(), page.rendered),
        (Some("r1"), Some(false))
    );
    assert_eq!(Some(&page.cost), Cost::reported(USD, "0.000456").as_ref());
}

#[test]
fn a_cost_that_is_not_reported_is_unknown() {
    let page = json!([{"status": 200, "headers": null, "body": "hi", "encoding": "text"}]);
    let replies = [
        run("SUCCEEDED", Value::Null),
        run("SUCCEEDED", Value::Null),
        items(page),
    ];
    let talk = converse::<Apify>(&task(), &replies);
    assert_eq!(talk.page().content, Content::Text("hi".to_owned()));
    assert_eq!(
        (&talk.page().headers, talk.page().cost.charged),
        (&None, Charged::Unknown)
    );
}

#[test]
fn a_run_is_aborted_when_the_conversation_is_cancelled() {
    let sent = |step: Step| match step {
        Step::Send(exchange) => *exchange,
        other => panic!("expected a request, got {other:?}"),
    };
    let mut exchange = sent(start::<Apify>(&task()));
    assert_eq!(exchange.on_cancel, None);
    let statuses = ["READY", "RUNNING", "SUCCEEDED", "SUCCEEDED"];
    for status in statuses {
        exchange = sent(resume::<Apify>(
            &task(),
            &exchange.memo,
            &run(status, json!(0.00001)),
        ));
        let abort = exchange.on_cancel.expect("an end for the run");
        assert_eq!(
            (abort.method.as_str(), abort.url.as_str()),
            ("POST", format!("{RUN}/abort").as_str())
        );
        assert_eq!(abort.credentials, [Credential::Bearer(TOKEN.to_owned())]);
    }
    let memo: Value = serde_json::from_slice(&exchange.memo).expect("JSON");
    assert_eq!(
        (&memo["run"], &memo["phase"]),
        (
            &json!("r1"),
            &json!({"ended": {"dataset": "d1", "usd": "0.00001"}})
        )
    );
}

#[test]
fn a_request_that_the_vendor_fails_is_sent_again() {
    let failing = |status: u16| reply(status, &[("Retry-After", "3")], b"oops".as_slice());
    let page = json!([{"status": 200, "body": "hi", "encoding": "text"}]);
    let replies = [
        run("READY", Value::Null),
        failing(500),
        run("SUCCEEDED", Value::Null),
        failing(429),
        run("SUCCEEDED", json!(0.01)),
        reply(502, &[], b"<html>".as_slice()),
        items(page),
    ];
    let talk = converse::<Apify>(&task(), &replies);
    assert_eq!(talk.page().content, Content::Text("hi".to_owned()));
    let sent: Vec<_> = talk.exchanges.iter().collect();
    assert!(
        sent[1..]
            .iter()
            .all(|sent| sent.request.method == "GET" && sent.on_cancel.is_some())
    );
    let at = |index: usize| sent[index].request.url.split('?').next();
    for (first, delay_ms) in [(1, 3_000), (3, 3_000), (5, 4_000)] {
        assert_eq!(at(first), at(first + 1));
        assert_eq!(sent[first].delay_ms, 0);
        assert_eq!(sent[first + 1].delay_ms, delay_ms);
    }
}

#[test]
fn the_number_of_repetitions_is_limited() {
    let failing = || reply(503, &[], b"oops".as_slice());
    let mut replies = vec![run("READY", Value::Null)];
    replies.extend((0..=MISSES_MAX).map(|_| failing()));
    let talk = converse::<Apify>(&task(), &replies);
    assert_eq!(
        (talk.class(), talk.failure().cost.charged),
        (Class::ProviderError, Charged::Unknown)
    );
    // The start of a run is not repeated here: nothing runs yet.
    let talk = converse::<Apify>(&task(), &[failing()]);
    assert_eq!(
        (talk.class(), talk.failure().cost.charged),
        (Class::ProviderError, Charged::No)
    );
}

#[test]
fn ends_of_a_run_have_their_classes() {
    let check = |status: &str, usd: Value, expected: Class, charged: Charged| {
        for replies in [
            vec![run(status, usd.clone())],
            vec![run("READY", Value::Null), run(status, usd)],
        ] {
            let talk = converse::<Apify>(&task(), &replies);
            assert_eq!(
                (talk.class(), talk.failure().cost.charged),
                (expected, charged),
                "{status}"
            );
            assert_eq!(
                (
                    talk.failure().code.as_deref(),
                    talk.failure().request_id.as_deref()
                ),
                (Some(status), Some("r1"))
            );
        }
    };
    check(
        "TIMED-OUT",
        json!(0.01),
        Class::ProviderTimeout,
        Charged::Yes,
    );
    check("FAILED", json!(0.01), Class::ProviderError, Charged::Yes);
    check(
        "ABORTED",
        Value::Null,
        Class::ProviderError,
        Charged::Unknown,
    );
}

#[test]
fn errors_of_the_actor_have_their_classes() {
    let check = |words: &str, code: Option<u16>, expected: Class, status: Option<u16>| {
        let debug = json!({"statusCode": code, "errorMessages": [words], "retryCount": 0});
        let talk = converse::<Apify>(
            &task(),
            &succeeded(items(json!([{"#error": true, "#debug": debug}]))),
        );
        assert_eq!(
            (talk.class(), talk.failure().target_status),
            (expected, status),
            "{words}"
        );
        assert_eq!(
            (
                talk.failure().cost.charged,
                talk.failure().request_id.as_deref()
            ),
            (Charged::Yes, Some("r1"))
        );
    };
    check(
        "Request blocked - received 403 status code.",
        None,
        Class::TargetBlocked,
        Some(403),
    );
    check(
        "Request blocked - received 429 status code.",
        Some(429),
        Class::TargetBlocked,
        Some(429),
    );
    check(
        "Request blocked",
        Some(401),
        Class::TargetBlocked,
        Some(401),
    );
    check(
        "503 - Service Unavailable",
        None,
        Class::TargetFailed,
        Some(503),
    );
    check(
        "getaddrinfo ENOTFOUND shop.example",
        None,
        Class::TargetUnreachable,
        None,
    );
    check(
        "connect ECONNREFUSED 127.0.0.1:443",
        None,
        Class::TargetUnreachable,
        None,
    );
    for words in [
        "Navigation timed out after 500 ms",
        "page.goto: Timeout 60000ms exceeded.",
        "Navigation timeout of 30000 ms exceeded",
        "Timeout awaiting 'request' for 60000ms",
        "page.goto: net::ERR_CONNECTION_TIMED_OUT at https://shop.example/",
        "page.goto: net::ERR_TIMED_OUT at https://shop.example/",
        "connect ETIMEDOUT 192.0.2.1:443",
    ] {
        check(words, None, Class::TargetUnreachable, None);
    }
    check(
        "Resource served Content-Type image/x, but only text/html is allowed",
        None,
        Class::BadRequest,
        None,
    );
    check("the page function broke", None, Class::ProviderError, None);
}

#[test]
fn failures_of_the_vendor_have_their_classes() {
    let check = |status: u16, body: &'static str, expected: Class, code: Option<&str>| {
        let refused = reply(status, &[("Retry-After", "7")], body.as_bytes());
        let talk = converse::<Apify>(&task(), std::slice::from_ref(&refused));
        assert_eq!(
            (talk.class(), talk.failure().code.as_deref()),
            (expected, code),
            "{status}"
        );
        assert_eq!(
            (talk.failure().retry_after, talk.failure().cost.charged),
            (Some(7).filter(|_| expected != Class::Drift), Charged::No)
        );
        // After the start of a run its cost is charged, reported or not.
        let n_times = match status {
            408 | 429 | 500..=599 => usize::try_from(MISSES_MAX + 1).expect("a small number"),
            _ => 1,
        };
        for (n_before, charged) in [(1, Charged::Unknown), (3, Charged::Yes)] {
            let before = [
                run("READY", Value::Null),
                run("SUCCEEDED", Value::Null),
                run("SUCCEEDED", json!(0.01)),
            ];
            let replies: Vec<_> = before
                .into_iter()
                .take(n_before)
                .chain(std::iter::repeat_n(refused.clone(), n_times))
                .collect();
            let talk = converse::<Apify>(&task(), &replies);
            assert_eq!(
                (talk.class(), talk.failure().cost.charged),
                (expected, charged),
                "{status} after {n_before}"
            );
            assert_eq!(talk.failure().request_id.as_deref(), Some("r1"));
        }
    };
    check(
        400,
        r#"{"error":{"type":"invalid-input","message":"no"}}"#,
        Class::BadRequest,
        Some("invalid-input"),
    );
    check(
        401,
        r#"{"error":{"type":"token-not-provided","message":"no"}}"#,
        Class::BadKey,
        Some("token-not-provided"),
    );
    check(
        402,
        r#"{"error":{"type":"not-enough-usage","message":"no"}}"#,
        Class::NoCredit,
        Some("not-enough-usage"),
    );
    check(403, "", Class::BadKey, None);
    check(
        403,
        r#"{"error":{"type":"platform-feature-disabled","message":"no"}}"#,
        Class::NoCredit,
        Some("platform-feature-disabled"),
    );
    check(
        403,
        r#"{"error":{"type":"other","message":"Monthly usage hard limit exceeded"}}"#,
        Class::NoCredit,
        Some("other"),
    );
    check(
        404,
        r#"{"error":{"type":"record-not-found","message":"no"}}"#,
        Class::BadRequest,
        Some("record-not-found"),
    );
    check(
        408,
        r#"{"error":{"type":"run-timeout-exceeded","message":"no"}}"#,
        Class::ProviderTimeout,
        Some("run-timeout-exceeded"),
    );
    check(
        429,
        r#"{"error":{"type":"rate-limit-exceeded","message":"no"}}"#,
        Class::RateLimited,
        Some("rate-limit-exceeded"),
    );
    check(405, "", Class::BadRequest, None);
    check(500, "oops", Class::ProviderError, None);
    check(504, "", Class::ProviderTimeout, None);
    check(200, "<html>", Class::Drift, None);
    let none = converse::<Apify>(&task(), &succeeded(items(json!([]))));
    assert_eq!(
        (none.class(), none.failure().cost.charged),
        (Class::Drift, Charged::Yes)
    );
    let bare = converse::<Apify>(&task(), &succeeded(items(json!([{"status": 200}]))));
    assert_eq!(bare.class(), Class::Drift);
}
