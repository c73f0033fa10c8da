//! Fuzzing of cookies: what sites set, and the header that it becomes.

use http::HeaderValue;
use http::header::SET_COOKIE;

use trawl_model::clock::{Clock, Timestamp};

use super::cookies::SentCookie;
use super::*;

/// `Set-Cookie` lines of one response.
const LINES_MAX: usize = 2_000;
/// Cookies up to which neither the jar nor a header is full.
const FEW: usize = 50;

/// Bytes of one `Cookie` header that the jar fills.
const HEADER_BYTES_MAX: usize = 16 * 1024;
/// Sites that set cookies, each with one that must never see them.
const SITES: [(&str, &str); 6] = [
    ("https://shop.example.com/a/b", "https://evil.com/a/b"),
    ("http://a.co.uk/", "http://b.co.uk/"),
    ("https://me.github.io/x", "https://you.github.io/x"),
    ("http://127.0.0.1:8080/", "http://127.0.0.2:8080/"),
    ("http://[::1]/", "http://[::2]/"),
    ("http://localhost/", "http://localhost.evil.com/"),
];

/// Each line of the input is a `Set-Cookie`.
#[test]
fn cookies() {
    trawl_fuzz::fuzz!("cookies", check);
}

fn check(input: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in input.split(|byte| *byte == b'\n').take(LINES_MAX) {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(SET_COOKIE, value);
        }
    }
    let is_few = headers.len() <= FEW && input.len() < HEADER_BYTES_MAX / 2;
    for (site, stranger) in SITES {
        let (site, stranger) = (url(site), url(stranger));
        let jar = CookieJar::with_clock(Clock::fake(Timestamp(1_623_233_894_000)));
        let changes = jar.store(&headers, &site);
        assert!(changes.len() <= headers.len());
        assert_eq!(jar.matching(&stranger), [], "{site} to {stranger}");
        let sent = jar.matching(&site);
        let bytes = sent.iter().map(|cookie| cookie.pair().len() + 2);
        assert!(bytes.sum::<usize>() <= HEADER_BYTES_MAX);
        for cookie in &sent {
            let is_it = |change: &CookieChange| {
                change.name == cookie.name && change.value.as_ref() == Some(&cookie.value)
            };
            assert!(
                changes.iter().any(is_it),
                "{cookie:?} is not among {changes:?}"
            );
        }
        check_sendable(&site, &sent);
        check_listed(&changes);
        if is_few {
            jar.store(&headers, &site);
            assert_eq!(jar.matching(&site).len(), sent.len(), "set again");
        }
    }
}

/// Whatever a site sets, its next page can be requested, and the header is made of these cookies.
fn check_sendable(site: &Url, sent: &[SentCookie]) {
    let plan = FetchPlan::bare(Duration::from_secs(1));
    let headers = Hop::first(site).headers(&plan, "Trawl", sent);
    let headers = headers.expect("cookies of a site can be sent back");
    let pairs: Vec<Vec<u8>> = sent.iter().map(SentCookie::pair).collect();
    let header = headers.get(http::header::COOKIE);
    let header = header.map_or(&b""[..], HeaderValue::as_bytes);
    assert_eq!(header, pairs.join(&b"; "[..]));
}

/// The list of a page's cookies has each name once, and none that was deleted in the end.
fn check_listed(changes: &[CookieChange]) {
    let listed = set_in_the_end(changes);
    for (place, (name, value)) in listed.iter().enumerate() {
        assert!(listed[..place].iter().all(|(other, _)| other != name));
        let mut own = changes
            .iter()
            .filter(|change| text_of(&change.name) == *name);
        let last = own.next_back().and_then(|change| change.value.as_deref());
        assert_eq!(last.map(text_of).as_ref(), Some(value));
    }
}

fn url(text: &str) -> Url {
    text.parse().expect("a URL")
}
