use super::*;

#[test]
fn a_word_is_no_receiver() {
    let refusal = receiver("foo").expect_err("no URL");
    assert!(refusal.message.contains("complete URL"), "{refusal}");
    for good in ["https://foo/", "foo:8080/x", "127.0.0.1", "a.example/hook"] {
        assert!(receiver(good).is_ok(), "{good}");
    }
}

/// As the URL standard reads it, which trims controls and spaces alone.
#[test]
fn a_no_break_space_and_a_circumflex_are_part_of_a_path() {
    let url = |text: &str| {
        let urls = split(text);
        assert_eq!(urls.len(), 1, "{text:?}");
        parse(urls[0]).expect("a URL").url.to_string()
    };
    assert_eq!(url(" \t\n http://a.com/\u{a0} "), "http://a.com/%C2%A0");
    assert_eq!(url("a.com/x^2?^"), "https://a.com/x%5E2?^");
}

#[test]
fn a_comma_separates_only_before_a_url() {
    let check = |text: &str, expected: &[&str]| assert_eq!(split(text), expected, "{text}");
    check("https://a.com", &["https://a.com"]);
    check(
        "https://a.com,https://b.com/x",
        &["https://a.com", "https://b.com/x"],
    );
    check("a.com, b.org ,c.net/x?y", &["a.com", "b.org", "c.net/x?y"]);
    check("https://a.com/x,y,z", &["https://a.com/x,y,z"]);
    check(
        "https://a.com/@51.5,-0.12,15z",
        &["https://a.com/@51.5,-0.12,15z"],
    );
    check("https://a.com/a,page.html", &["https://a.com/a,page.html"]);
    check(
        "https://a.com/?q=1,2&r=a:b",
        &["https://a.com/?q=1,2&r=a:b"],
    );
    check(
        "http://127.0.0.1:80/a,127.0.0.1:81/b",
        &["http://127.0.0.1:80/a", "127.0.0.1:81/b"],
    );
    check(
        "localhost:1,[::1]:2,localhost",
        &["localhost:1", "[::1]:2", "localhost"],
    );
    check(
        "https://a.com/x,file:///etc/passwd",
        &["https://a.com/x", "file:///etc/passwd"],
    );
    check(
        "https://a.com/x,javascript:alert(1)",
        &["https://a.com/x", "javascript:alert(1)"],
    );
    check("https://a.com,,b.com,", &["https://a.com", "b.com"]);
    check(
        "https://a.com/ä,bücher.de",
        &["https://a.com/ä", "bücher.de"],
    );
    check(" , ", &[]);
    check("", &[]);
}

#[test]
fn a_missing_scheme_is_https() {
    let check = |text: &str, expected: &str| {
        assert_eq!(
            parse(text).map(|target| String::from(target.url)),
            Ok(expected.to_owned()),
            "{text}"
        );
    };
    check("example.com", "https://example.com/");
    check("example.com:8080/x", "https://example.com:8080/x");
    check("localhost:3000", "https://localhost:3000/");
    check("//example.com/a", "https://example.com/a");
    check("HTTP://Example.COM/A", "http://example.com/A");
    check("http://[::1]:3/", "http://[::1]:3/");
    check("bücher.de/ü", "https://xn--bcher-kva.de/%C3%BC");
}

#[test]
fn a_password_leaves_the_url_and_becomes_a_header() {
    let check = |text: &str, url: &str, pair: Option<&str>| {
        let target = parse(text).expect(text);
        assert_eq!(target.url.as_str(), url, "{text}");
        let basic = pair.map(|pair| format!("Basic {}", BASE64_STANDARD.encode(pair)));
        let sent = target.authorization.as_ref();
        let sent = sent.map(|value| value.to_str().expect("ASCII").to_owned());
        assert_eq!(sent, basic, "{text}");
        assert!(!format!("{target:?}").contains("Basic"), "{target:?}");
    };
    check("https://a.com/x@y", "https://a.com/x@y", None);
    check("https://u:p@a.com/x", "https://a.com/x", Some("u:p"));
    check("u:p@a.com/x", "https://a.com/x", Some("u:p"));
    check("token@a.com", "https://a.com/", Some("token:"));
    check("https://:p@a.com", "https://a.com/", Some(":p"));
    check(
        "http://us%40er:p%3Ass@a.com:81",
        "http://a.com:81/",
        Some("us@er:p:ss"),
    );
}

#[test]
fn a_domain_that_is_cleaned_again_stays_as_it_is() {
    for (text, expected) in [
        ("u:p@b.example", "b.example"),
        (" u*:p@b.example", "b.example"),
        ("https://u:p@c.example", "https://c.example"),
        ("https://u:p@_c.example", "https://_c.example/"),
        ("u@http:/u:p@c.example", "http://c.example/"),
        ("u:p@", "@"),
        ("b.example/x@y", "b.example/x@y"),
        (".*[.]d[.]example", ".*[.]d[.]example"),
    ] {
        assert_eq!(domain(text), expected, "{text}");
        assert_eq!(domain(expected), expected, "{text}");
    }
}

#[test]
fn a_refused_url_is_shown_without_its_password() {
    let check = |text: &str, expected: &str| assert_eq!(shown(text), expected, "{text}");
    check("ftp://u:p@a.com/x", "ftp://a.com/x");
    check("https://u:p@a b.com", "https://a b.com");
    check("https://u:p@:9", "https://:9");
    check("https:u:p@a b.com", "a b.com");
    check("u:p@a b", "a b");
    check("token@a b", "a b");
    for same in ["mailto:a@b.com", "javascript:'a@b'", "x", "data:a@b"] {
        check(same, same);
    }
    let long = format!("https://u:p@{}", "a".repeat(20_000));
    check(&long, &long.replace("u:p@", ""));
}

#[test]
fn patterns_that_are_urls_lose_their_password_and_nothing_else() {
    let check = |text: &str, expected: &str| assert_eq!(pattern(text), expected, "{text}");
    check("https://u:p@a.com/x", "https://a.com/x");
    check("https://token@a.com", "https://a.com");
    check(
        "http://u:p@[::1]/[a-z]+\\d{2}$",
        "http://[::1]/[a-z]+\\d{2}$",
    );
    for same in [
        "https://a.com/@u/x@y",
        "/u:p@a.com",
        "@user/x",
        "https://(.+@)?a.com/",
        "^https?://[^/]+@a.com",
        "https://",
        "",
    ] {
        check(same, same);
    }
}

#[test]
fn an_upgrade_to_https_stays_at_home() {
    let check = |from: &str, to: &str, expected: bool| {
        let [from_url, to_url] = [from, to].map(|text| Url::parse(text).expect("a URL"));
        let found = is_same_origin_or_upgrade(&from_url, &to_url);
        assert_eq!(found, expected, "{from} {to}");
    };
    check("http://a.com/x", "http://a.com:80/y", true);
    check("http://a.com/", "https://a.com/", true);
    check("https://a.com/", "http://a.com/", false);
    check("http://a.com/", "https://b.a.com/", false);
    check("http://a.com:81/", "https://a.com:81/", false);
    check("http://a.com/", "https://a.com:444/", false);
}

#[test]
fn a_site_has_two_names() {
    let check = |from: &str, to: &str, expected: bool| {
        let [from_url, to_url] = [from, to].map(|text| Url::parse(text).expect("a URL"));
        assert_eq!(is_same_site(&from_url, &to_url), expected, "{from} {to}");
    };
    check("http://a.com/x", "https://www.a.com/", true);
    check("https://www.a.com/x", "https://a.com:443/", true);
    check("https://a.com/", "http://www.a.com/", false);
    check("https://a.com/", "https://b.a.com/", false);
    check("https://a.com/", "https://a.com:444/", false);
    check("http://a.com:81/", "http://www.a.com:81/", true);
    check("http://a.com/", "https://a.com:444/", false);
    check("https://a.com/", "https://www.a.com.evil.example/", false);
}

#[test]
fn origins_of_a_site_are_listed() {
    let check = |url: &str, expected: &[&str]| {
        let found = site_origins(&Url::parse(url).expect("a URL"));
        assert_eq!(found, expected, "{url}");
    };
    let all = [
        "http://a.com",
        "http://www.a.com",
        "https://a.com",
        "https://www.a.com",
    ];
    check("http://www.a.com/x", &all);
    check("https://a.com/", &all[2..]);
    check(
        "http://a.com:81/",
        &["http://a.com:81", "http://www.a.com:81"],
    );
    check("http://127.0.0.1:81/", &["http://127.0.0.1:81"]);
}

#[test]
fn a_receiver_keeps_its_password_and_does_not_show_it() {
    let receiver = receiver("https://u:canary@a.com/x?token=canary").expect("a URL");
    assert_eq!(receiver.expose(), "https://u:canary@a.com/x?token=canary");
    assert_eq!(
        format!("{receiver:?} {receiver}"),
        "https://a.com/x https://a.com/x"
    );
}

#[test]
fn other_schemes_and_invalid_urls_are_failures_of_the_page() {
    for text in [
        "file:///etc/passwd",
        "data:text/html,hi",
        "javascript:1",
        "ftp://a.com",
        "view-source:https://a.com",
        "about:blank",
        "gopher://a",
        "blob:https://a.com/1",
        "chrome://version",
        "ws://a.com",
        "foo:bar",
        "https://",
        "https://a b.com",
        "http://a.com:99999",
        "http://[::1",
        "\u{0}",
    ] {
        let failure = parse(text).expect_err(text);
        assert_eq!(failure.cause, Cause::BadUrl, "{text}");
    }
    assert_eq!(
        parse(&"a".repeat(20_000)).map_err(|failure| failure.cause),
        Err(Cause::BadUrl)
    );
}

#[test]
fn the_longest_url_is_measured_with_its_percent_encoding() {
    let of_length = |blanks: usize| parse(&format!("a.example/{}x", " ".repeat(blanks)));
    let longest = of_length((ADDRESS_BYTES_MAX - "https://a.example/x".len()) / 3);
    let url = longest.expect("it is as long as may be").url;
    assert!(url.as_str().len() <= ADDRESS_BYTES_MAX);
    assert_eq!(parse(url.as_str()).map(|target| target.url), Ok(url));
    let longer = of_length(ADDRESS_BYTES_MAX / 3).expect_err("it is longer");
    assert_eq!(longer.message, "the URL is longer than 16384 bytes");
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_url_that_can_be_fetched_or_a_refusal(text in "(?s).{0,200}") {
        for address in split(&text) {
            match parse(address) {
                Ok(Target { url, .. }) => {
                    proptest::prop_assert!(basic_authorization(&url).is_none(), "{}", url);
                    let again = parse(url.as_str()).ok().map(|target| target.url);
                    proptest::prop_assert!(matches!(url.scheme(), "http" | "https"), "{}", url);
                    proptest::prop_assert!(url.host_str().is_some_and(|host| !host.is_empty()), "{}", url);
                    proptest::prop_assert_eq!(again, Some(url));
                }
                Err(failure) => {
                    proptest::prop_assert_eq!(failure.cause, Cause::BadUrl);
                    proptest::prop_assert!(!failure.message.is_empty());
                }
            }
        }
    }
}
