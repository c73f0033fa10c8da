use std::time::Duration;

use http::HeaderValue;

use super::*;

fn url(text: &str) -> Url {
    text.parse().expect("a URL")
}

fn answer(cookies: &[&[u8]]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for cookie in cookies {
        let value = HeaderValue::from_bytes(cookie).expect("a header value");
        headers.append(SET_COOKIE, value);
    }
    headers
}

/// How many cookies are accepted.
fn set(jar: &CookieJar, from: &str, cookies: &[&str]) -> usize {
    let lines: Vec<&[u8]> = cookies.iter().map(|cookie| cookie.as_bytes()).collect();
    jar.store(&answer(&lines), &url(from)).len()
}

fn sent(jar: &CookieJar, to: &str) -> String {
    let pairs = jar.matching(&url(to));
    let pairs: Vec<Vec<u8>> = pairs.iter().map(SentCookie::pair).collect();
    String::from_utf8_lossy(&pairs.join(&b"; "[..])).into_owned()
}

/// What a new jar sends back to a page after it has set these cookies.
fn echo(page: &str, cookies: &[&str]) -> String {
    let jar = CookieJar::new();
    set(&jar, page, cookies);
    sent(&jar, page)
}

#[test]
fn cookies_go_back_to_the_host_that_set_them() {
    let jar = CookieJar::new();
    let cookies = ["a=1", "b=2; Domain=example.com", "d=4; Path=/deep"];
    set(&jar, "http://a.example.com/", &cookies);
    set(&jar, "https://a.example.com/", &["c=3; Secure"]);
    assert_eq!(sent(&jar, "http://a.example.com/"), "a=1; b=2");
    let all = "d=4; a=1; b=2; c=3";
    assert_eq!(sent(&jar, "https://a.example.com/deep/x"), all);
    assert_eq!(sent(&jar, "http://a.example.com/deeper"), "a=1; b=2");
    assert_eq!(sent(&jar, "http://b.example.com/"), "b=2");
    assert_eq!(sent(&jar, "http://b.a.example.com/"), "b=2");
    assert_eq!(sent(&jar, "http://other.com/"), "");
    assert_eq!(sent(&jar, "http://badexample.com/"), "");
}

#[test]
fn cookies_for_public_suffixes_and_foreign_domains_are_refused() {
    let jar = CookieJar::new();
    for (from, cookie) in [
        ("http://a.co.uk/", "x=1; Domain=co.uk"),
        ("http://a.co.uk/", "x=1; Domain=.co.uk"),
        ("http://a.com/", "x=1; Domain=com"),
        ("http://me.github.io/", "x=1; Domain=github.io"),
        ("http://a.example.com/", "x=1; Domain=other.com"),
        ("http://a.example.com/", "x=1; Domain=b.example.com"),
        ("http://a.example.com/", "x=1; Domain=."),
        ("http://127.0.0.1/", "x=1; Domain=0.0.1"),
        ("http://[::1]/", "x=1; Domain=::1"),
    ] {
        assert_eq!(set(&jar, from, &[cookie]), 0, "{from} {cookie}");
    }
    for (own, other) in [
        ("http://github.io/", "http://me.github.io/"),
        ("http://localhost/", "http://a.localhost/"),
        ("http://127.0.0.1/", "http://127.0.0.2/"),
    ] {
        let host = url(own).host_str().expect("a host").to_owned();
        let cookie = format!("own=1; Domain={host}");
        assert_eq!(set(&jar, own, &[&cookie]), 1, "{own}");
        assert_eq!(sent(&jar, own), "own=1");
        assert_eq!(sent(&jar, other), "");
    }
}

#[test]
fn the_last_attribute_counts() {
    let jar = CookieJar::new();
    let page = "http://a.example.com/";
    set(&jar, page, &["a=1; Domain=example.com; Domain="]);
    set(&jar, page, &["b=1; Domain=x.com; domain = .EXAMPLE.com"]);
    set(&jar, page, &["c=1; Path=/x; Path=/"]);
    set(&jar, page, &["d=1; Max-Age=0; Max-Age=9"]);
    assert_eq!(sent(&jar, page), "a=1; b=1; c=1; d=1");
    assert_eq!(sent(&jar, "http://b.example.com/"), "b=1");
}

#[test]
fn the_order_is_that_of_paths_and_then_of_creation() {
    let page = "http://a.com/x/y";
    let cookies = ["c=1", "b=1", "a=1; Path=/", "d=1", "e=1; Path=/x/y", "c=2"];
    for _ in 0..20 {
        assert_eq!(echo(page, &cookies), "e=1; c=2; b=1; d=1; a=1");
    }
}

#[test]
fn a_cookie_is_deleted_by_any_form_of_a_date() {
    for deletion in [
        "a=; Max-Age=0",
        "a=; Max-Age=-1; Expires=Fri, 31 Dec 9999 23:59:59 GMT",
        "a=; Expires=Thu, 01 Jan 1970 00:00:00 UTC",
        "a=; expires=thu, 01-jan-70 0:00:00 +0000",
        "a=; Expires=\"Thu, 01 January 1970 00:00:00\"",
        "a; Expires=Thu, 01 Jan 1970 00:00:01 GMT",
    ] {
        let jar = CookieJar::new();
        set(&jar, "http://a.com/", &["a=1", "b=1"]);
        let headers = answer(&[deletion.as_bytes()]);
        let changes = jar.store(&headers, &url("http://a.com/"));
        let is_named = deletion.starts_with("a=");
        assert_eq!(changes.len(), 1, "{deletion}");
        assert_eq!(changes[0].value, None, "{deletion}");
        let left = if is_named { "b=1" } else { "a=1; b=1" };
        assert_eq!(sent(&jar, "http://a.com/"), left, "{deletion}");
    }
    for kept in [
        "a=2; Max-Age=1",
        "a=2; Max-Age=99999999999999999999",
        "a=2; Max-Age=soon",
        "a=2; Expires=never",
        "a=2; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
    ] {
        assert_eq!(echo("http://a.com/", &[kept]), "a=2", "{kept}");
    }
}

#[test]
fn a_cookie_ends_with_its_time() {
    let clock = Clock::fake(Timestamp(1_623_233_894_000));
    let jar = CookieJar::with_clock(clock.clone());
    let cookies = [
        "a=1; Max-Age=60",
        "b=1; Expires=Wed, 09 Jun 2021 10:18:16 GMT",
        "c=1",
    ];
    set(&jar, "http://a.com/", &cookies);
    assert_eq!(sent(&jar, "http://a.com/"), "a=1; b=1; c=1");
    clock.advance(Duration::from_secs(2));
    assert_eq!(sent(&jar, "http://a.com/"), "a=1; c=1");
    clock.advance(Duration::from_secs(58));
    assert_eq!(sent(&jar, "http://a.com/"), "c=1");
}

#[test]
fn prefixes_say_what_a_cookie_must_have() {
    for (cookie, is_accepted) in [
        ("__Host-a=b; Secure; Path=/", true),
        ("__Host-a=b; Path=/", false),
        ("__Host-a=b; Secure", false),
        ("__host-a=b; Secure; Path=/x", false),
        ("__Host-a=b; Secure; Path=/; Domain=a.example.com", false),
        ("__Secure-a=b; Secure", true),
        ("__SECURE-a=b", false),
        ("=__Host-a=b; Secure; Path=/", false),
        ("__Secure-a; Secure", false),
        ("__Hosta=b", true),
    ] {
        let n = set(&CookieJar::new(), "https://a.example.com/", &[cookie]);
        assert_eq!(n == 1, is_accepted, "{cookie}");
    }
}

#[test]
fn an_insecure_page_leaves_secure_cookies_alone() {
    let jar = CookieJar::new();
    let (secure, plain) = ("https://a.example.com/x/", "http://a.example.com/x/");
    set(&jar, secure, &["s=1; Secure"]);
    for cookie in [
        "s=evil",
        "s=; Max-Age=0",
        "s=evil; Path=/x/y",
        "s=evil; Domain=example.com",
        "n=1; Secure",
        "n=1; SameSite=None",
    ] {
        assert_eq!(set(&jar, plain, &[cookie]), 0, "{cookie}");
    }
    assert_eq!(sent(&jar, "https://a.example.com/x/y"), "s=1");
    // A shorter path is sent after it, and another site's is another cookie.
    assert_eq!(set(&jar, plain, &["s=2; Path=/"]), 1);
    assert_eq!(sent(&jar, "https://a.example.com/x/y"), "s=1; s=2");
    assert_eq!(sent(&jar, plain), "s=2");
    assert_eq!(set(&jar, "http://b.example.com/x/", &["s=3"]), 1);
    // A secure page may change it.
    assert_eq!(set(&jar, secure, &["s=4", "t=1; SameSite=None; Secure"]), 2);
    assert_eq!(sent(&jar, plain), "s=4; s=2");
    assert_eq!(set(&jar, secure, &["u=1; SameSite=None"]), 0);
}

#[test]
fn nameless_cookies_are_sent_as_their_value() {
    assert_eq!(
        echo("http://a.com/", &["a", "b=1", "=c", "=", "", ";x"]),
        "c; b=1"
    );
    // Not as a cookie with a name.
    for cookie in ["=d=e", " = d=e; Path=/", "=d="] {
        assert_eq!(echo("http://a.com/", &[cookie, "d"]), "d", "{cookie}");
        assert_eq!(echo("http://a.com/", &[cookie]), "", "{cookie}");
    }
}

#[test]
fn octets_come_back_as_they_were() {
    let jar = CookieJar::new();
    let page = url("http://a.com/");
    jar.store(
        &answer(&[b"caf\xe9=\xff\t\x80 \"x, y\" ; Path=/\xe9", b"u=\xc3\xa9"]),
        &page,
    );
    assert_eq!(jar.matching(&page)[0].pair(), b"u=\xc3\xa9");
    jar.store(&answer(&[b"caf\xe9=\xff\t\x80 \"x, y\" "]), &page);
    assert_eq!(
        jar.matching(&page)[1].pair(),
        b"caf\xe9=\xff\t\x80 \"x, y\""
    );
}

#[test]
fn the_size_of_a_cookie_is_that_of_name_and_value() {
    let page = "http://a.com/";
    let whole = format!("n={}", "x".repeat(4095));
    let long = format!("{whole}; Path=/; HttpOnly; Comment={}", "y".repeat(3000));
    assert_eq!(echo(page, &[&long]), whole);
    assert_eq!(echo(page, &[&format!("{whole}x")]), "");
    // An attribute that is too long is none.
    let path = format!("a=1; Path=/{}", "p".repeat(1024));
    assert_eq!(echo(page, &[&path]), "a=1");
    let path = format!("a=1; Path=/{}", "p".repeat(1023));
    assert_eq!(echo(page, &[&path]), "");
}

#[test]
fn the_size_of_a_jar_and_of_a_header_is_bounded() {
    let jar = CookieJar::new();
    let many = |n: usize, rest: &str| -> Vec<String> {
        (0..n)
            .map(|n| format!("c{n}=some value of a cookie{rest}"))
            .collect()
    };
    let fill = |page: &str, cookies: &[String]| {
        let lines: Vec<&str> = cookies.iter().map(String::as_str).collect();
        set(&jar, page, &lines)
    };
    // The oldest cookie of a host makes room, `Secure` ones last.
    set(&jar, "https://a.com/", &["first=1; Secure"]);
    assert_eq!(
        fill("https://a.com/", &many(DOMAIN_COOKIES_MAX, "")),
        DOMAIN_COOKIES_MAX
    );
    let left = sent(&jar, "https://a.com/");
    assert!(left.starts_with("first=1; c1=some"), "{left}");
    assert_eq!(left.split("; ").count(), DOMAIN_COOKIES_MAX);
    // Another host takes no room from it, also once the jar is full.
    for n in 0..20 {
        fill(&format!("http://h{n}.com/"), &many(DOMAIN_COOKIES_MAX, ""));
    }
    assert_eq!(jar.locked().cookies.len(), COOKIES_MAX);
    assert_eq!(sent(&jar, "https://a.com/"), left);
    assert_eq!(set(&jar, "https://a.com/", &["last=1"]), 1);
    assert_eq!(set(&jar, "https://new.com/", &["last=1"]), 0);

    let jar = CookieJar::new();
    let value = "v".repeat(1000);
    for n in 0..50 {
        set(&jar, "http://a.com/", &[&format!("c{n}={value}")]);
    }
    assert!(sent(&jar, "http://a.com/").len() <= HEADER_BYTES_MAX);
}

#[test]
fn hosts_below_a_domain_get_its_cookies_unless_they_are_of_the_host_alone() {
    for (host, domain, of_domain, of_host) in [
        ("a.example", "a.example", true, true),
        ("www.a.example", "a.example", true, false),
        ("ba.example", "a.example", false, false),
        ("a.example", "www.a.example", false, false),
    ] {
        assert_eq!(gets_cookies_of(host, domain, false), of_domain, "{host}");
        assert_eq!(gets_cookies_of(host, domain, true), of_host, "{host}");
    }
}
