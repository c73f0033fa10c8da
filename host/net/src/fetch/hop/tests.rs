use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::*;

fn plan() -> FetchPlan {
    FetchPlan {
        headers: vec![
            (AUTHORIZATION, HeaderValue::from_static("Bearer x")),
            (
                HeaderName::from_static("x-token"),
                HeaderValue::from_static("t"),
            ),
        ],
        cookies: vec![("sid".to_owned(), "1".to_owned())],
        locale: Some("de-DE".to_owned()),
        ..FetchPlan::bare(Duration::from_secs(30))
    }
}

fn url(text: &str) -> Url {
    text.parse().expect("a URL")
}

fn sent(hop: &Hop) -> HeaderMap {
    hop.headers(&plan(), "Own/1", &[])
        .expect("sendable headers")
}

/// Where an answer with these `Location` lines leads.
fn redirected(from: &str, to: &[&[u8]]) -> Result<Option<String>, FetchError> {
    let mut headers = HeaderMap::new();
    for to in to {
        let value = HeaderValue::from_bytes(to).expect("a header value");
        headers.append(LOCATION, value);
    }
    redirect(StatusCode::FOUND, &headers, &url(from)).map(|to| to.map(Into::into))
}

fn location(from: &str, to: &str) -> Option<String> {
    redirected(from, &[to.as_bytes()]).ok().flatten()
}

#[test]
fn a_request_elsewhere_has_nothing_of_the_caller() {
    let to = url("http://us:pass@b.example/");
    let headers = sent(&Hop::elsewhere(&to));
    for name in ["authorization", "x-token", "cookie"] {
        assert!(!headers.contains_key(name), "{name}");
    }
    assert_eq!(headers["accept-language"], "de-DE");
    // Nor after a redirect within that origin.
    let next = Hop::elsewhere(&to).follow(url("http://b.example/next"));
    assert!(!sent(&next).contains_key("x-token"));
}

#[test]
fn the_callers_headers_stay_on_the_requested_origin() {
    let first = Hop::first(&url("http://a.example/"));
    assert_eq!(sent(&first)["authorization"], "Bearer x");
    assert_eq!(sent(&first)["cookie"], "sid=1");
    let within = first.follow(url("http://a.example/next"));
    assert_eq!(sent(&within)["x-token"], "t");
    let upgraded = within.follow(url("https://a.example/next"));
    assert_eq!(sent(&upgraded)["x-token"], "t");
    let away = upgraded.follow(url("https://b.example/"));
    let back = away.follow(url("https://a.example/"));
    for name in ["authorization", "cookie", "x-token"] {
        assert!(!sent(&back).contains_key(name), "{name}");
    }
    assert_eq!(sent(&back)["accept-language"], "de-DE");
}

#[test]
fn a_change_of_host_port_or_to_plain_http_is_another_origin() {
    for (from, to) in [
        ("https://a.example/", "http://a.example/"),
        ("http://a.example/", "http://a.example:8080/"),
        ("http://a.example:8080/", "https://a.example:8443/"),
        ("http://a.example/", "http://www.a.example/"),
        ("http://a.example/", "https://www.a.example/"),
    ] {
        let hop = Hop::first(&url(from)).follow(url(to));
        assert!(!sent(&hop).contains_key("authorization"), "{from} {to}");
    }
}

#[test]
fn the_sites_own_cookies_win_over_the_callers() {
    let hop = Hop::first(&url("http://a.example/"));
    let jar = [("sid", "2"), ("b", "3")].map(|(name, value)| SentCookie {
        name: name.into(),
        value: value.into(),
    });
    let headers = hop
        .headers(&plan(), "Own/1", &jar)
        .expect("sendable headers");
    assert_eq!(headers["cookie"], "sid=2; b=3");
    assert_eq!(headers["user-agent"], "Own/1");
}

#[test]
fn cookies_of_any_name_are_sent_as_browsers_write_them() {
    let mut plan = plan();
    let pairs = [("a[b]", "c"), ("", "flag"), ("\u{fc}", "d e")];
    plan.cookies = pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let hop = Hop::first(&url("http://a.example/"));
    let headers = hop.headers(&plan, "Own/1", &[]).expect("sendable headers");
    let cookie = headers[COOKIE].as_bytes();
    assert_eq!(cookie, "a[b]=c; flag; \u{fc}=d e".as_bytes());
}

#[test]
fn a_password_in_the_url_becomes_basic_authorization() {
    let mut plan = plan();
    plan.headers.clear();
    let hop = Hop::first(&url("http://us%40er:p%3Ass@a.example/"));
    assert_eq!(hop.url.as_str(), "http://a.example/");
    let headers = hop.headers(&plan, "Own/1", &[]).expect("sendable headers");
    assert_eq!(
        headers["authorization"],
        format!("Basic {}", BASE64_STANDARD.encode("us@er:p:ss"))
    );
}

#[test]
fn values_that_break_a_header_are_refused() {
    let mut plan = plan();
    plan.user_agent = Some("a\r\nX-Evil: 1".to_owned());
    let hop = Hop::first(&url("http://a.example/"));
    let refused = hop.headers(&plan, "Own/1", &[]);
    assert!(matches!(refused, Err(FetchError::Unsendable("user-agent"))));
}

#[test]
fn redirects_are_read_as_browsers_read_them() {
    for (from, to, expected) in [
        (
            "http://a.example/x/y#frag",
            "z",
            Some("http://a.example/x/z#frag"),
        ),
        (
            "http://a.example/#frag",
            "/z#own",
            Some("http://a.example/z#own"),
        ),
        (
            "http://a.example/",
            "//b.example/",
            Some("http://b.example/"),
        ),
        (
            "http://a.example/",
            "http://u:p@b.example/",
            Some("http://b.example/"),
        ),
        (
            "http://a.example/",
            "/caf\u{e9}",
            Some("http://a.example/caf%C3%A9"),
        ),
        ("http://a.example/", "http://[::1", None),
        ("http://a.example/", "", None),
        (
            "https://a.example/",
            "///b.example/x^",
            Some("https://b.example/x%5E"),
        ),
    ] {
        assert_eq!(location(from, to).as_deref(), expected, "{from} {to}");
    }
    let none = redirect(StatusCode::OK, &HeaderMap::new(), &url("http://a.example/"));
    assert!(matches!(none, Ok(None)));
}

#[test]
fn octets_of_a_redirect_are_kept() {
    let to = redirected("http://a.example/", &[b"/jos\xe9-rizal?\xe9"]);
    let to = to.expect("a URL");
    assert_eq!(to.as_deref(), Some("http://a.example/jos%E9-rizal?%E9"));
}

#[test]
fn two_targets_are_refused_unless_they_are_the_same() {
    let two = redirected("http://a.example/", &[b"/x", b"/y"]);
    assert!(matches!(two, Err(FetchError::TwoRedirects)));
    let same = redirected("http://a.example/", &[b"/x", b"/x"]).expect("a URL");
    assert_eq!(same.as_deref(), Some("http://a.example/x"));
    let empty = redirected("http://a.example/", &[b""]).expect("no error");
    assert_eq!(empty, None);
}

/// What the site sets or deletes on the way is the site's from then on, wherever the caller wrote
/// it.
#[test]
fn cookies_that_the_site_deletes_are_not_sent_again() {
    let mut plan = plan();
    plan.cookies.push(("kept".to_owned(), "1".to_owned()));
    plan.headers
        .push((COOKIE, HeaderValue::from_static("h=1;sid=3; h2=2")));
    let cookie = |hop: &Hop| {
        let headers = hop.headers(&plan, "Own/1", &[]).expect("sendable headers");
        let cookie = headers.get(COOKIE).map(HeaderValue::as_bytes);
        String::from_utf8_lossy(cookie.unwrap_or_default()).into_owned()
    };
    let from = url("http://a.example/x/y");
    let mut hop = Hop::first(&from);
    assert_eq!(cookie(&hop), "sid=1; kept=1; h=1;sid=3; h2=2");
    let mut answer = HeaderMap::new();
    for line in [
        "sid=; Max-Age=0; Path=/",
        "h2=; Max-Age=0",
        "kept=; Max-Age=0; Path=/z",
    ] {
        answer.append(http::header::SET_COOKIE, HeaderValue::from_static(line));
    }
    let changes = crate::fetch::CookieJar::new().store(&answer, &from);
    assert_eq!(changes.len(), 3);
    hop.note(&changes);
    assert_eq!(cookie(&hop), "kept=1; h=1");
    let elsewhere = hop.follow(url("http://a.example/z"));
    assert_eq!(cookie(&elsewhere), "h=1; h2=2");
}
