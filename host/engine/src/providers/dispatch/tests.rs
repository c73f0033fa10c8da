use serde_json::Value;

use trawl_plugins::PriceTable;

use super::*;

fn grant() -> Grant {
    Grant {
        hosts: vec!["api.acme.example".to_owned()],
        credentials: vec!["ACME_KEY".to_owned(), "ACME_USER".to_owned()],
        base: "https://api.acme.example".to_owned(),
        pooled: false,
        time_max: std::time::Duration::from_secs(1),
        settings: Value::Null,
        prices: PriceTable::default(),
    }
}

fn keys() -> Keys {
    let pair = |name: &str, value: &str| (name.to_owned(), Secret::new(value));
    Keys::from_iter([
        pair("ACME_KEY", "canary/key+1=2"),
        pair("ACME_USER", "canary-user"),
        pair("OTHER_KEY", "canary-other"),
    ])
}

fn prepared(request: Request) -> Result<reqwest::Request, String> {
    prepare(&request, &task(), &grant(), &keys()).map_err(|refused| {
        assert!(matches!(refused, Refused::Adapter(_)), "{refused:?}");
        refused.to_string()
    })
}

fn task() -> Task {
    Task::new("https://a.example/", "https://api.acme.example")
}

const AT: &str = "https://api.acme.example/v1?url=https%3A%2F%2Fa.example";

#[test]
fn credentials_go_where_they_are_marked() {
    let header = |request: Request, name: &str| {
        let request = prepared(request).expect("allowed");
        let value = request.headers()[name].clone();
        assert!(value.is_sensitive() && !format!("{request:?}").contains("canary"));
        value.to_str().expect("text").to_owned()
    };
    let request = prepared(Request::get(AT).secret_query("key", "ACME_KEY")).expect("allowed");
    assert_eq!(
        request.url().as_str(),
        format!("{AT}&key=canary%2Fkey%2B1%3D2")
    );
    assert_eq!(
        header(Request::get(AT).bearer("ACME_KEY"), "authorization"),
        "Bearer canary/key+1=2"
    );
    assert_eq!(
        header(Request::get(AT).secret_header("X-Key", "ACME_KEY"), "x-key"),
        "canary/key+1=2"
    );
    let basic = Request::post(AT).basic(Some("ACME_USER"), Some("ACME_KEY"));
    let expected = STANDARD.encode("canary-user:canary/key+1=2");
    assert_eq!(header(basic, "authorization"), format!("Basic {expected}"));
    let alone = Request::post(AT).basic(Some("ACME_KEY"), None);
    let expected = STANDARD.encode("canary/key+1=2:");
    assert_eq!(header(alone, "authorization"), format!("Basic {expected}"));
}

#[test]
fn a_request_has_our_user_agent_unless_the_target_would_see_it() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let agent = |request: Request, task: &Task| {
        let sent = prepare(&request, task, &grant(), &keys()).expect("allowed");
        let agent = sent.headers().get(USER_AGENT);
        agent.map(|agent| agent.to_str().expect("text").to_owned())
    };
    let own = Some(format!("Trawl/{}", env!("CARGO_PKG_VERSION")));
    assert_eq!(agent(Request::get(AT), &task()), own);
    let asked = Task {
        headers: vec![pair("X-One", "1"), pair("Content-Type", "a/b")],
        cookies: vec![pair("n", "v")],
        ..task()
    };
    assert_eq!(agent(Request::get(AT), &asked), own);
    let prefixed = Request::get(AT).prefixed_headers("Spb-", &asked.headers);
    assert_eq!(agent(prefixed, &asked), own);
    let typed = Request::post(AT).header("content-type", "a/b");
    assert_eq!(agent(typed, &asked), own);
    let passed = Request::get(AT).prefixed_headers("", &asked.headers);
    assert_eq!(agent(passed, &asked), None);
    let with_cookies = Request::get(AT).header("Cookie", "n=v");
    assert_eq!(agent(with_cookies, &asked), None);
    let named = Request::get(AT).header("user-agent", "Fish/1");
    assert_eq!(agent(named, &task()).as_deref(), Some("Fish/1"));
}

#[test]
fn replies_are_printed_without_credentials() {
    let echo = "key=canary/key+1=2";
    let reply = Reply {
        status: 200,
        headers: vec![("x-echo".to_owned(), echo.to_owned())],
        body: echo.as_bytes().into(),
        elapsed_ms: 1,
    };
    let scrubbed = keys().scrubbed(reply);
    assert!(!scrubbed.text().contains("canary"), "{scrubbed:?}");
    assert!(!format!("{:?}", scrubbed.headers).contains("canary"));
}

#[test]
fn what_an_adapter_may_not_is_refused_with_the_reason() {
    let check = |request: Request, expected: &str| {
        let reason = prepared(request).expect_err(expected);
        assert!(reason.contains(expected), "{reason}");
        assert!(!reason.contains("canary"), "{reason}");
    };
    check(
        Request::get("https://evil.example/"),
        "requests `https://evil.example`",
    );
    check(
        Request::get("http://api.acme.example/"),
        "`hosts` do not grant",
    );
    check(
        Request::get("https://api.acme.example:1/"),
        "`hosts` do not grant",
    );
    check(Request::get("file:///etc/passwd"), "`hosts` do not grant");
    check(Request::get("nonsense"), "an invalid URL");
    check(
        Request::get("https://a:b@api.acme.example/"),
        "credentials in the URL",
    );
    check(
        Request::get(AT).bearer("OTHER_KEY"),
        "the credential `OTHER_KEY`",
    );
    check(Request::get(AT).bearer("HOME"), "the credential `HOME`");
    check(
        Request::get("https://api.acme.example/{ACME_KEY}/x"),
        "into the URL",
    );
    check(Request::get(AT).query("k", "{ACME_KEY}"), "into the URL");
    check(
        Request::get("https://api.acme.example/canary-user"),
        "into the URL",
    );
    check(
        Request::get(AT).query("k", "canary/key+1=2"),
        "into the URL",
    );
    check(
        Request::post(AT).body("{\"k\":\"{ACME_KEY}\"}"),
        "into the body",
    );
    check(
        Request::post(AT).body(STANDARD.encode("canary-user")),
        "into the body",
    );
    check(
        Request::get(AT).header("x-leak", "canary-user"),
        "into the headers",
    );
    check(
        Request::get(AT).header("host", "evil.example"),
        "header `host`",
    );
    check(
        Request::get(AT).header("x-a", "1\r\nx-b: 2"),
        "a line break",
    );
    check(
        Request::get(AT)
            .header("authorization", "x")
            .bearer("ACME_KEY"),
        "twice",
    );
    check(Request::new("CONNECT", AT), "the method `CONNECT`");
    check(
        Request::post(AT).body(vec![0; BODY_BYTES_MAX + 1]),
        "the limit is",
    );
}

#[test]
fn a_key_that_cannot_be_sent_is_named_not_shown() {
    let keys = Keys::from_iter([("ACME_KEY".to_owned(), Secret::new("canary\nkey"))]);
    let request = Request::get(AT).bearer("ACME_KEY");
    let reason = prepare(&request, &task(), &grant(), &keys);
    let reason = reason.expect_err("a line break").to_string();
    assert!(
        reason.contains("`ACME_KEY`") && !reason.contains("canary"),
        "{reason}"
    );
}

#[test]
fn a_caller_cannot_make_an_adapter_look_guilty() {
    let of = |task: &Task, request: &Request| prepare(request, task, &grant(), &keys());
    let braced = Task {
        url: "https://a.example/?k={ACME_KEY}".to_owned(),
        ..task()
    };
    let request = Request::get(AT).query("url", &braced.url);
    assert!(of(&braced, &request).is_ok(), "only text");
    let long = Task {
        headers: vec![("x".to_owned(), "y".repeat(header::HEADER_BYTES_MAX - 1))],
        ..task()
    };
    let request = Request::get(AT).prefixed_headers("Spb-", &long.headers);
    assert!(matches!(of(&long, &request), Err(Refused::Task(_))));
    let own_key = Task {
        url: "https://a.example/canary-user".to_owned(),
        ..task()
    };
    let request = Request::get(AT).query("url", &own_key.url);
    assert!(matches!(of(&own_key, &request), Err(Refused::Task(_))));
}
