//! The cookies of one run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cookie_store::{Cookie, CookieDomain, CookieStore};
use http::HeaderMap;
use http::header::SET_COOKIE;
use url::Url;

/// Bytes of one `Set-Cookie` header: what browsers accept. RFC 6265 section 6.1.
const COOKIE_BYTES_MAX: usize = 4096;
/// Cookies of one run.
const COOKIES_MAX: usize = 1000;
/// Bytes of one `Cookie` header: common servers refuse larger ones.
const HEADER_BYTES_MAX: usize = 16 * 1024;

/// The cookies that the sites of one run have set, shared by its pages. RFC 6265.
#[derive(Debug, Default)]
pub struct CookieJar(Mutex<CookieStore>);

impl CookieJar {
    /// An empty jar.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores the cookies of a response and returns their names and values; a cookie that was
    /// deleted or refused (foreign domain, public suffix, too large, one too many) is not among
    /// them.
    pub(super) fn store(&self, headers: &HeaderMap, url: &Url) -> Vec<(String, String)> {
        let mut store = None;
        let mut stored: Vec<(String, String)> = Vec::new();
        for value in headers.get_all(SET_COOKIE) {
            let text = String::from_utf8_lossy(value.as_bytes());
            if text.len() > COOKIE_BYTES_MAX {
                continue;
            }
            let Some(cookie) = accepted(&text, url) else {
                continue;
            };
            let store = store.get_or_insert_with(|| self.locked());
            let named = (cookie.name().to_owned(), cookie.value().to_owned());
            if cookie.is_expired() {
                // A site deletes a cookie by an expiry date in the past, also in a full jar.
                let _ = store.insert(cookie, url);
                stored.retain(|(name, _)| *name != named.0);
            } else if store.iter_any().count() < COOKIES_MAX && store.insert(cookie, url).is_ok() {
                stored.push(named);
            }
        }
        stored
    }

    /// Cookies for a request to this URL, name and value, longest path first.
    pub(super) fn matching(&self, url: &Url) -> Vec<(String, String)> {
        let store = self.locked();
        let mut cookies = store.matches(url);
        cookies.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let mut bytes = 0;
        cookies
            .into_iter()
            .map(|cookie| (cookie.name().to_owned(), cookie.value().to_owned()))
            .take_while(|(name, value)| {
                bytes += name.len() + value.len() + 3;
                bytes <= HEADER_BYTES_MAX
            })
            .collect()
    }

    fn locked(&self) -> MutexGuard<'_, CookieStore> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parses a cookie that may be stored. One for a whole public suffix is refused, unless the host is
/// that suffix: then it is host-only. RFC 6265 section 5.3, step 5.
fn accepted(text: &str, url: &Url) -> Option<Cookie<'static>> {
    let mut cookie = Cookie::parse(text, url).ok()?.into_owned();
    if let CookieDomain::Suffix(domain) = &cookie.domain
        && psl::suffix_str(domain).is_none_or(|suffix| suffix == domain)
    {
        if !cookie.domain.host_is_identical(url) {
            return None;
        }
        cookie.domain = CookieDomain::host_only(url).ok()?;
    }
    Some(cookie)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn url(text: &str) -> Url {
        text.parse().expect("a URL")
    }

    fn set(jar: &CookieJar, from: &str, cookies: &[&str]) -> usize {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(
                SET_COOKIE,
                HeaderValue::from_str(cookie).expect("a header value"),
            );
        }
        jar.store(&headers, &url(from)).len()
    }

    fn sent(jar: &CookieJar, to: &str) -> String {
        let mut cookies: Vec<_> = jar
            .matching(&url(to))
            .into_iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        cookies.sort();
        cookies.join("; ")
    }

    #[test]
    fn cookies_go_back_to_the_host_that_set_them() {
        let jar = CookieJar::new();
        set(
            &jar,
            "http://a.example.com/",
            &[
                "a=1",
                "b=2; Domain=example.com",
                "c=3; Secure",
                "d=4; Path=/deep",
            ],
        );
        assert_eq!(sent(&jar, "http://a.example.com/"), "a=1; b=2");
        assert_eq!(
            sent(&jar, "https://a.example.com/deep/x"),
            "a=1; b=2; c=3; d=4"
        );
        assert_eq!(sent(&jar, "http://b.example.com/"), "b=2");
        assert_eq!(sent(&jar, "http://b.a.example.com/"), "b=2");
        assert_eq!(sent(&jar, "http://other.com/"), "");
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
        ] {
            assert_eq!(set(&jar, from, &[cookie]), 0, "{from} {cookie}");
        }
        assert_eq!(
            set(&jar, "http://github.io/", &["own=1; Domain=github.io"]),
            1
        );
        assert_eq!(sent(&jar, "http://github.io/"), "own=1");
        assert_eq!(sent(&jar, "http://me.github.io/"), "");
    }

    #[test]
    fn deleted_cookies_are_removed_and_oversized_ones_refused() {
        let jar = CookieJar::new();
        assert_eq!(set(&jar, "http://a.com/", &["a=1", "a=2"]), 2);
        assert_eq!(sent(&jar, "http://a.com/"), "a=2");
        assert_eq!(set(&jar, "http://a.com/", &["a=; Max-Age=0"]), 0);
        assert_eq!(sent(&jar, "http://a.com/"), "");
        let huge = format!("h={}", "x".repeat(COOKIE_BYTES_MAX));
        assert_eq!(set(&jar, "http://a.com/", &[&huge]), 0);
    }

    #[test]
    fn the_size_of_a_jar_and_of_a_header_is_bounded() {
        let jar = CookieJar::new();
        let many: Vec<_> = (0..COOKIES_MAX + 50)
            .map(|n| format!("c{n}=some value of a cookie"))
            .collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert_eq!(set(&jar, "http://a.com/", &many), COOKIES_MAX);
        let bytes: usize = jar
            .matching(&url("http://a.com/"))
            .iter()
            .map(|(n, v)| n.len() + v.len() + 3)
            .sum();
        assert!(bytes <= HEADER_BYTES_MAX);
    }
}
