//! The caller's cookies. They are in the browser's own jar, where the site can renew and delete
//! them, but only the page's own origin gets them: a jar knows no ports, and it sends them again
//! when the page returns from elsewhere. Decision D382.

use std::sync::OnceLock;

use chromiumoxide::cdp::browser_protocol::network::{
    Cookie, CookieParam, CookieSameSite, DeleteCookiesParams, GetCookiesParams,
};
use url::Url;

use trawl_net::egress::KeptCookies;
use trawl_plan::FetchPlan;

use super::cdp::{CallError, Connection};

/// The header, as a name.
pub(super) const COOKIE: &str = "cookie";

/// Most cookies of a caller: the browser's jar holds no more of one host.
const COOKIES_MAX: usize = 180;

/// The caller's cookies for one page.
#[derive(Debug, Default)]
pub(super) struct CallerCookies {
    /// Each name once.
    pairs: Vec<(String, String)>,
    /// Those that the browser's jar does not take, such as `__Secure-…` for an `http` page. They
    /// are sent as headers are.
    untaken: OnceLock<Vec<(String, String)>>,
    /// Those that the page's proxy keeps out of WebSockets to other ports.
    kept: KeptCookies,
}

impl CallerCookies {
    /// Those of `cookies`, and those of a header `Cookie` that are not named there.
    pub(super) fn of(fetch: &FetchPlan) -> Self {
        let mut pairs = fetch.cookies.clone();
        let headers = fetch.headers.iter().filter(|(name, _)| name == COOKIE);
        for (_, value) in headers {
            let line = String::from_utf8_lossy(value.as_bytes());
            pairs.extend(pairs_of(&line).map(|pair| match pair.split_once('=') {
                Some((name, value)) => (name.trim_end().to_owned(), value.trim_start().to_owned()),
                None => (String::new(), pair.to_owned()),
            }));
        }
        let mut own: Vec<(String, String)> = Vec::new();
        for (name, value) in pairs.into_iter().take(COOKIES_MAX) {
            if own.iter().all(|(known, _)| *known != name) {
                own.push((name, value));
            }
        }
        Self {
            pairs: own,
            untaken: OnceLock::new(),
            kept: KeptCookies::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Has the page's proxy keep them out of WebSockets to other ports of its host, which the
    /// protocol has no way to change.
    pub(super) fn kept_by(&mut self, proxy: KeptCookies, home: &Url) {
        let pairs = self.pairs.iter().map(|(name, value)| pair(name, value));
        proxy.keep(home, pairs.collect());
        self.kept = proxy;
    }

    /// The cookies for the browser's jar, as those of this page.
    pub(super) fn for_jar(&self, url: &Url) -> Vec<CookieParam> {
        let cookies = self.pairs.iter().map(|(name, value)| {
            let mut cookie = CookieParam::new(name.as_str(), value.as_str());
            cookie.url = Some(url.to_string());
            cookie.path = Some("/".to_owned());
            cookie.secure = Some(url.scheme() == "https");
            // Not for pages of other sites that this one leads to or embeds.
            cookie.same_site = Some(CookieSameSite::Strict);
            // Nor for scripts of others in this one: session cookies are not, at their site.
            cookie.http_only = Some(true);
            cookie
        });
        cookies.collect()
    }

    /// Notes which of them the browser's jar did not take.
    pub(super) fn set_untaken(&self, untaken: Vec<(String, String)>) {
        let _once = self.untaken.set(untaken);
    }

    /// Whether a cookie of the browser's jar is the caller's, neither renewed nor replaced.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        let mut pairs = self.pairs.iter();
        pairs.any(|(own, text)| own == name && text == value)
    }

    /// The `Cookie` header of a request to the page's origin that carries headers, if it is not
    /// what the browser sends: the jar's cookies, then those that it did not take.
    pub(super) fn completed(&self, present: Option<&str>) -> Option<String> {
        let untaken = self.untaken.get().filter(|untaken| !untaken.is_empty())?;
        let present: Vec<&str> = pairs_of(present.unwrap_or_default()).collect();
        let is_known = |name: &str| present.iter().any(|pair| name_of(pair) == name);
        let more = untaken.iter().filter(|(name, _)| !is_known(name));
        let more = more.map(|(name, value)| pair(name, value));
        let all = present.iter().map(|&pair| pair.to_owned()).chain(more);
        Some(all.collect::<Vec<_>>().join("; "))
    }

    /// The `Cookie` header of a request to another origin, if it is not what the browser sends:
    /// without the caller's cookies. It may be empty, since the browser writes one that is missing.
    pub(super) fn removed(&self, present: Option<&str>) -> Option<String> {
        let present = present?;
        let is_own = |text: &&str| {
            let mut pairs = self.pairs.iter();
            pairs.any(|(name, value)| pair(name, value) == *text)
        };
        let (own, kept): (Vec<&str>, Vec<&str>) = pairs_of(present).partition(is_own);
        (!own.is_empty()).then(|| kept.join("; "))
    }

    /// Takes them out of the browser's jar, but for those that the site has renewed or replaced.
    ///
    /// # Errors
    /// [`CallError`]: they may be in it still.
    pub(super) async fn leave(
        &self,
        connection: &Connection,
        session: &str,
        home: &Url,
    ) -> Result<(), CallError> {
        let of_home = GetCookiesParams {
            urls: Some(vec![home.to_string()]),
        };
        let cookies = connection.call(Some(session), of_home).await?.cookies;
        let is_own = |cookie: &Cookie| self.has(&cookie.name, &cookie.value);
        for cookie in cookies.into_iter().filter(is_own) {
            let mut delete = DeleteCookiesParams::new(cookie.name);
            delete.domain = Some(cookie.domain);
            delete.path = Some(cookie.path);
            connection.call(Some(session), delete).await?;
        }
        // From now on what it has is the site's.
        self.kept.release();
        Ok(())
    }
}

/// The pairs of a `Cookie` header.
fn pairs_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(';')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
}

fn name_of(pair: &str) -> &str {
    pair.split_once('=').map_or("", |(name, _)| name)
}

/// A cookie as it stands in a header.
fn pair(name: &str, value: &str) -> String {
    match name {
        "" => value.to_owned(),
        name => format!("{name}={value}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn cookies(cookies: &[(&str, &str)], header: Option<&str>) -> CallerCookies {
        let mut fetch = FetchPlan::bare(Duration::from_secs(1));
        let pairs = cookies.iter();
        fetch.cookies = pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        if let Some(line) = header {
            let name = COOKIE.parse().expect("a header name");
            let value = line.parse().expect("a header value");
            fetch.headers.push((name, value));
        }
        CallerCookies::of(&fetch)
    }

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn those_of_a_header_are_cookies_too() {
        let own = cookies(&[("a", "1"), ("b", "2")], Some("b=3; c = 4=5 ;flag;; d="));
        let jar = own.for_jar(&url("https://a.example/x/y"));
        let pairs: Vec<(&str, &str)> = jar
            .iter()
            .map(|cookie| (cookie.name.as_str(), cookie.value.as_str()))
            .collect();
        let expected = [
            ("a", "1"),
            ("b", "2"),
            ("c", "4=5"),
            ("", "flag"),
            ("d", ""),
        ];
        assert_eq!(pairs, expected);
        for cookie in &jar {
            assert_eq!(cookie.http_only, Some(true));
            assert_eq!(cookie.secure, Some(true));
            assert_eq!(cookie.path.as_deref(), Some("/"));
            assert_eq!(cookie.same_site, Some(CookieSameSite::Strict));
        }
        let plain = own.for_jar(&url("http://a.example/"));
        assert!(plain.iter().all(|cookie| cookie.secure == Some(false)));
    }

    #[test]
    fn other_origins_get_the_cookies_of_the_site_alone() {
        let own = cookies(&[("sid", "secret"), ("", "flag")], None);
        for (present, sent) in [
            (Some("sid=secret"), Some("")),
            (Some("s=1; sid=secret; t=2"), Some("s=1; t=2")),
            (Some("s=1; flag"), Some("s=1")),
            // The site's own.
            (Some("sid=renewed"), None),
            (Some("s=1"), None),
            (None, None),
        ] {
            assert_eq!(own.removed(present).as_deref(), sent, "{present:?}");
        }
    }

    #[test]
    fn what_the_jar_does_not_take_is_added() {
        let own = cookies(&[("__Secure-a", "1"), ("b", "2")], None);
        assert_eq!(own.completed(Some("b=2")), None);
        own.set_untaken(vec![("__Secure-a".to_owned(), "1".to_owned())]);
        for (present, sent) in [
            (None, "__Secure-a=1"),
            (Some("b=2"), "b=2; __Secure-a=1"),
            (Some("__Secure-a=new; b=2"), "__Secure-a=new; b=2"),
        ] {
            assert_eq!(own.completed(present).as_deref(), Some(sent));
        }
    }

    #[test]
    fn only_unchanged_cookies_are_the_callers() {
        let own = cookies(&[("sid", "secret")], None);
        assert!(own.has("sid", "secret"));
        assert!(!own.has("sid", "renewed") && !own.has("other", "secret"));
    }
}
