//! The cookies of one run. RFC 6265bis (draft-ietf-httpbis-rfc6265bis), which says what browsers
//! do. Names and values are octets: what a site sets comes back as it was.

mod date;
mod set_cookie;

use std::cmp::Reverse;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use http::header::SET_COOKIE;
use url::{Host, Url};

use trawl_model::clock::{Clock, Timestamp};

use set_cookie::SetCookie;

/// Cookies of one run.
const COOKIES_MAX: usize = 1000;
/// Cookies of one host or domain, as in Chromium. RFC 6265bis section 6.1 requires 50.
const DOMAIN_COOKIES_MAX: usize = 180;
/// Bytes of one `Cookie` header: common servers refuse larger ones.
const HEADER_BYTES_MAX: usize = 16 * 1024;

/// The cookies that the sites of one run have set, shared by its pages.
#[derive(Debug)]
pub struct CookieJar {
    held: Mutex<Held>,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Held {
    /// In the order of creation.
    cookies: Vec<Cookie>,
}

/// A stored cookie. RFC 6265bis section 5.7.
#[derive(Debug)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    /// Lower case.
    domain: String,
    /// Whether hosts below the domain do not get it.
    is_host_only: bool,
    path: Vec<u8>,
    is_secure: bool,
    /// `None` for the whole run.
    expires: Option<Timestamp>,
}

/// A cookie of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentCookie {
    pub(super) name: Vec<u8>,
    pub(super) value: Vec<u8>,
}

/// A cookie that a response set or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CookieChange {
    pub(super) name: Vec<u8>,
    /// `None` if it was deleted.
    pub(super) value: Option<Vec<u8>>,
    path: Vec<u8>,
}

impl CookieJar {
    /// An empty jar.
    pub fn new() -> Self {
        Self::with_clock(Clock::wall())
    }

    /// An empty jar by this clock.
    pub(super) fn with_clock(clock: Clock) -> Self {
        Self {
            held: Mutex::default(),
            clock,
        }
    }

    /// Stores and deletes cookies as a response says and returns what it did; a cookie that was
    /// refused (foreign domain, public suffix, too large, one too many, false prefix) is not in it.
    pub(super) fn store(&self, headers: &HeaderMap, url: &Url) -> Vec<CookieChange> {
        if !headers.contains_key(SET_COOKIE) {
            return Vec::new();
        }
        let now = self.clock.now();
        let mut held = self.locked();
        held.drop_expired(now);
        let lines = headers.get_all(SET_COOKIE).into_iter();
        let parsed = lines.filter_map(|line| SetCookie::parse(line.as_bytes(), now));
        let accepted = parsed.filter_map(|set| Cookie::accepted(set, url));
        accepted
            .filter_map(|cookie| held.set(cookie, is_secure(url), now))
            .collect()
    }

    /// Cookies for a request to this URL: those with the longest path first, then those created
    /// first. RFC 6265bis section 5.8.3.
    pub(super) fn matching(&self, url: &Url) -> Vec<SentCookie> {
        let now = self.clock.now();
        let held = self.locked();
        let is_sent = |cookie: &&Cookie| !cookie.is_expired(now) && cookie.is_sent_to(url);
        let mut cookies: Vec<&Cookie> = held.cookies.iter().filter(is_sent).collect();
        // Stable, so that the order of creation holds within it.
        cookies.sort_by_key(|cookie| Reverse(cookie.path.len()));
        let mut bytes = 0;
        let fitting = cookies.into_iter().take_while(|cookie| {
            bytes += cookie.name.len() + cookie.value.len() + 3;
            bytes <= HEADER_BYTES_MAX
        });
        fitting
            .map(|cookie| SentCookie {
                name: cookie.name.clone(),
                value: cookie.value.clone(),
            })
            .collect()
    }

    fn locked(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for CookieJar {
    fn default() -> Self {
        Self::new()
    }
}

impl Held {
    fn drop_expired(&mut self, now: Timestamp) {
        self.cookies.retain(|cookie| !cookie.is_expired(now));
    }

    /// Stores a cookie in place of the one with its name, domain and path, whose place in the order
    /// it takes. One that has expired deletes that one. One from an insecure origin leaves `Secure`
    /// cookies alone. Returns what it did, if anything.
    fn set(
        &mut self,
        cookie: Cookie,
        is_secure_origin: bool,
        now: Timestamp,
    ) -> Option<CookieChange> {
        let is_harm = |known: &Cookie| known.is_secure && known.is_hidden_by(&cookie);
        if !is_secure_origin && self.cookies.iter().any(is_harm) {
            return None;
        }
        let place = self.cookies.iter().position(|known| known.is_same(&cookie));
        let is_deleted = cookie.is_expired(now);
        let change = CookieChange {
            name: cookie.name.clone(),
            value: (!is_deleted).then(|| cookie.value.clone()),
            path: cookie.path.clone(),
        };
        match place {
            Some(place) if is_deleted => {
                self.cookies.remove(place);
            }
            Some(place) => self.cookies[place] = cookie,
            None if is_deleted => {}
            None => {
                self.make_room(&cookie.domain)?;
                self.cookies.push(cookie);
            }
        }
        Some(change)
    }

    /// Makes room for a cookie of this domain: its oldest one goes, one that is not `Secure` before
    /// one that is. `None` if the jar is full: no site evicts the cookies of another.
    fn make_room(&mut self, domain: &str) -> Option<()> {
        let own = || {
            let all = self.cookies.iter().enumerate();
            all.filter(move |(_, known)| known.domain == domain)
        };
        if own().count() >= DOMAIN_COOKIES_MAX {
            let oldest = own().min_by_key(|(place, known)| (known.is_secure, *place));
            let (place, _) = oldest?;
            self.cookies.remove(place);
        }
        (self.cookies.len() < COOKIES_MAX).then_some(())
    }
}

impl Cookie {
    /// A cookie that a response from `url` may set. RFC 6265bis section 5.7.
    fn accepted(set: SetCookie, url: &Url) -> Option<Self> {
        if set.is_secure && !is_secure(url) || set.is_cross_site && !set.is_secure {
            return None;
        }
        let (domain, is_host_only) = domain_of(set.domain.as_deref(), url)?;
        let path = match &set.path {
            Some(path) if path.starts_with(b"/") => path.clone(),
            _ => default_path(url).to_vec(),
        };
        let is_own_path = set.path.is_some() && path == b"/";
        // A nameless cookie is sent as its value alone, which must not pass for a prefixed one.
        let shown: &[u8] = if set.name.is_empty() {
            &set.value
        } else {
            &set.name
        };
        let has = |prefix: &[u8]| {
            let start = shown.get(..prefix.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        };
        let is_prefixed = has(b"__Secure-") || has(b"__Host-");
        if is_prefixed && (!set.is_secure || set.name.is_empty())
            || has(b"__Host-") && !(is_host_only && is_own_path)
        {
            return None;
        }
        Some(Self {
            name: set.name,
            value: set.value,
            domain,
            is_host_only,
            path,
            is_secure: set.is_secure,
            expires: set.expires,
        })
    }

    fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    fn is_sent_to(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        gets_cookies_of(host, &self.domain, self.is_host_only)
            && (!self.is_secure || is_secure(url))
            && is_below(url.path().as_bytes(), &self.path)
    }

    /// Whether another cookie takes the place of this one.
    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.path == other.path
            && self.is_host_only == other.is_host_only
            && self.domain == other.domain
    }

    /// Whether another cookie would replace this one, or be sent before it.
    fn is_hidden_by(&self, other: &Self) -> bool {
        self.name == other.name
            && (is_within(&self.domain, &other.domain) || is_within(&other.domain, &self.domain))
            && is_below(&other.path, &self.path)
    }
}

impl SentCookie {
    /// As it is written in a `Cookie` header.
    pub(super) fn pair(&self) -> Vec<u8> {
        match self.name.as_slice() {
            b"" => self.value.clone(),
            name => [name, b"=", &self.value].concat(),
        }
    }
}

impl CookieChange {
    /// Whether it is about the cookie of this name that is sent to a URL.
    pub(super) fn concerns(&self, name: &[u8], url: &Url) -> bool {
        self.name == name && is_below(url.path().as_bytes(), &self.path)
    }
}

fn is_secure(url: &Url) -> bool {
    url.scheme() == "https"
}

/// The domain of a cookie that a response from `url` sets with this `Domain`, and whether it is for
/// this host only. `None` if it may not be set: a foreign domain, or a public suffix that is not
/// the host itself. RFC 6265bis section 5.7.
fn domain_of(written: Option<&[u8]>, url: &Url) -> Option<(String, bool)> {
    let host = url.host_str()?;
    let host_only = Some((host.to_owned(), true));
    let written = match written {
        None | Some(b"") => return host_only,
        Some(written) => std::str::from_utf8(written.strip_prefix(b".").unwrap_or(written)).ok()?,
    };
    let domain = written.to_ascii_lowercase();
    let is_name = matches!(url.host(), Some(Host::Domain(_)));
    let is_suffix = psl::suffix_str(&domain).is_none_or(|suffix| suffix == domain);
    if !is_name || is_suffix {
        return host_only.filter(|(host, _)| *host == domain);
    }
    is_within(host, &domain).then_some((domain, false))
}

/// Whether a host gets the cookies of a domain; those that are host-only it gets of its own alone.
/// RFC 6265bis section 5.8.3.
pub fn gets_cookies_of(host: &str, domain: &str, is_host_only: bool) -> bool {
    host == domain || !is_host_only && is_within(host, domain)
}

/// Whether a host is a domain or below it.
fn is_within(host: &str, domain: &str) -> bool {
    let below = host.strip_suffix(domain);
    below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
}

/// RFC 6265bis section 5.1.4: path-match.
fn is_below(path: &[u8], of_cookie: &[u8]) -> bool {
    let rest = path.strip_prefix(of_cookie);
    rest.is_some_and(|rest| rest.is_empty() || of_cookie.ends_with(b"/") || rest.starts_with(b"/"))
}

/// RFC 6265bis section 5.1.4: default-path.
fn default_path(url: &Url) -> &[u8] {
    let path = url.path().as_bytes();
    match path.iter().rposition(|byte| *byte == b'/') {
        None | Some(0) => b"/",
        Some(slash) => &path[..slash],
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
