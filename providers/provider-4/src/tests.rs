//! Runs the adapter against recorded responses.

use serde_json::json;
use trawl_sdk::provider::{Charged, Content, Credential, Pool, WaitFor};
use trawl_sdk::testkit::{converse, pair, reply};

use super::*;

fn task() -> Task {
    Task::new(
        "https://shop.example/a?b=1&c=2#d",
        "https://api.scrapfly.io",
    )
}

fn scraped(format: &str, content: &str) -> Value {
    json!({
        "uuid": "u1",
        "context": {"cost": {"total": 6}},
        "result": {
            "success": true, "status_code": 200, "url": "https://shop.example/b",
            "format": format, "content": content,
            "response_headers": {"content-type": "text/html", "vary": ["a", "b"]},
            "cookies": [{"name": "n", "value": "v", "path": "/"}],
            "error": null,
        },
    })
}

fn answered(status: u16, body: &Value) -> Reply<'static> {
    reply(status, &[], body.to_string().into_bytes())
}

fn check_facts(page: &Page) {
    assert_eq!(page.status, Some(200));
    assert_eq!(page.url.as_deref(), Some("https://shop.example/b"));
    let headers = [
        pair("content-type", "text/html"),
        pair("vary", "a"),
        pair("vary", "b"),
    ];
    assert_eq!(page.headers.as_deref(), Some(headers.as_slice()));
    assert_eq!(page.cookies, [pair("n", "v")]);
    assert_eq!(page.request_id.as_deref(), Some("u1"));
    assert_eq!(page.cost, Cost::reported(CREDIT, "6").expect("a number"));
}

#[test]
fn a_minimal_request_states_its_switches() {
    let talk = converse::<Scrapfly>(&task(), &[]);
    let request = talk.first();
    assert_eq!(
        request.url,
        "https://api.scrapfly.io/scrape?url=https%3A%2F%2Fshop.example%2Fa%3Fb%3D1%26c%3D2%23d\
         &render_js=false&cache=false&retry=false&timeout=55000&asp=true&cost_budget=100\
         &proxy_pool=public_datacenter_pool"
    );
    let key = Credential::Query("key".to_owned(), KEY.to_owned());
    assert_eq!(request.credentials, [key]);
    assert_eq!((request.method.as_str(), request.headers.len()), ("GET", 0));
}

#[test]
fn the_bypass_of_protection_is_a_setting() {
    let check = |settings: &str, timeout: &str, asp: Option<&str>, budget: Option<&str>| {
        let task = Task {
            settings: settings.to_owned(),
            time_ms: 10_000,
            ..task()
        };
        let talk = converse::<Scrapfly>(&task, &[]);
        let value = |name: &str| talk.first().query_value(name);
        assert_eq!(value("timeout").as_deref(), Some(timeout), "{settings}");
        assert_eq!(value("asp").as_deref(), asp, "{settings}");
        assert_eq!(value("cost_budget").as_deref(), budget, "{settings}");
    };
    check("{}", "30000", Some("true"), Some("100"));
    check(r#"{"cost_budget":60}"#, "30000", Some("true"), Some("60"));
    check(r#"{"asp":false}"#, "15000", None, None);
}

#[test]
fn a_request_has_every_option() {
    let task = Task {
        method: "POST".to_owned(),
        body: b"x=1".to_vec(),
        headers: vec![pair("Accept", "a/b"), pair("Cookie", "no=no")],
        cookies: vec![pair("n", "v"), pair("m", "w")],
        javascript: true,
        wait_ms: Some(1_500),
        wait_for: Some(WaitFor {
            selector: "#x".to_owned(),
            time_ms: 5_000,
        }),
        script: Some("go(\"?\")".to_owned()),
        country: Some("US".to_owned()),
        pool: Pool::Residential,
        time_ms: 600_000,
        ..task()
    };
    let talk = converse::<Scrapfly>(&task, &[]);
    let request = talk.first();
    let check = |name: &str, value: &str| {
        assert_eq!(request.query_value(name).as_deref(), Some(value), "{name}");
    };
    check("url", &task.url);
    check("render_js", "true");
    check("rendering_stage", "complete");
    check("rendering_wait", "1500");
    check("wait_for_selector", "#x");
    check("js", &base64_url("go(\"?\")"));
    check("headers[Accept]", "a/b");
    check("headers[cookie]", "n=v; m=w");
    check("country", "us");
    check("proxy_pool", "public_residential_pool");
    check("timeout", "155000");
    assert_eq!(request.query_value("headers[Cookie]"), None);
    assert_eq!(
        (request.method.as_str(), request.body.as_slice()),
        ("POST", b"x=1".as_slice())
    );
}

#[test]
fn a_page_has_its_metadata() {
    let talk = converse::<Scrapfly>(&task(), &[answered(200, &scraped("text", "<p>"))]);
    check_facts(talk.page());
    assert_eq!(talk.page().content, Content::Text("<p>".to_owned()));
    let talk = converse::<Scrapfly>(&task(), &[answered(200, &scraped("binary", "AP8="))]);
    check_facts(talk.page());
    assert_eq!(talk.page().content, Content::Bytes(vec![0, 255]));
}

#[test]
fn a_large_page_is_fetched_from_its_url() {
    for format in ["clob", "blob"] {
        let first = answered(200, &scraped(format, "https://api.scrapfly.io/large/1"));
        let second = reply(200, &[], b"large".as_slice());
        let talk = converse::<Scrapfly>(&task(), &[first, second]);
        check_facts(talk.page());
        assert_eq!(talk.page().content, Content::Reply);
        assert_eq!(talk.requests()[1].method, "GET");
        assert_eq!(talk.requests()[1].url, "https://api.scrapfly.io/large/1");
        assert_eq!(
            talk.requests()[1].credentials,
            talk.requests()[0].credentials
        );
    }
}

#[test]
fn a_large_page_that_is_not_delivered_is_charged() {
    let check = |status: u16, expected: Class| {
        let first = answered(200, &scraped("clob", "https://api.scrapfly.io/large/1"));
        let talk = converse::<Scrapfly>(&task(), &[first, reply(status, &[], b"".as_slice())]);
        assert_eq!(talk.class(), expected, "{status}");
        assert_eq!(talk.failure().target_status, Some(200));
        assert_eq!(talk.failure().cost.charged, Charged::Yes);
    };
    check(401, Class::BadKey);
    check(429, Class::RateLimited);
    check(504, Class::ProviderTimeout);
    check(404, Class::ProviderError);
}

#[test]
fn a_bad_answer_of_the_target_is_a_page() {
    let mut body = scraped("text", "gone");
    body["context"]["cost"]["total"] = json!(0);
    body["result"]["success"] = json!(false);
    body["result"]["status_code"] = json!(503);
    body["result"]["error"] =
        json!({"code": BAD_UPSTREAM_RESPONSE, "http_code": 503, "message": "bad"});
    let talk = converse::<Scrapfly>(&task(), &[answered(200, &body)]);
    assert_eq!(talk.page().status, Some(503));
    assert_eq!(talk.page().cost.charged, Charged::No);
}

#[test]
fn failures_of_a_scrape_have_their_classes() {
    let check = |status: u16, code: &str, words: &str, expected: Class| {
        let body = json!({
            "uuid": "u1",
            "context": {"cost": {"total": 0}},
            "result": {
                "success": false, "status_code": 0, "format": null, "content": null,
                "error": {"code": code, "message": words, "retryable": true},
            },
        });
        let answered = reply(
            status,
            &[("retry-after", "5")],
            body.to_string().into_bytes(),
        );
        let talk = converse::<Scrapfly>(&task(), &[answered]);
        let failure = talk.failure();
        assert_eq!(failure.class, expected, "{status} {code}");
        assert_eq!(
            failure.message,
            format!("responded with status {status}: {words}")
        );
        assert_eq!(failure.code.as_deref(), Some(code));
        assert_eq!(
            (failure.retryable, failure.retry_after),
            (Some(true), Some(5))
        );
        assert_eq!(failure.target_status, None);
        assert_eq!(failure.request_id.as_deref(), Some("u1"));
        assert_eq!(failure.cost.charged, Charged::No);
    };
    let config = "ERR::SCRAPE::CONFIG_ERROR";
    check(400, config, "wrong", Class::BadRequest);
    check(400, config, "Invalid hostname", Class::TargetUnreachable);
    check(
        422,
        "ERR::SCRAPE::NETWORK_ERROR",
        "w",
        Class::TargetUnreachable,
    );
    check(
        422,
        "ERR::SCRAPE::DNS_NAME_NOT_RESOLVED",
        "w",
        Class::TargetUnreachable,
    );
    check(422, "ERR::SCRAPE::OTHER", "w", Class::TargetFailed);
    check(422, "ERR::ASP::SHIELD_ERROR", "w", Class::TargetBlocked);
    check(200, "ERR::ASP::SHIELD_ERROR", "w", Class::TargetBlocked);
    check(
        422,
        "ERR::PROXY::POOL_NOT_AVAILABLE",
        "w",
        Class::ProviderError,
    );
    check(
        429,
        "ERR::SCRAPE::QUOTA_LIMIT_REACHED",
        "w",
        Class::NoCredit,
    );
    check(
        429,
        "ERR::THROTTLE::PROJECT_QUOTA_LIMIT_REACHED",
        "w",
        Class::NoCredit,
    );
    check(429, "PROJECT_QUOTA_LIMIT_REACHED", "w", Class::NoCredit);
    check(
        422,
        "ERR::SCRAPE::UPSTREAM_TIMEOUT",
        "w",
        Class::TargetUnreachable,
    );
    check(
        422,
        "ERR::SCRAPE::COST_BUDGET_LIMIT",
        "w",
        Class::TargetBlocked,
    );
    check(
        429,
        "ERR::THROTTLE::MAX_API_CREDIT_BUDGET_EXCEEDED",
        "w",
        Class::NoCredit,
    );
    check(
        429,
        "ERR::THROTTLE::MAX_REQUEST_RATE_EXCEEDED",
        "w",
        Class::RateLimited,
    );
    check(
        429,
        "ERR::THROTTLE::MAX_CONCURRENT_REQUEST_EXCEEDED",
        "w",
        Class::RateLimited,
    );
    check(
        422,
        "ERR::SCRAPE::OPERATION_TIMEOUT",
        "w",
        Class::ProviderTimeout,
    );
    check(500, "ERR::API::INTERNAL_ERROR", "w", Class::ProviderError);
}

#[test]
fn failures_without_a_result_have_their_classes() {
    let check = |status: u16, body: &Value, expected: Class| {
        let talk = converse::<Scrapfly>(&task(), &[answered(status, body)]);
        assert_eq!(talk.class(), expected, "{status} {body}");
        assert_eq!(talk.failure().cost, Cost::free());
    };
    let error = json!({"status": "error", "http_code": 0, "error_id": "e1", "message": "w"});
    check(401, &error, Class::BadKey);
    check(402, &error, Class::NoCredit);
    check(403, &error, Class::BadKey);
    check(429, &error, Class::RateLimited);
    check(500, &error, Class::ProviderError);
    check(404, &error, Class::BadRequest);
    check(408, &error, Class::ProviderTimeout);
    check(504, &json!(null), Class::ProviderTimeout);
    check(524, &json!(null), Class::ProviderTimeout);
    let short = json!({"code": "ERR::SCRAPE::QUOTA_LIMIT_REACHED", "message": "w"});
    check(429, &short, Class::NoCredit);
    let talk = converse::<Scrapfly>(&task(), &[answered(401, &error)]);
    assert_eq!(talk.failure().request_id.as_deref(), Some("e1"));
}

#[test]
fn metadata_missing_in_the_body_is_read_from_headers() {
    let headers = [
        ("X-Scrapfly-Reject-Code", "ERR::ASP::SHIELD_ERROR"),
        ("X-Scrapfly-Reject-Retryable", "false"),
        ("X-Scrapfly-Api-Cost", "3"),
    ];
    let talk = converse::<Scrapfly>(&task(), &[reply(422, &headers, b"".as_slice())]);
    let failure = talk.failure();
    assert_eq!(
        (failure.class, failure.retryable),
        (Class::TargetBlocked, Some(false))
    );
    assert_eq!(failure.cost, Cost::reported(CREDIT, "3").expect("a number"));
}

#[test]
fn a_reply_of_another_shape_is_drift() {
    let check = |body: &Value| {
        let talk = converse::<Scrapfly>(&task(), &[answered(200, body)]);
        assert_eq!(talk.class(), Class::Drift, "{body}");
    };
    check(&json!(null));
    check(&json!({}));
    check(&json!({"result": {"success": true}}));
    check(&scraped("other", "x"));
    check(&scraped("binary", "?"));
    check(&scraped("clob", "/large/1"));
}
