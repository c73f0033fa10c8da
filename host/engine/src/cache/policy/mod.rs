//! What may be cached, for whom, and how it is revalidated. Pure; the rules of RFC 9111 are those
//! of the `http-cache-semantics` crate, with Decision D51 and Decision D52 on top.

#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
    SET_COOKIE, USER_AGENT, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_cache_semantics::{BeforeRequest, CacheOptions, CachePolicy};
use serde::{Deserialize, Serialize};
use url::Url;

use trawl_model::clock::Timestamp;
use trawl_model::page::header_list;
use trawl_model::{FetchedPage, Hop};
use trawl_plan::address::without_fragment;

use super::{BodyHash, Key};

/// Headers of a 304 that do not describe the stored page, but the message or its missing body. RFC
/// 9111 section 3.2.
const NOT_UPDATED: [&str; 8] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "keep-alive",
    "transfer-encoding",
    "upgrade",
];

/// A stored page.
#[derive(Clone, Debug)]
pub struct StoredPage {
    /// Everything but its body.
    pub(super) meta: Meta,
    /// Body, content-encoding removed.
    pub(super) body: Bytes,
    /// Its hash, of a page that was read or is written.
    pub(super) hash: Option<BodyHash>,
}

/// A stored page without its body. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    /// URLs that redirects led to, the last one the page's own.
    redirects: Vec<String>,
    /// Statuses of the redirects; none in a page that an earlier version stored.
    #[serde(default)]
    statuses: Vec<u16>,
    pub(super) headers: Vec<(String, String)>,
    /// The type of the body, if it differs from the headers': a rendered page is UTF-8, whatever
    /// its site sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    /// What the provider that made it said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provided: Option<Provided>,
    /// Headers of the request that the answer depends on (`Vary`).
    varied: Vec<(String, String)>,
    /// When the body was fetched.
    fetched_at: i64,
    /// When the site last confirmed it.
    validated_at: i64,
}

/// What a provider said of a page that it made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provided {
    /// Whether it ran the page's JavaScript, if it says so.
    pub rendered: Option<bool>,
}

/// A conditional request: has the page changed?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionalRequest {
    /// Its URL without a fragment. A redirect before it gets no condition.
    pub at: Url,
    /// `If-None-Match` and `If-Modified-Since`.
    pub headers: HeaderMap,
}

/// Key of a page in the cache. `request` are the headers of a request that has nothing of the
/// caller but user agent and language, by which sites vary their answers without saying so; pool
/// and country are where it is sent from, and `route` is how it is fetched.
pub fn key(url: &Url, request: &HeaderMap, pool: &str, country: Option<&str>, route: &str) -> Key {
    let value = |name| request.get(name).map_or(&[][..], HeaderValue::as_bytes);
    let url = without_fragment(url);
    let parts = [
        route.as_bytes(),
        url.as_str().as_bytes(),
        value(USER_AGENT),
        value(ACCEPT_LANGUAGE),
        pool.as_bytes(),
        country.unwrap_or_default().as_bytes(),
    ];
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}

/// Whether an answer may be cached for every caller. It was fetched with these request headers,
/// none of them a caller's secret.
pub fn is_storable(page: &FetchedPage, request: &HeaderMap, now: Timestamp) -> bool {
    let is_set = |wanted: &HeaderName| page.headers.iter().any(|(name, _)| name == wanted.as_str());
    page.status == StatusCode::OK.as_u16()
        && !is_set(&SET_COOKIE)
        && policy(request, &page.headers, StatusCode::OK, now).is_storable()
        && !varies_by_everything(&page.headers)
}

/// Whether a redirect may be cached: it is permanent and follows the rules for pages. RFC 9110
/// sections 15.4.2 and 15.4.9.
pub fn is_permanent(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> bool {
    let is_permanent = matches!(
        status,
        StatusCode::MOVED_PERMANENTLY | StatusCode::PERMANENT_REDIRECT
    );
    let pairs: Vec<_> = headers.iter().map(pair).collect();
    is_permanent
        && !headers.contains_key(SET_COOKIE)
        && policy(&HeaderMap::new(), &pairs, status, now).is_storable()
        && !varies_by_everything(&pairs)
}

/// Whether no other request can be known to get the same answer. RFC 9111 section 4.1.
fn varies_by_everything(answer: &[(String, String)]) -> bool {
    let lists = answer.iter().filter(|(name, _)| name == VARY.as_str());
    let mut names = lists.flat_map(|(_, list)| list.split(','));
    names.any(|name| name.trim() == "*")
}

impl StoredPage {
    /// A page that was just fetched with these request headers, through these redirects.
    pub fn new<'a>(
        page: &FetchedPage,
        request: &HeaderMap,
        redirects: impl Iterator<Item = &'a Url>,
        now: Timestamp,
    ) -> Self {
        let requested = page.requested_url.fragment();
        // A fragment of the requested URL is not part of the redirect.
        let own = redirects.map(|to| {
            if to.fragment() == requested {
                without_fragment(to).into()
            } else {
                to.as_str().to_owned()
            }
        });
        let has_own_type = page.content_type != header_list(&page.headers, "content-type");
        let meta = Meta {
            redirects: own.collect(),
            statuses: page.redirects.iter().filter_map(|hop| hop.status).collect(),
            headers: page.headers.clone(),
            content_type: has_own_type.then(|| page.content_type.clone()),
            provided: None,
            varied: varied(&page.headers, request),
            fetched_at: now.0,
            validated_at: now.0,
        };
        Self {
            meta,
            body: page.body.clone(),
            hash: None,
        }
    }

    /// The same page with what the provider that made it said of it.
    #[must_use]
    pub fn with_provided(mut self, provided: Option<Provided>) -> Self {
        self.meta.provided = provided;
        self
    }

    /// What the provider that made the page said of it; `None` of a page of our own stack, and of
    /// one that an earlier version stored.
    pub fn provided(&self) -> Option<Provided> {
        self.meta.provided
    }

    /// The same page under its final URL.
    #[must_use]
    pub fn at_its_final_url(&self) -> Self {
        let mut page = self.clone();
        page.meta.redirects.clear();
        page.meta.statuses.clear();
        page
    }

    /// The URLs that redirects lead to from `url`, the last one the page's own.
    pub fn redirects(&self, url: &Url) -> Vec<Url> {
        let redirects = self.meta.redirects.iter();
        let redirects = redirects.filter_map(|to| Url::parse(to).ok());
        redirects
            .map(|mut to| {
                // RFC 9110 section 10.2.2: a target without a fragment inherits the requested
                // URL's.
                if to.fragment().is_none() {
                    to.set_fragment(url.fragment());
                }
                to
            })
            .collect()
    }

    /// The page as if it had just been fetched from this URL.
    pub fn page(&self, url: &Url) -> FetchedPage {
        let content_type = self.meta.content_type.clone();
        FetchedPage {
            requested_url: url.clone(),
            final_url: self.final_url(url),
            redirects: self.hops(url),
            status: StatusCode::OK.as_u16(),
            headers: self.meta.headers.clone(),
            cookies: Vec::new(),
            body: self.body.clone(),
            content_type: content_type
                .unwrap_or_else(|| header_list(&self.meta.headers, "content-type")),
        }
    }

    /// Time since the site last confirmed the page. A clock that was set back makes it zero.
    pub fn age(&self, now: Timestamp) -> Duration {
        let millis = now.0.saturating_sub(self.meta.validated_at);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    /// Hash of the body, if it is known.
    pub fn body_hash(&self) -> Option<blake3::Hash> {
        self.hash
    }

    /// Bytes that it takes in memory, about.
    pub(super) fn bytes(&self) -> u64 {
        let pairs = self.meta.headers.iter().chain(&self.meta.varied);
        let pairs: usize = pairs
            .map(|(name, value)| name.len() + value.len() + size_of::<(String, String)>())
            .sum();
        let redirects: usize = self
            .meta
            .redirects
            .iter()
            .map(|to| to.len() + size_of::<String>())
            .sum();
        (self.body.len() + pairs + redirects + size_of::<Self>()) as u64
    }

    /// When the body was fetched.
    pub fn fetched_at(&self) -> Timestamp {
        Timestamp(self.meta.fetched_at)
    }

    /// Whether a request with these headers would get this answer: `Vary`, RFC 9111 section 4.1.
    pub fn matches(&self, request: &HeaderMap) -> bool {
        if self
            .meta
            .headers
            .iter()
            .all(|(name, _)| name != VARY.as_str())
        {
            return true;
        }
        let now = Timestamp(self.meta.validated_at);
        match self
            .policy()
            .before_request(&no_cache(request), system_time(now))
        {
            BeforeRequest::Fresh(_) => true,
            BeforeRequest::Stale { matches, .. } => matches,
        }
    }

    /// The conditional request for the page at `url`; `None` if it has no validator. RFC 9111
    /// section 4.3.1.
    pub fn conditional_request(
        &self,
        url: &Url,
        request: &HeaderMap,
        now: Timestamp,
    ) -> Option<ConditionalRequest> {
        let before = self
            .policy()
            .before_request(&no_cache(request), system_time(now));
        let BeforeRequest::Stale { request, .. } = before else {
            return None;
        };
        let mut headers = HeaderMap::new();
        for name in [IF_NONE_MATCH, IF_MODIFIED_SINCE] {
            if let Some(value) = request.headers.get(&name) {
                headers.insert(name, value.clone());
            }
        }
        let at = without_fragment(&self.final_url(url));
        (!headers.is_empty()).then_some(ConditionalRequest { at, headers })
    }

    /// The page after its site answered the conditional request with 304 and these headers; `None`
    /// if the answer is about another version, so that the page must be fetched. RFC 9111 sections
    /// 4.3.3 and 4.3.4.
    pub fn validated(
        &self,
        answer: &[(String, String)],
        request: &HeaderMap,
        now: Timestamp,
    ) -> Option<Self> {
        if !self.is_meant_by(answer) {
            return None;
        }
        let mut page = self.clone();
        page.meta.headers = updated(&self.meta.headers, answer);
        page.meta.varied = varied(&page.meta.headers, request);
        page.meta.validated_at = now.0;
        Some(page)
    }

    /// Whether a 304 may be about this page: no validator of it differs from the page's own. It
    /// need not repeat the one that was asked for (RFC 9110 section 15.4.5), and may add another.
    fn is_meant_by(&self, answer: &[(String, String)]) -> bool {
        let both = |wanted: &HeaderName| {
            let of = |headers: &[(String, String)]| {
                let found = headers.iter().find(|(name, _)| name == wanted.as_str());
                found.map(|(_, value)| value.trim().to_owned())
            };
            of(&self.meta.headers).zip(of(answer))
        };
        // Whether a tag is weak does not matter here: RFC 9110 section 13.1.2.
        let opaque = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
        match (both(&ETAG), both(&LAST_MODIFIED)) {
            (Some((own, other)), _) => opaque(&own) == opaque(&other),
            (None, Some((own, other))) => own == other,
            (None, None) => true,
        }
    }

    /// The redirects that lead to the page from `url`, with their statuses.
    fn hops(&self, url: &Url) -> Vec<Hop> {
        let targets = self.redirects(url).into_iter().enumerate();
        let hops = targets.map(|(at, to)| Hop {
            status: self.meta.statuses.get(at).copied(),
            to: to.to_string(),
        });
        hops.collect()
    }

    fn final_url(&self, url: &Url) -> Url {
        self.redirects(url).pop().unwrap_or_else(|| url.clone())
    }

    fn policy(&self) -> CachePolicy {
        let request = headers(&self.meta.varied);
        let at = Timestamp(self.meta.validated_at);
        policy(&request, &self.meta.headers, StatusCode::OK, at)
    }
}

/// The key already covers the URL, so the crate sees the same one everywhere.
fn policy(
    request: &HeaderMap,
    answer: &[(String, String)],
    status: StatusCode,
    at: Timestamp,
) -> CachePolicy {
    let mut response = Response::new(());
    *response.status_mut() = status;
    *response.headers_mut() = readable(answer);
    // A shared cache, so `private` stores nothing.
    let options = CacheOptions::default();
    CachePolicy::new_options(
        &request_with(request.clone()),
        &response,
        system_time(at),
        options,
    )
}

fn request_with(headers: HeaderMap) -> Request<()> {
    let mut request = Request::new(());
    *request.headers_mut() = headers;
    request
}

/// A request that forces revalidation whatever the stored page's own lifetime: ours is the caller's
/// `max_age`.
fn no_cache(request: &HeaderMap) -> Request<()> {
    let mut headers = request.clone();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    request_with(headers)
}

/// Headers of an answer as the crate reads them: it compares directives by case, and skips a value
/// that is not ASCII, in which a `no-store` would be overlooked. One behind a wrong separator, such
/// as `no-cache; no-store`, is meant all the same. Decision D315.
fn readable(answer: &[(String, String)]) -> HeaderMap {
    let control = |value: &str| -> String {
        let lower = value.chars().map(|char| char.to_ascii_lowercase());
        let mut value: String = lower
            .map(|char| if char.is_ascii() { char } else { '?' })
            .collect();
        let is_word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        let mut words = value.split(|char| !is_word(char));
        if words.any(|word| matches!(word, "no-store" | "private")) {
            // In front of a quotation mark that is never closed.
            value.insert_str(0, "no-store, ");
        }
        value
    };
    let mut map = HeaderMap::with_capacity(answer.len());
    for (name, value) in answer {
        let value = match name.as_str() {
            "cache-control" | "pragma" => HeaderValue::from_str(&control(value)),
            _ => HeaderValue::from_str(value),
        };
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), value) {
            map.append(name, value);
        }
    }
    map
}

fn headers(pairs: &[(String, String)]) -> HeaderMap {
    let mut map = HeaderMap::with_capacity(pairs.len());
    for (name, value) in pairs {
        let value = HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), value) {
            map.append(name, value);
        }
    }
    map
}

/// The headers of the request that `Vary` names.
fn varied(answer: &[(String, String)], request: &HeaderMap) -> Vec<(String, String)> {
    let lists = answer.iter().filter(|(name, _)| name == VARY.as_str());
    let names = lists.flat_map(|(_, list)| list.split(','));
    names
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        .filter_map(|name| Some(pair((&name, request.get(&name)?))))
        .collect()
}

/// The stored headers, updated by the headers of a 304.
fn updated(stored: &[(String, String)], answer: &[(String, String)]) -> Vec<(String, String)> {
    let news = || {
        let is_new = |name: &str| !NOT_UPDATED.contains(&name);
        answer.iter().filter(move |(name, _)| is_new(name))
    };
    let old = stored
        .iter()
        .filter(|(name, _)| news().all(|(new, _)| new != name));
    old.chain(news()).cloned().collect()
}

fn pair((name, value): (&HeaderName, &HeaderValue)) -> (String, String) {
    let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
    (name.as_str().to_owned(), value)
}

fn system_time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(at.0).unwrap_or(0))
}
