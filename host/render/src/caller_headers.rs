//! The caller's headers and cookies: which requests of a page carry them. The rule is that of plain
//! HTTP (`trawl_net::fetch`), for a page that makes many requests. Decision D166.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use chromiumoxide::cdp::browser_protocol::fetch::HeaderEntry;
use serde_json::{Map, Value};
use url::Url;

use trawl_plan::FetchPlan;
use trawl_plan::address::is_same_origin_or_upgrade;

use super::caller_cookies::{COOKIE, CallerCookies};

/// The browser sets this header itself, to what it can decode, and refuses another value.
const ACCEPT_ENCODING: &str = "accept-encoding";
/// Requests that are remembered for having left the page's origin. After so many no redirected
/// request carries the headers any more.
const STRAYED_MAX: usize = 4_096;

/// A request of the page, before it is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageRequest<'a> {
    pub(super) url: &'a str,
    /// Whether the main frame makes it; other frames may be third parties'.
    pub(super) is_main_frame: bool,
    pub(super) is_document: bool,
    /// The same for all requests of a chain of redirects.
    pub(super) network_id: Option<&'a str>,
    pub(super) is_redirected: bool,
}

/// The caller's headers and cookies, and where they may still be sent.
pub(super) struct CallerHeaders {
    headers: Vec<(String, String)>,
    pub(super) cookies: CallerCookies,
    scope: Mutex<HeaderScope>,
}

/// Where a request goes, seen from the page's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To the origin.
    Home,
    /// To another one, or by way of another one.
    Away,
    /// The page itself has left its origin.
    Left,
}

struct HeaderScope {
    /// The requested URL, later its upgrade to `https`.
    url: Url,
    /// Whether the main frame has navigated to another origin. Once it has, its scripts are
    /// others', and whatever it requests or returns to was chosen by them.
    has_left: bool,
    /// Chains of redirects that were on another origin.
    strayed: HashSet<String>,
}

impl CallerHeaders {
    /// The headers and cookies of a page that is requested at `url`.
    pub(super) fn new(fetch: &FetchPlan, url: Url) -> Self {
        let headers = fetch.headers.iter();
        let headers = headers.filter(|(name, _)| name != COOKIE && name != ACCEPT_ENCODING);
        let headers = headers.map(|(name, value)| {
            let text = String::from_utf8_lossy(value.as_bytes());
            (name.to_string(), text.into_owned())
        });
        Self {
            headers: headers.collect(),
            cookies: CallerCookies::of(fetch),
            scope: Mutex::new(HeaderScope {
                url,
                has_left: false,
                strayed: HashSet::new(),
            }),
        }
    }

    /// The headers of this request with the caller's, or without them; `None` when it stays as it
    /// is.
    pub(super) fn applied(
        &self,
        request: PageRequest<'_>,
        present: Option<&Map<String, Value>>,
    ) -> Option<Vec<HeaderEntry>> {
        if self.headers.is_empty() && self.cookies.is_empty() {
            return None;
        }
        let way = self.way(request);
        let is_carrier = request.is_main_frame && way == Way::Home;
        // A redirect repeats the header of the request before it.
        let is_repeated = way == Way::Left && request.is_redirected;
        let way = if is_repeated { Way::Away } else { way };
        let cookie = self.cookie(way, is_carrier, present);
        if self.headers.is_empty() && cookie.is_none() {
            return None;
        }
        let present = present.into_iter().flatten();
        let kept = present.filter(|(name, value)| {
            if name.eq_ignore_ascii_case(COOKIE) {
                return cookie.is_none();
            }
            let mut own = self.headers.iter();
            !own.any(|(own, text)| {
                // A redirect repeats what was added before it.
                own.eq_ignore_ascii_case(name) && (is_carrier || value.as_str() == Some(text))
            })
        });
        let kept = kept.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
        let own = self.headers.iter().filter(|_| is_carrier);
        let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
        let cookie = cookie.as_deref().map(|line| (COOKIE, line));
        let all = kept.chain(own).chain(cookie);
        Some(
            all.map(|(name, value)| HeaderEntry::new(name, value))
                .collect(),
        )
    }

    /// Where the page's origin is, if a navigation to this URL leaves it and the caller's cookies
    /// must not be there when it returns.
    pub(super) fn left_by(&self, url: &str) -> Option<Url> {
        if self.cookies.is_empty() {
            return None;
        }
        let scope = self.scope.lock().unwrap_or_else(PoisonError::into_inner);
        let is_home = Url::parse(url).is_ok_and(|url| is_same_origin_or_upgrade(&scope.url, &url));
        (!scope.has_left && !is_home).then(|| scope.url.clone())
    }

    /// The page's origin and this URL, if a navigation to it goes to the origin's upgrade to
    /// `https`.
    pub(super) fn upgraded_by(&self, url: &str) -> Option<(Url, Url)> {
        let to = Url::parse(url).ok()?;
        let scope = self.scope.lock().unwrap_or_else(PoisonError::into_inner);
        let is_upgrade =
            scope.url.scheme() != to.scheme() && is_same_origin_or_upgrade(&scope.url, &to);
        (!scope.has_left && is_upgrade).then(|| (scope.url.clone(), to))
    }

    /// The `Cookie` header of this request, if it is not what the browser sends.
    fn cookie(
        &self,
        way: Way,
        is_carrier: bool,
        present: Option<&Map<String, Value>>,
    ) -> Option<String> {
        let present = present.into_iter().flatten();
        let mut lines = present.filter(|(name, _)| name.eq_ignore_ascii_case(COOKIE));
        let line = lines.next().and_then(|(_, value)| value.as_str());
        match way {
            Way::Home if is_carrier => self.cookies.completed(line),
            Way::Away => self.cookies.removed(line),
            // Those of a page that has left are not in the browser's jar any more.
            Way::Home | Way::Left => None,
        }
    }

    /// Where a request goes. Headers are carried home: by a navigation of the main frame until it
    /// leaves the origin, and until then by what the main frame requests from that origin.
    fn way(&self, request: PageRequest<'_>) -> Way {
        let mut scope = self.scope.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(url) = Url::parse(request.url) else {
            return Way::Away;
        };
        if request.is_main_frame && request.is_document {
            if is_same_origin_or_upgrade(&scope.url, &url) {
                scope.url = url;
            } else {
                scope.has_left = true;
            }
            return match scope.has_left {
                true => Way::Left,
                false => Way::Home,
            };
        }
        let is_home = scope.url.origin() == url.origin();
        let has_strayed = request.is_redirected
            && (scope.strayed.len() >= STRAYED_MAX
                || request
                    .network_id
                    .is_none_or(|id| scope.strayed.contains(id)));
        if !is_home
            && scope.strayed.len() < STRAYED_MAX
            && let Some(id) = request.network_id
        {
            scope.strayed.insert(id.to_owned());
        }
        match (scope.has_left, is_home && !has_strayed) {
            (true, _) => Way::Left,
            (false, true) => Way::Home,
            (false, false) => Way::Away,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const DOCUMENT: PageRequest<'_> = PageRequest {
        url: "",
        is_main_frame: true,
        is_document: true,
        network_id: Some("1"),
        is_redirected: false,
    };
    const RESOURCE: PageRequest<'_> = PageRequest {
        is_document: false,
        ..DOCUMENT
    };

    fn of_plan(change: impl FnOnce(&mut FetchPlan)) -> CallerHeaders {
        let mut fetch = FetchPlan::bare(Duration::from_secs(1));
        change(&mut fetch);
        CallerHeaders::new(&fetch, Url::parse("http://a.example/").expect("a URL"))
    }

    fn with_header(fetch: &mut FetchPlan, name: &str, value: &str) {
        let name = name.parse().expect("a header name");
        let value = value.as_bytes().try_into().expect("a header value");
        fetch.headers.push((name, value));
    }

    fn headers() -> CallerHeaders {
        of_plan(|fetch| with_header(fetch, "x-key", "secret"))
    }

    /// Which of these requests, made in this order, carry the headers.
    fn carried(requests: &[PageRequest<'_>]) -> Vec<bool> {
        let headers = headers();
        let mut carried = Vec::new();
        for request in requests {
            let sent = headers.applied(*request, None).expect("there are some");
            carried.push(!sent.is_empty());
        }
        carried
    }

    fn at<'a>(url: &'a str, request: PageRequest<'a>) -> PageRequest<'a> {
        PageRequest { url, ..request }
    }

    #[test]
    fn the_page_and_its_own_resources_carry_them() {
        let requests = [
            at("http://a.example/", DOCUMENT),
            at("http://a.example/x.js", RESOURCE),
            at("http://b.example/x.js", RESOURCE),
            at("http://a.example/next", DOCUMENT),
            at("https://a.example/next", DOCUMENT),
            at("https://a.example/x.js", RESOURCE),
            at("http://a.example/x.js", RESOURCE),
        ];
        let expected = [true, true, false, true, true, true, false];
        assert_eq!(carried(&requests), expected);
    }

    #[test]
    fn nothing_carries_them_once_the_page_has_left() {
        let requests = [
            at("http://a.example/", DOCUMENT),
            at("http://b.example/", DOCUMENT),
            at("http://a.example/secret", RESOURCE),
            at("http://a.example/", DOCUMENT),
            at("http://a.example/x.js", RESOURCE),
        ];
        assert_eq!(carried(&requests), [true, false, false, false, false]);
    }

    #[test]
    fn frames_do_not_carry_them() {
        let frame = PageRequest {
            is_main_frame: false,
            ..RESOURCE
        };
        let document = PageRequest {
            is_document: true,
            ..frame
        };
        let requests = [
            at("http://a.example/", DOCUMENT),
            at("http://a.example/frame", document),
            at("http://a.example/x.js", frame),
            at("http://a.example/x.js", RESOURCE),
        ];
        assert_eq!(carried(&requests), [true, false, false, true]);
    }

    #[test]
    fn a_redirect_over_another_origin_loses_them() {
        let redirected = PageRequest {
            is_redirected: true,
            network_id: Some("2"),
            ..RESOURCE
        };
        let first = PageRequest {
            is_redirected: false,
            ..redirected
        };
        let other = PageRequest {
            network_id: Some("3"),
            ..redirected
        };
        let requests = [
            at("http://a.example/", DOCUMENT),
            at("http://a.example/1", first),
            at("http://a.example/2", redirected),
            at("http://b.example/3", redirected),
            at("http://a.example/4", redirected),
            at("http://a.example/5", other),
        ];
        let expected = [true, true, true, false, false, true];
        assert_eq!(carried(&requests), expected);
    }

    #[test]
    fn the_browser_chooses_its_codings() {
        let document = at("http://a.example/", DOCUMENT);
        let headers = of_plan(|fetch| with_header(fetch, "accept-encoding", "*"));
        assert!(headers.applied(document, None).is_none());
        let headers = of_plan(|fetch| {
            with_header(fetch, "accept-encoding", "br;q=0");
            with_header(fetch, "x-key", "secret");
        });
        let sent = headers.applied(document, None).expect("headers");
        let names: Vec<&str> = sent.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["x-key"]);
    }

    #[test]
    fn what_a_redirect_repeats_is_taken_away() {
        let headers = headers();
        let present = serde_json::json!({"x-key": "secret", "accept": "*/*"});
        let left = headers.applied(at("http://b.example/", DOCUMENT), present.as_object());
        let left = left.expect("there are some");
        let names: Vec<&str> = left.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["accept"]);
    }

    /// The `Cookie` header of each of these requests, made in this order with what the browser
    /// would send; `None` where that is left as it is.
    fn cookies_sent(
        headers: &CallerHeaders,
        requests: &[(PageRequest<'_>, &str)],
    ) -> Vec<Option<String>> {
        let sent = requests.iter().map(|(request, present)| {
            let present = serde_json::json!({ "Cookie": present });
            let sent = headers.applied(*request, present.as_object())?;
            let cookie = sent.into_iter().find(|entry| entry.name == COOKIE);
            cookie.map(|entry| entry.value)
        });
        sent.collect()
    }

    fn with_cookie(fetch: &mut FetchPlan) {
        fetch.cookies = vec![("sid".to_owned(), "secret".to_owned())];
    }

    #[test]
    fn another_port_gets_no_cookies_of_the_caller() {
        let headers = of_plan(with_cookie);
        let frame = PageRequest {
            is_main_frame: false,
            ..RESOURCE
        };
        let returned = PageRequest {
            is_redirected: true,
            ..RESOURCE
        };
        let own = "sid=secret; s=1";
        let requests = [
            (at("http://a.example/", DOCUMENT), own),
            (at("http://a.example/x.js", RESOURCE), own),
            (at("http://a.example/frame", frame), own),
            (at("http://a.example:8080/x.js", RESOURCE), own),
            (at("http://a.example:8080/frame", frame), "sid=secret"),
            (at("http://a.example:8080/x.js", RESOURCE), "sid=renewed"),
            (at("http://a.example/returned", returned), own),
        ];
        let (s, nothing) = (Some("s=1".to_owned()), Some(String::new()));
        let expected = [None, None, None, s.clone(), nothing, None, s];
        assert_eq!(cookies_sent(&headers, &requests), expected);
    }

    #[test]
    fn a_navigation_that_leaves_is_known_before_it_is_made() {
        let headers = of_plan(with_cookie);
        assert_eq!(headers.left_by("http://a.example/next"), None);
        assert_eq!(headers.left_by("https://a.example/next"), None);
        let home = Url::parse("http://a.example/").ok();
        assert_eq!(headers.left_by("http://a.example:8080/"), home);
        assert_eq!(headers.left_by("http://b.example/"), home);
        let left = at("http://b.example/", DOCUMENT);
        assert!(headers.applied(left, None).is_none());
        assert_eq!(headers.left_by("http://c.example/"), None);
        // What the browser sends then is the site's own.
        let back = [(at("http://a.example/", DOCUMENT), "sid=secret")];
        assert_eq!(cookies_sent(&headers, &back), [None]);
    }

    #[test]
    fn an_upgrade_is_known_before_it_is_made() {
        let headers = of_plan(|_| ());
        for url in [
            "http://a.example/next",
            "https://a.example:8443/",
            "https://b.example/",
        ] {
            assert_eq!(headers.upgraded_by(url), None, "{url}");
        }
        let to = "https://a.example/next";
        let home = Url::parse("http://a.example/").expect("a URL");
        let expected = (home, Url::parse(to).expect("a URL"));
        assert_eq!(headers.upgraded_by(to), Some(expected));
        headers.way(at(to, DOCUMENT));
        assert_eq!(headers.upgraded_by("https://a.example/last"), None);
    }

    #[test]
    fn a_cookie_header_leaves_the_cookies_of_the_site_alone() {
        let headers = of_plan(|fetch| {
            with_header(fetch, "cookie", "__Secure-a=1; b=2");
            with_header(fetch, "x-key", "gr\u{fc}n");
        });
        let untaken = vec![("__Secure-a".to_owned(), "1".to_owned())];
        headers.cookies.set_untaken(untaken);
        let frame = PageRequest {
            is_main_frame: false,
            ..RESOURCE
        };
        let requests = [
            (at("http://a.example/", DOCUMENT), "b=2; s=1"),
            (at("http://a.example/frame", frame), "b=2; s=1"),
        ];
        let all = "b=2; s=1; __Secure-a=1".to_owned();
        let sent = cookies_sent(&headers, &requests);
        assert_eq!(sent[0], Some(all));
        // It is in the headers as the browser had it.
        assert_eq!(sent[1], None);
        let document = at("http://a.example/", DOCUMENT);
        let sent = headers.applied(document, None).expect("headers");
        let key = sent.iter().find(|entry| entry.name == "x-key");
        assert_eq!(key.map(|entry| entry.value.as_str()), Some("gr\u{fc}n"));
    }
}
