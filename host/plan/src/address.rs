//! URLs as callers write them: several in one string, without a scheme, with a scheme that is never
//! fetched, with a user name and password. The password leaves the URL here, so nothing that stores
//! or shows a URL can store or show it.

use std::borrow::Cow;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;
use url::Url;

use trawl_model::PageFailure;
use trawl_model::failure::status;
use trawl_model::redact::{shown_url, without_userinfo};

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

/// A URL to fetch, and the credential that was written into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The URL without user name and password.
    pub url: Url,
    /// `Authorization` of `https://user:password@host/`, for the URL's origin only. RFC 7617.
    pub authorization: Option<HeaderValue>,
}

/// The URL of a webhook receiver. It keeps its user name and password, which every delivery needs,
/// and shows neither them nor its query: `Debug` and `Display` are [`shown_url`].
#[derive(Clone, PartialEq, Eq)]
pub struct Receiver(Url);

impl Receiver {
    /// The URL with all its secrets, for the code that stores it for delivery.
    pub fn expose(&self) -> &str {
        self.0.as_str()
    }
}

impl From<Url> for Receiver {
    fn from(url: Url) -> Self {
        Self(url)
    }
}

impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown_url(self.0.as_str()))
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

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
pub fn parse(text: &str) -> Result<Target, PageFailure> {
    let written = parse_written(text)?;
    Ok(Target {
        authorization: basic_authorization(&written),
        url: without_userinfo(written),
    })
}

/// Parses the URL of a webhook receiver by the same rules. A single word is no URL.
///
/// # Errors
/// As [`parse`].
pub fn receiver(text: &str) -> Result<Receiver, PageFailure> {
    let url = parse_written(text)?;
    let is_word = scheme(text).is_none()
        && url.port().is_none()
        && url.domain().is_some_and(|host| !host.contains('.'));
    if is_word {
        return Err(PageFailure::new(
            status::UNREACHABLE_OR_REFUSED,
            "write a complete URL such as `https://example.com/hook`".to_owned(),
        ));
    }
    Ok(Receiver(url))
}

/// A text that was written as a URL, without user name and password, for the entry of a page whose
/// URL was refused.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains('@') {
        return Cow::Borrowed(text);
    }
    if text.len() <= ADDRESS_BYTES_MAX
        && let Ok(url) = Url::parse(text)
        && url.has_host()
    {
        return match basic_authorization(&url) {
            Some(_) => Cow::Owned(without_userinfo(url).into()),
            None => Cow::Borrowed(text),
        };
    }
    let start = match text.find("://") {
        Some(at) => at + "://".len(),
        None if text.starts_with("//") => "//".len(),
        None => 0,
    };
    let rest = &text[start..];
    let authority = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    // What follows `mailto:` or `javascript:` has no password.
    let may_have_one = start > 0
        || scheme(text).is_none_or(|scheme| {
            scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
        });
    match rest[..authority].rfind('@').filter(|_| may_have_one) {
        // Nothing but a user name and a password.
        Some(at) if start == 0 && at + 1 == rest.len() => Cow::Borrowed("@"),
        Some(at) => Cow::Owned(format!("{}{}", &text[..start], &rest[at + 1..])),
        None => Cow::Borrowed(text),
    }
}

/// `Authorization` for `https://user:password@host/`. RFC 7617.
pub fn basic_authorization(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut pair = percent_decoded(url.username());
    pair.push(b':');
    pair.extend(percent_decoded(url.password().unwrap_or_default()));
    let mut value =
        HeaderValue::try_from(format!("Basic {}", BASE64_STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        rest = match escaped {
            Some((high, low)) => {
                decoded.push(high * 16 + low);
                &tail[2..]
            }
            None => {
                decoded.push(*first);
                tail
            }
        };
    }
    decoded
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| value.try_into().ok())
}

fn parse_written(text: &str) -> Result<Url, PageFailure> {
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
    // `user:password@host` is no scheme, whose name an error would show.
    let is_password = port.contains('@');
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_scheme && (is_known() || !is_port && !is_password)).then_some(scheme)
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
    fn a_word_is_no_receiver() {
        let refusal = receiver("foo").expect_err("no URL");
        assert!(refusal.message.contains("complete URL"), "{refusal}");
        for good in ["https://foo/", "foo:8080/x", "127.0.0.1", "a.example/hook"] {
            assert!(receiver(good).is_ok(), "{good}");
        }
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
            assert_eq!(failure.status, 526, "{text}");
        }
        assert_eq!(
            parse(&"a".repeat(20_000)).map_err(|failure| failure.status),
            Err(526)
        );
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
                        proptest::prop_assert_eq!(failure.status, 526);
                        proptest::prop_assert!(!failure.message.is_empty());
                    }
                }
            }
        }
    }
}
