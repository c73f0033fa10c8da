//! Runs the adapter against recorded responses.

use trawl_sdk::provider::{Charged, Content, Credential, Pool, WaitFor};
use trawl_sdk::testkit::{converse, pair, reply};

use super::*;

fn task() -> Task {
    let settings = r#"{"zone":"web_unlocker1"}"#.to_owned();
    let task = Task::new(
        "https://shop.example/a?b=1&c=2#d",
        "https://api.brightdata.com",
    );
    Task { settings, ..task }
}

#[test]
fn the_javascript_switch_is_always_stated() {
    let talk = converse::<BrightData>(&task(), &[]);
    let request = talk.first();
    assert_eq!(
        (request.method.as_str(), request.url.as_str()),
        ("POST", "https://api.brightdata.com/request")
    );
    assert_eq!(request.credentials, [Credential::Bearer(TOKEN.to_owned())]);
    let expected = json!({
        "zone": "web_unlocker1",
        "url": "https://shop.example/a?b=1&c=2#d",
        "format": "raw",
        "method": "GET",
        "render": false,
    });
    assert_eq!(request.body_json(), expected);
}

#[test]
fn a_request_has_every_option() {
    let wished = Task {
        method: "POST".to_owned(),
        body: b"x=1".to_vec(),
        headers: vec![pair("Accept", "text/html")],
        cookies: vec![pair("a", "1"), pair("b", "2")],
        javascript: true,
        wait_for: Some(WaitFor {
            selector: "#x".to_owned(),
            time_ms: 5000,
        }),
        country: Some("DE".to_owned()),
        pool: Pool::Residential,
        ..task()
    };
    let expected = json!({
        "zone": "web_unlocker1",
        "url": wished.url,
        "format": "raw",
        "method": "POST",
        "render": true,
        "headers": { "Accept": "text/html", "Cookie": "a=1; b=2", "x-unblock-expect": r##"{"element":"#x"}"## },
        "country": "de",
        "body": "x=1",
    });
    assert_eq!(
        converse::<BrightData>(&wished, &[]).first().body_json(),
        expected
    );
    let binary = Task {
        body: vec![0xff],
        ..wished
    };
    assert_eq!(
        converse::<BrightData>(&binary, &[]).class(),
        Class::Unsupported
    );
    let no_zone = Task {
        settings: "{}".to_owned(),
        ..binary
    };
    assert_eq!(
        converse::<BrightData>(&no_zone, &[]).class(),
        Class::Unsupported
    );
    let unknown = Task {
        settings: r#"{"zones":1}"#.to_owned(),
        ..task()
    };
    assert_eq!(
        converse::<BrightData>(&unknown, &[]).class(),
        Class::Unsupported
    );
}

#[test]
fn a_zone_is_looked_up() {
    let task = Task {
        settings: "{}".to_owned(),
        ..task()
    };
    let check =
        |zones: &'static str| converse::<BrightData>(&task, &[reply(200, &[], zones.as_bytes())]);
    let talk = check(r#"[{"name":"isp","type":"isp"},{"name":"mine","type":"unblocker"}]"#);
    assert_eq!(talk.first().method, "GET");
    assert_eq!(
        talk.first().url,
        "https://api.brightdata.com/zone/get_active_zones"
    );
    assert_eq!(
        talk.first().credentials,
        [Credential::Bearer(TOKEN.to_owned())]
    );
    assert_eq!(talk.requests()[1].body_json()["zone"], "mine");
    assert_eq!(check("[]").class(), Class::BadKey);
    assert!(check("[]").failure().message.contains("no active zone"));
    assert_eq!(check("{}").class(), Class::Drift);
    let refused = converse::<BrightData>(&task, &[reply(401, &[], b"".as_slice())]);
    assert_eq!(refused.class(), Class::BadKey);
}

#[test]
fn the_body_is_the_page_and_headers_are_metadata() {
    let answered = [reply(
        200,
        &[
            ("x-brd-status-code", "404"),
            ("x-brd-debug", "x"),
            ("Connection", "keep-alive"),
            ("Content-Type", "text/html"),
            ("Set-Cookie", "a=b; Path=/"),
        ],
        b"gone".as_slice(),
    )];
    let talk = converse::<BrightData>(&task(), &answered);
    let page = talk.page();
    assert_eq!((page.status, &page.content), (Some(404), &Content::Reply));
    assert_eq!((&page.url, page.rendered), (&None, None));
    assert_eq!(page.cookies, [pair("a", "b")]);
    let headers = [
        pair("content-type", "text/html"),
        pair("set-cookie", "a=b; Path=/"),
    ];
    assert_eq!(page.headers.as_deref(), Some(headers.as_slice()));
    assert_eq!(page.cost, Cost::listed(REQUEST));
    let rendered = Task {
        javascript: true,
        ..task()
    };
    assert_eq!(
        converse::<BrightData>(&rendered, &answered).page().rendered,
        Some(true)
    );
}

#[test]
fn failures_of_the_target_have_their_classes() {
    let check = |code: &str, words: &str, class: Class, status: Option<u16>| {
        let facts = [
            ("x-brd-status-code", "502"),
            ("x-brd-error-code", code),
            ("x-brd-error", words),
        ];
        let answered = [reply(200, &facts, b"".as_slice())];
        let talk = converse::<BrightData>(&task(), &answered);
        assert_eq!(talk.class(), class, "{code} {words}");
        assert_eq!(
            (talk.failure().code.as_deref(), talk.failure().target_status),
            (Some(code), status)
        );
        assert_eq!(talk.failure().cost.charged, Charged::No);
        let headers = vec![pair("Accept", "text/html")];
        let talk = converse::<BrightData>(&Task { headers, ..task() }, &answered);
        assert_eq!(talk.failure().cost, Cost::listed(REQUEST));
    };
    check(
        "http_status",
        "Target returned 429",
        Class::TargetBlocked,
        Some(429),
    );
    check(
        "http_status",
        "bad status: 403",
        Class::TargetBlocked,
        Some(403),
    );
    check(
        "http_status",
        "bad status: 500",
        Class::TargetFailed,
        Some(500),
    );
    check(
        "proxy_error",
        "Could not resolve host",
        Class::TargetUnreachable,
        None,
    );
    check(
        "proxy_error",
        "connection reset",
        Class::ProviderError,
        None,
    );
    check("reject_block", "", Class::TargetBlocked, None);
    check("captcha_failed", "", Class::TargetBlocked, None);
    check("navigation_timeout", "", Class::ProviderTimeout, None);
    check("proxy_timeout", "", Class::ProviderTimeout, None);
    check("resolve_failed_1", "", Class::TargetUnreachable, None);
    check("unheard_of", "", Class::ProviderError, None);
    let older = [("x-brd-err-code", "reject_block"), ("x-brd-err-msg", "no")];
    let talk = converse::<BrightData>(&task(), &[reply(502, &older, b"".as_slice())]);
    assert_eq!(talk.class(), Class::TargetBlocked);
}

#[test]
fn failures_of_the_vendor_have_their_classes() {
    let check = |status: u16, body: &'static str, expected: Class| {
        let answered = reply(status, &[("Retry-After", "7")], body.as_bytes());
        let talk = converse::<BrightData>(&task(), &[answered]);
        assert_eq!(talk.class(), expected, "{status} {body}");
        assert_eq!(talk.failure().retry_after, Some(7));
        assert_eq!(talk.failure().cost.charged, Charged::No);
    };
    check(400, "url is not valid", Class::BadRequest);
    check(400, "Zone not found", Class::BadKey);
    check(
        400,
        r#"{"error":"\"url\" is not allowed in this zone","error_code":"validation"}"#,
        Class::BadRequest,
    );
    check(401, "", Class::BadKey);
    check(402, "", Class::NoCredit);
    check(403, "", Class::BadKey);
    check(429, "", Class::RateLimited);
    check(404, "", Class::BadRequest);
    check(408, "", Class::ProviderTimeout);
    check(503, "", Class::ProviderError);
    check(504, "", Class::ProviderTimeout);
    check(200, "no facts", Class::Drift);
}

#[test]
fn the_vendors_code_decides_before_the_status() {
    let check = |status: u16, code: &str, expected: Class, retryable: Option<bool>| {
        let own = [("x-brd-err-code", code), ("x-brd-err-msg", "the words")];
        let standard = format!(
            "brd.brightdata.io; received-status=403; error=http_request_denied; details=\"{}: the words\"",
            code.replace('_', "-")
        );
        let standard = [("proxy-status", standard.as_str())];
        for facts in [own.as_slice(), standard.as_slice()] {
            let headers = vec![pair("Accept", "text/html")];
            let answered = reply(status, facts, b"".as_slice());
            let talk = converse::<BrightData>(&Task { headers, ..task() }, &[answered]);
            let failure = talk.failure();
            assert_eq!(failure.class, expected, "{status} {facts:?}");
            assert_eq!(failure.retryable, retryable, "{status} {facts:?}");
            assert_eq!(failure.code.as_deref(), Some(code));
            let message = format!("responded with status {status}: the words");
            assert_eq!(failure.message, message);
            // The target was not contacted.
            assert_eq!(failure.cost.charged, Charged::No);
        }
    };
    for status in [200, 403, 502] {
        check(status, "policy_20050", Class::TargetBlocked, Some(false));
    }
    check(502, "client_10100", Class::NoCredit, None);
    check(429, "client_10100", Class::NoCredit, None);
    check(407, "client_10020", Class::NoCredit, None);
    check(407, "client_10000", Class::BadKey, None);
    check(407, "client_10002", Class::BadKey, None);
}

#[test]
fn an_error_in_proxy_status_alone_is_no_page() {
    let page = |status: &str| {
        let facts = [("x-brd-status-code", "403"), ("Proxy-Status", status)];
        converse::<BrightData>(&task(), &[reply(200, &facts, b"".as_slice())])
    };
    let refused = page(
        "brd.brightdata.io; error=destination_ip_prohibited; details=\"policy_20050: Forbidden\"",
    );
    assert_eq!(refused.class(), Class::TargetBlocked);
    assert_eq!(refused.failure().cost.charged, Charged::No);
    let unnamed = page("brd.brightdata.io; error=dns_error");
    assert_eq!(unnamed.class(), Class::TargetUnreachable);
    assert_eq!(unnamed.failure().code.as_deref(), Some("dns_error"));
    // The target has proxies too, and a status that was received is no error.
    let of_target = page("cdn.shop.example; error=http_request_denied");
    assert_eq!(of_target.page().status, Some(403));
    assert_eq!(of_target.page().headers.as_ref().map(Vec::len), Some(1));
    let received = page("brd.brightdata.io; received-status=403");
    assert_eq!(received.page().headers.as_deref(), Some([].as_slice()));
}

#[test]
fn headers_explain_a_rejected_request() {
    let facts = [("x-brd-error", "zone not found")];
    let talk = converse::<BrightData>(&task(), &[reply(400, &facts, b"".as_slice())]);
    assert_eq!(talk.class(), Class::BadKey);
    let message = &talk.failure().message;
    assert_eq!(message, "responded with status 400: zone not found");
    let talk = converse::<BrightData>(&task(), &[reply(407, &[], b"".as_slice())]);
    assert_eq!(talk.class(), Class::BadKey);
}
