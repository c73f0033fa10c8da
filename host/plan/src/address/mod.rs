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

use trawl_model::redact::{shown_url, without_userinfo};
use trawl_model::{Cause, PageFailure, urls};

use super::PAGES_MAX;

/// Longest URL that is parsed, in bytes, as it is written and with its percent-encoding: what is
/// stored of it is parsed again. Browsers and servers accept far less.
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

/// The URLs of one `url` parameter: split at commas, trimmed (as [`urls::trim`] does), empty ones
/// left out.
///
/// A comma separates only where a scheme or a host name follows; a comma inside a path or query
/// stays. Decision D24: a trailing comma is taken as a slip and dropped. Stops a little above
/// [`PAGES_MAX`], which is refused anyway.
pub fn split(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (comma, _) in text.match_indices(',') {
        let rest = beginning(text[comma + 1..].trim_start_matches(urls::is_blank));
        if rest.is_empty() || rest.starts_with(',') || begins_a_url(rest) {
            found.push(&text[start..comma]);
            start = comma + 1;
        }
        if found.len() > PAGES_MAX {
            break;
        }
    }
    found.push(&text[start..]);
    found.retain_mut(|address| {
        *address = urls::trim(address);
        !address.is_empty()
    });
    found
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

/// Parses the URL of a webhook receiver by the same rules. A single word is not a URL.
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
            Cause::BadUrl,
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

/// A pattern of URLs without user name and password, if it is written as a URL that has them.
/// Nothing else of it changes, since it may be a regular expression as well.
pub fn pattern(text: &str) -> Cow<'_, str> {
    let Some(start) = text.find("://").map(|at| at + "://".len()) else {
        return Cow::Borrowed(text);
    };
    let rest = &text[start..];
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rfind('@').map(|at| &rest[at + 1..]);
    let is_host = |host: &&str| host.starts_with(|c: char| c.is_alphanumeric() || c == '[');
    match host.filter(is_host) {
        Some(host) if Url::parse(text).is_ok() => Cow::Owned(format!("{}{host}", &text[..start])),
        _ => Cow::Borrowed(text),
    }
}

/// An entry of `external_domains` without user name and password: a host, also one that is written
/// as a URL, or a regular expression of hosts. Nothing more changes when it is cleaned again, so
/// what is stored is planned as it was before.
pub fn domain(text: &str) -> Cow<'_, str> {
    let cleaned = match pattern(text.trim()) {
        Cow::Borrowed(text) => shown(text),
        cleaned @ Cow::Owned(_) => cleaned,
    };
    match cleaned {
        // Behind one password there may be a URL with another.
        Cow::Owned(cleaned) => Cow::Owned(domain(&cleaned).into_owned()),
        Cow::Borrowed(text) => Cow::Borrowed(text),
    }
}

/// A URL without its fragment: as servers receive it.
pub fn without_fragment(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    url
}

/// Same origin, or an upgrade of the same host from `http` to `https` on the default ports, which
/// exposes nothing more.
pub fn is_same_origin_or_upgrade(from: &Url, to: &Url) -> bool {
    let is_upgrade = is_upgrade(from, to) && from.host() == to.host();
    is_upgrade || from.origin() == to.origin()
}

/// Same origin or an upgrade of it, with or without `www.`: what a caller writes for one of the two
/// names is meant for the other, too.
pub fn is_same_site(from: &Url, to: &Url) -> bool {
    let is_same =
        from.scheme() == to.scheme() && from.port_or_known_default() == to.port_or_known_default();
    bare_host(from) == bare_host(to) && (is_same || is_upgrade(from, to))
}

/// The origins of all documents that are of the [same site](is_same_site) as this URL, as browsers
/// write origins.
pub fn site_origins(url: &Url) -> Vec<String> {
    let bare = bare_host(url).to_owned();
    let mut origins = Vec::new();
    for scheme in ["http", "https"] {
        for host in [bare.clone(), format!("www.{bare}")] {
            let mut other = url.clone();
            let is_url = other.set_scheme(scheme).is_ok() && other.set_host(Some(&host)).is_ok();
            if is_url && is_same_site(url, &other) {
                origins.push(other.origin().ascii_serialization());
            }
        }
    }
    origins
}

/// From `http` to `https`, on the default ports.
fn is_upgrade(from: &Url, to: &Url) -> bool {
    (from.scheme(), to.scheme()) == ("http", "https")
        && from.port().is_none()
        && to.port().is_none()
}

/// A host without `www.`.
fn bare_host(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    host.strip_prefix("www.").unwrap_or(host)
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
    let refuse = |message: String| PageFailure::new(Cause::BadUrl, message);
    let too_long = || refuse(format!("the URL is longer than {ADDRESS_BYTES_MAX} bytes"));
    if text.len() > ADDRESS_BYTES_MAX {
        return Err(too_long());
    }
    let url = match scheme(text) {
        Some(_) => urls::parse(text),
        None => urls::parse(&format!("https://{}", text.trim_start_matches('/'))),
    }
    .map_err(|error| refuse(format!("not a valid URL: {error}")))?;
    match url.scheme() {
        "http" | "https" if url.as_str().len() > ADDRESS_BYTES_MAX => Err(too_long()),
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
    // `user:password@host` does not begin with a scheme, whose name an error would show.
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
mod tests;
