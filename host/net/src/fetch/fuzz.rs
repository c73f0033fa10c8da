//! Fuzzing of cookies: what sites set, and the header that it becomes.

use http::HeaderValue;
use http::header::SET_COOKIE;

use super::hop::Hop;
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
    let text = input.to_ascii_lowercase();
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    let deletes = has(b"max-age") || has(b"expires");
    for (site, stranger) in SITES {
        let (site, stranger) = (url(site), url(stranger));
        let jar = CookieJar::new();
        let stored = jar.store(&headers, &site);
        assert!(stored.len() <= headers.len());
        assert_eq!(jar.matching(&stranger), [], "{site} to {stranger}");
        let sent = jar.matching(&site);
        let bytes = sent
            .iter()
            .map(|(name, value)| name.len() + value.len() + 3);
        assert!(bytes.sum::<usize>() <= HEADER_BYTES_MAX);
        for cookie in &sent {
            assert!(
                deletes || stored.contains(cookie),
                "{cookie:?} is not among {stored:?}"
            );
        }
        check_sendable(&site, &sent);
        if headers.len() <= FEW {
            jar.store(&headers, &site);
            assert_eq!(jar.matching(&site).len(), sent.len(), "set again");
        }
    }
}

/// Whatever a site sets, its next page can be requested, and the header is made of these cookies.
fn check_sendable(site: &Url, sent: &[(String, String)]) {
    let plan = FetchPlan::bare(Duration::from_secs(1));
    let headers = Hop::first(site).headers(&plan, "Trawl", sent.to_vec());
    let headers = headers.expect("cookies of a site can be sent back");
    let pairs = sent.iter().map(|(name, value)| format!("{name}={value}"));
    let expected = pairs.collect::<Vec<_>>().join("; ");
    let header = headers.get(http::header::COOKIE);
    let header = header.map_or(&b""[..], HeaderValue::as_bytes);
    assert_eq!(header, expected.as_bytes());
}

fn url(text: &str) -> Url {
    text.parse().expect("a URL")
}
