use super::*;

const NOW: Timestamp = Timestamp(1_800_000_000_000);
const LATER: Timestamp = Timestamp(NOW.0 + 10_000);

fn url(text: &str) -> Url {
    Url::parse(text).expect("a URL")
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn request(pairs: &[(&str, &str)]) -> HeaderMap {
    headers(&super::tests::pairs(pairs))
}

fn page(answer: &[(&str, &str)]) -> FetchedPage {
    let headers = pairs(answer);
    FetchedPage {
        requested_url: url("http://a/x#part"),
        final_url: url("http://a/x#part"),
        redirects: Vec::new(),
        status: 200,
        content_type: header_list(&headers, "content-type"),
        headers,
        cookies: Vec::new(),
        body: Bytes::from_static(b"text"),
    }
}

fn stored(answer: &[(&str, &str)]) -> StoredPage {
    let request = request(&[("accept-language", "en")]);
    StoredPage::new(&page(answer), &request, std::iter::empty(), NOW)
}

#[test]
fn the_type_of_a_rendered_page_is_not_that_of_its_headers() {
    let site = "text/html; charset=iso-8859-1";
    for answer in [&[("content-type", site)][..], &[]] {
        let mut rendered = page(answer);
        "text/html; charset=utf-8".clone_into(&mut rendered.content_type);
        let none = std::iter::empty();
        let stored = StoredPage::new(&rendered, &HeaderMap::new(), none, NOW);
        let text = serde_json::to_vec(&stored.meta).expect("JSON");
        let meta = serde_json::from_slice(&text).expect("what was written");
        let again = StoredPage { meta, ..stored }.page(&rendered.requested_url);
        assert_eq!(again.headers, rendered.headers);
        assert_eq!(again.content_type, rendered.content_type);
    }
}

#[test]
fn what_a_provider_said_of_a_page_is_stored() {
    let again = |page: StoredPage| {
        let text = serde_json::to_string(&page.meta).expect("JSON");
        let meta = serde_json::from_str(&text).expect("what was written");
        (StoredPage { meta, ..page }.provided(), text)
    };
    for rendered in [None, Some(false), Some(true)] {
        let said = Some(Provided { rendered });
        let (read, _) = again(stored(&[]).with_provided(said));
        assert_eq!(read, said);
    }
    // As an earlier version wrote it.
    let (read, text) = again(stored(&[]));
    assert_eq!(read, None);
    assert!(!text.contains("provided"), "{text}");
}

#[test]
fn only_what_everyone_may_have_is_storable() {
    let check = |answer: &[(&str, &str)], expected: bool| {
        let storable = is_storable(&page(answer), &request(&[]), NOW);
        assert_eq!(storable, expected, "{answer:?}");
    };
    check(&[], true);
    check(&[("cache-control", "max-age=0, must-revalidate")], true);
    check(&[("cache-control", "no-cache")], true);
    check(&[("pragma", "no-cache")], true);
    check(&[("expires", "0")], true);
    check(&[("vary", "accept-language, cookie")], true);
    check(&[("cache-control", "no-store")], false);
    check(&[("cache-control", "max-age=600, No-Store")], false);
    check(
        &[
            ("cache-control", "max-age=600"),
            ("cache-control", "PRIVATE"),
        ],
        false,
    );
    check(&[("cache-control", "private=\"x-a\", max-age=600")], false);
    check(&[("cache-control", "no-store, ext=\"ü\"")], false);
    for value in [
        "private; max-age=0",
        "no-cache; no-store",
        "no-cache no-store",
        "no-store;",
        "\"no-store\"",
        "max-age=\"0, private",
        "max-age=600;PRIVATE",
    ] {
        check(&[("cache-control", value)], false);
    }
    check(
        &[("cache-control", "x-private, no-store-x=1, max-age=600")],
        true,
    );
    check(&[("set-cookie", "a=1")], false);
    check(&[("vary", "accept, *")], false);
}

#[test]
fn only_good_answers_are_storable() {
    for status in [203, 204, 301, 304, 404, 500] {
        let page = FetchedPage {
            status,
            ..page(&[])
        };
        assert!(!is_storable(&page, &request(&[]), NOW), "{status}");
    }
}

#[test]
fn permanent_redirects_without_private_headers_are_storable() {
    let check = |status: u16, answer: &[(&str, &str)], expected: bool| {
        let status = StatusCode::from_u16(status).expect("a status");
        let is_storable_redirect = is_permanent(status, &request(answer), NOW);
        assert_eq!(is_storable_redirect, expected, "{status} {answer:?}");
    };
    check(301, &[], true);
    check(308, &[("cache-control", "max-age=1")], true);
    for status in [302, 303, 307] {
        check(status, &[], false);
    }
    check(301, &[("cache-control", "no-store")], false);
    check(301, &[("set-cookie", "a=1")], false);
    check(301, &[("vary", "accept")], true);
    check(308, &[("vary", "accept, *")], false);
}

#[test]
fn keys_differ_in_everything_that_changes_the_answer_and_in_nothing_else() {
    let plain = request(&[("user-agent", "us"), ("accept-language", "en")]);
    let of = |address: &str, request: &HeaderMap, pool: &str, country: Option<&str>| {
        key(&url(address), request, pool, country, "http")
    };
    let usual = of("http://a.com/x?q=1", &plain, "standard", None);
    assert_eq!(
        usual,
        of("HTTP://A.com:80/x?q=1#part", &plain, "standard", None)
    );
    let more = request(&[
        ("user-agent", "us"),
        ("accept-language", "en"),
        ("accept", "*/*"),
    ]);
    assert_eq!(usual, of("http://a.com/x?q=1", &more, "standard", None));
    let other_agent = request(&[("user-agent", "them"), ("accept-language", "en")]);
    let other_language = request(&[("user-agent", "us"), ("accept-language", "de")]);
    for other in [
        of("https://a.com/x?q=1", &plain, "standard", None),
        of("http://a.com/X?q=1", &plain, "standard", None),
        of("http://a.com/x?q=2", &plain, "standard", None),
        of("http://www.a.com/x?q=1", &plain, "standard", None),
        of("http://a.com/x?q=1", &other_agent, "standard", None),
        of("http://a.com/x?q=1", &other_language, "standard", None),
        of("http://a.com/x?q=1", &plain, "isp", None),
        of("http://a.com/x?q=1", &plain, "standard", Some("DE")),
        key(
            &url("http://a.com/x?q=1"),
            &plain,
            "standard",
            None,
            "browser",
        ),
    ] {
        assert_ne!(usual, other);
    }
}

#[test]
fn vary_decides_who_may_have_a_page() {
    let check = |vary: &str, headers: &[(&str, &str)], expected: bool| {
        let stored = stored(&[("vary", vary)]);
        assert_eq!(
            stored.matches(&request(headers)),
            expected,
            "{vary} {headers:?}"
        );
    };
    check("", &[], true);
    check("accept-language", &[("accept-language", "en")], true);
    check(
        "Accept-Language, Accept",
        &[("accept-language", "en")],
        true,
    );
    check("Accept-Language", &[("accept-language", "de")], false);
    check("accept-language", &[], false);
    check("accept", &[("accept", "image/png")], false);
    check("user-agent, *", &[], false);
}

#[test]
fn revalidation_uses_the_validators_of_the_site() {
    let conditional_request = |answer: &[(&str, &str)]| {
        let conditional_request =
            stored(answer).conditional_request(&url("http://a/x#other"), &request(&[]), LATER)?;
        assert_eq!(conditional_request.at, url("http://a/x"));
        let requested = conditional_request.headers.iter().map(pair);
        Some(requested.collect::<Vec<_>>())
    };
    let date = "Tue, 20 Jan 2026 10:00:00 GMT";
    assert_eq!(conditional_request(&[]), None);
    assert_eq!(
        conditional_request(&[("etag", "W/\"1\"")]),
        Some(pairs(&[("if-none-match", "W/\"1\"")]))
    );
    assert_eq!(
        conditional_request(&[("last-modified", date), ("cache-control", "max-age=9999")]),
        Some(pairs(&[("if-modified-since", date)]))
    );
    assert_eq!(
        conditional_request(&[("last-modified", date), ("etag", "\"1\"")]),
        Some(pairs(&[
            ("if-none-match", "\"1\""),
            ("if-modified-since", date)
        ]))
    );
}

#[test]
fn an_answer_that_nothing_changed_refreshes_headers_and_age_but_not_the_content() {
    let stored = stored(&[
        ("etag", "\"1\""),
        ("x-a", "1"),
        ("x-a", "2"),
        ("content-length", "4"),
    ]);
    let answer = pairs(&[
        ("etag", "\"1\""),
        ("x-a", "3"),
        ("x-b", "1"),
        ("content-length", "0"),
    ]);
    let valid = stored
        .validated(&answer, &request(&[]), LATER)
        .expect("valid");
    assert_eq!(
        valid.meta.headers,
        pairs(&[
            ("content-length", "4"),
            ("etag", "\"1\""),
            ("x-a", "3"),
            ("x-b", "1")
        ])
    );
    assert_eq!(stored.age(LATER), Duration::from_secs(10));
    assert_eq!(
        (valid.age(LATER), valid.fetched_at()),
        (Duration::ZERO, NOW)
    );
    assert_eq!(valid.body, stored.body);
}

#[test]
fn an_answer_about_another_version_is_no_answer() {
    let stored = stored(&[("etag", "\"1\"")]);
    let valid = |answer: &[(&str, &str)]| stored.validated(&pairs(answer), &request(&[]), LATER);
    assert!(valid(&[("etag", "\"2\"")]).is_none());
    assert!(valid(&[("etag", "W/\"1\"")]).is_some());
}

/// It need not repeat a validator, and may add one.
#[test]
fn an_answer_without_the_same_validator_is_one() {
    const DAY: &str = "Tue, 01 Jan 2019 00:00:00 GMT";
    let stored = stored(&[("last-modified", DAY)]);
    let valid = |answer: &[(&str, &str)]| stored.validated(&pairs(answer), &request(&[]), LATER);
    assert!(valid(&[]).is_some());
    assert!(valid(&[("last-modified", DAY)]).is_some());
    let tagged = valid(&[("etag", "\"1\"")]).expect("valid");
    let headers = pairs(&[("last-modified", DAY), ("etag", "\"1\"")]);
    assert_eq!(tagged.meta.headers, headers);
    assert!(valid(&[("last-modified", "Wed, 02 Jan 2019 00:00:00 GMT")]).is_none());
}

#[test]
fn a_stored_page_is_the_page_that_was_fetched() {
    let way = [url("http://b/#part"), url("http://b/y#own")];
    let hop = |status, to: &str| Hop {
        status,
        to: to.to_owned(),
    };
    let fetched = FetchedPage {
        final_url: url("http://b/y#own"),
        redirects: vec![
            hop(Some(301), "http://b/#part"),
            hop(Some(308), "http://b/y#own"),
        ],
        ..page(&[
            ("content-type", "text/plain"),
            ("content-type", "text/html"),
        ])
    };
    let stored = StoredPage::new(&fetched, &request(&[]), way.iter(), NOW);
    let requested = url("http://a/x#there");
    let again = stored.page(&requested);
    assert_eq!(again.requested_url, requested);
    assert_eq!(again.final_url, url("http://b/y#own"));
    let hops = [
        hop(Some(301), "http://b/#there"),
        hop(Some(308), "http://b/y#own"),
    ];
    assert_eq!(again.redirects, hops);
    assert_eq!((again.status, &*again.body), (200, &b"text"[..]));
    assert_eq!(again.headers, fetched.headers);
    assert_eq!(again.content_type, "text/plain, text/html", "one list");
    assert_eq!(
        stored.redirects(&requested),
        [url("http://b/#there"), url("http://b/y#own")]
    );
    let direct = stored.at_its_final_url().page(&url("http://b/y"));
    assert_eq!(
        (direct.requested_url, direct.final_url),
        (url("http://b/y"), url("http://b/y"))
    );
}

#[test]
fn a_clock_that_was_set_back_makes_no_page_old() {
    assert_eq!(stored(&[]).age(Timestamp(0)), Duration::ZERO);
    assert_eq!(stored(&[]).age(LATER), Duration::from_secs(10));
}
