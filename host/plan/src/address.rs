//! URLs as callers write them: several in one string, without a scheme, or with a scheme that is
//! never fetched.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::Url;

use trawl_model::PageFailure;
use trawl_model::failure::status;

use super::PAGES_MAX;

/// Longest URL that is parsed, in bytes. Browsers and servers accept far less.
const ADDRESS_BYTES_MAX: usize = 16 * 1024;

/// How many bytes after a comma are searched for a scheme or a host name (a name has at most 253
/// bytes): keeps `split` linear.
const LOOK_AHEAD_BYTES: usize = 300;

/// Schemes that people write without `//`, so that `javascript:1` is never parsed as a host and its
/// port.
const BARE_SCHEMES: [&str; 14] = [
    "about",
    "blob",
    "chrome",
    "data",
    "file",
    "ftp",
    "gopher",
    "http",
    "https",
    "javascript",
    "mailto",
    "tel",
    "view-source",
    "ws",
];

/// The URLs of one `url` parameter: split at commas, trimmed, empty ones left out.
///
/// A comma separates only where a scheme or a host name follows; a comma inside a path or query
/// stays. Decision D24: a trailing comma is taken as a slip and dropped. Stops a little above
/// [`PAGES_MAX`], which is refused anyway.
pub fn split(text: &str) -> Vec<&str> {
    let mut urls = Vec::new();
    let mut start = 0;
    for (comma, _) in text.match_indices(',') {
        let rest = beginning(text[comma + 1..].trim_start());
        if rest.is_empty() || rest.starts_with(',') || begins_a_url(rest) {
            urls.push(&text[start..comma]);
            start = comma + 1;
        }
        if urls.len() > PAGES_MAX {
            break;
        }
    }
    urls.push(&text[start..]);
    urls.retain_mut(|address| {
        *address = address.trim();
        !address.is_empty()
    });
    urls
}

/// Parses the URL to fetch. A missing scheme is `https`.
///
/// # Errors
/// The failure the page becomes: the URL does not parse, or its scheme is not `http` or `https`.
pub fn parse(text: &str) -> Result<Url, PageFailure> {
    let refuse = |message: String| PageFailure::new(status::UNREACHABLE_OR_REFUSED, message);
    if text.len() > ADDRESS_BYTES_MAX {
        return Err(refuse(format!(
            "the URL is longer than {ADDRESS_BYTES_MAX} bytes"
        )));
    }
    let url = match scheme(text) {
        Some(_) => Url::parse(text),
        None => Url::parse(&format!("https://{}", text.trim_start_matches('/'))),
    }
    .map_err(|error| refuse(format!("not a valid URL: {error}")))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(refuse(format!(
            "the scheme `{other}` is refused: only `http` and `https` are fetched"
        ))),
    }
}

/// The scheme of a written URL; `None` if it begins with a host (`example.com:8080/x` does).
fn scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_known = || {
        BARE_SCHEMES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(scheme))
    };
    let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_scheme && (is_known() || !is_port)).then_some(scheme)
}

fn begins_a_url(rest: &str) -> bool {
    if let Some((scheme_text, after)) = rest.split_once(':')
        && scheme(rest) == Some(scheme_text)
        && (after.starts_with("//")
            || BARE_SCHEMES
                .iter()
                .any(|known| known.eq_ignore_ascii_case(scheme_text)))
    {
        return true;
    }
    let authority = rest
        .split(['/', '?', '#', ','])
        .next()
        .unwrap_or_default()
        .trim_end();
    is_host(without_port(authority))
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LOOK_AHEAD_BYTES)]
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Whether this is certainly a host: an IP address, `localhost`, or a name under an existing public
/// suffix. `15z` and `page.html` are not.
fn is_host(text: &str) -> bool {
    if let Some(literal) = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return literal.parse::<Ipv6Addr>().is_ok();
    }
    if text.eq_ignore_ascii_case("localhost") || text.parse::<Ipv4Addr>().is_ok() {
        return true;
    }
    let name = text.to_lowercase();
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && label
                .chars()
                .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
    };
    name.contains('.')
        && name.split('.').all(is_label)
        && psl::suffix(name.as_bytes())
            .is_some_and(|suffix| suffix.is_known() && suffix != name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

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
                parse(text).map(String::from),
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
            assert_eq!(failure.status, 526, "{text}");
        }
        assert_eq!(
            parse(&"a".repeat(20_000)).map_err(|failure| failure.status),
            Err(526)
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_handled(text in "(?s).{0,200}") {
            for address in split(&text) {
                let _ = parse(address);
            }
        }
    }
}
