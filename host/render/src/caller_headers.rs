//! The caller's headers: which requests of a page carry them. The rule is that of plain HTTP
//! (`trawl_net::fetch`), for a page that makes many requests. Decision D166.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use chromiumoxide::cdp::browser_protocol::fetch::HeaderEntry;
use serde_json::{Map, Value};
use url::Url;

use trawl_plan::address::is_same_origin_or_upgrade;

/// Requests that are remembered for having left the page's origin. After so many no redirected
/// request carries the headers any more.
const STRAYED_MAX: usize = 4_096;

/// A request of the page, before it is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageRequest<'a> {
    pub(super) url: &'a str,
    /// Whether the main frame makes it; other frames may be strangers'.
    pub(super) is_main_frame: bool,
    pub(super) is_document: bool,
    /// The same for all requests of a chain of redirects.
    pub(super) network_id: Option<&'a str>,
    pub(super) is_redirected: bool,
}

/// The caller's headers and where they may still be sent.
pub(super) struct CallerHeaders {
    headers: Vec<(String, String)>,
    reach: Mutex<Reach>,
}

struct Reach {
    /// The requested URL, later its upgrade to `https`.
    url: Url,
    /// Whether the main frame has navigated to another origin. Once it has, its scripts are
    /// others', and whatever it requests or returns to was chosen by them.
    has_left: bool,
    /// Chains of redirects that were on another origin.
    strayed: HashSet<String>,
}

impl CallerHeaders {
    /// The headers of a page that is requested at `url`.
    pub(super) fn new(headers: Vec<(String, String)>, url: Url) -> Self {
        Self {
            headers,
            reach: Mutex::new(Reach {
                url,
                has_left: false,
                strayed: HashSet::new(),
            }),
        }
    }

    /// The headers of this request with the caller's, or without them; `None` when the caller has
    /// none and the request stays as it is.
    pub(super) fn applied(
        &self,
        request: PageRequest<'_>,
        present: Option<&Map<String, Value>>,
    ) -> Option<Vec<HeaderEntry>> {
        if self.headers.is_empty() {
            return None;
        }
        let is_carrier = self.is_carrier(request);
        let present = present.into_iter().flatten();
        let kept = present.filter(|(name, value)| {
            let mut own = self.headers.iter();
            !own.any(|(own, text)| {
                // A redirect repeats what was added before it.
                own.eq_ignore_ascii_case(name) && (is_carrier || value.as_str() == Some(text))
            })
        });
        let kept = kept.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
        let own = self.headers.iter().filter(|_| is_carrier);
        let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
        let all = kept.chain(own);
        Some(
            all.map(|(name, value)| HeaderEntry::new(name, value))
                .collect(),
        )
    }

    /// Whether this request carries the headers: a navigation of the main frame until it leaves the
    /// origin, and until then what the main frame requests from that origin.
    fn is_carrier(&self, request: PageRequest<'_>) -> bool {
        let mut reach = self.reach.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(url) = Url::parse(request.url) else {
            return false;
        };
        if request.is_main_frame && request.is_document {
            if is_same_origin_or_upgrade(&reach.url, &url) {
                reach.url = url;
            } else {
                reach.has_left = true;
            }
            return !reach.has_left;
        }
        let is_home = reach.url.origin() == url.origin();
        let has_strayed = request.is_redirected
            && (reach.strayed.len() >= STRAYED_MAX
                || request
                    .network_id
                    .is_none_or(|id| reach.strayed.contains(id)));
        if !is_home
            && reach.strayed.len() < STRAYED_MAX
            && let Some(id) = request.network_id
        {
            reach.strayed.insert(id.to_owned());
        }
        request.is_main_frame && is_home && !has_strayed && !reach.has_left
    }
}

#[cfg(test)]
mod tests {
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

    fn headers() -> CallerHeaders {
        let own = vec![("X-Key".to_owned(), "secret".to_owned())];
        CallerHeaders::new(own, Url::parse("http://a.example/").expect("a URL"))
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
    fn what_a_redirect_repeats_is_taken_away() {
        let headers = headers();
        let present = serde_json::json!({"x-key": "secret", "accept": "*/*"});
        let left = headers.applied(at("http://b.example/", DOCUMENT), present.as_object());
        let left = left.expect("there are some");
        let names: Vec<&str> = left.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["accept"]);
    }
}
