//! One request towards a page: its headers, and where its response redirects. Pure.

use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, AUTHORIZATION, COOKIE, LOCATION, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use memchr::memchr;
use url::Url;

use trawl_model::redact::without_userinfo;
use trawl_model::urls;
use trawl_plan::FetchPlan;
use trawl_plan::address::{basic_authorization, is_same_origin_or_upgrade};

use super::FetchError;
use super::cookies::{CookieChange, SentCookie};

const ACCEPTED: HeaderValue =
    HeaderValue::from_static("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
/// Most cookies that sites set or delete on the way to one page and that are remembered: more than
/// a jar holds of one site.
const CHANGES_MAX: usize = 1000;
const ACCEPTED_LANGUAGE: &str = "en-US,en;q=0.9";
/// The content codings that are decoded here.
pub const ACCEPTED_ENCODING: HeaderValue = HeaderValue::from_static("gzip, deflate, br, zstd");

/// One request towards a page.
pub(super) struct Hop {
    /// Its URL, without user and password.
    pub(super) url: Url,
    /// Redirects followed so far.
    pub(super) redirects: usize,
    /// Whether every hop so far was on the origin of the requested URL: only then the caller's
    /// headers, cookies and password are sent. Once lost it stays lost, or another origin could
    /// redirect them to a URL of its choice.
    pub(super) is_original_origin: bool,
    /// `Authorization` from the user information of the requested URL.
    password: Option<HeaderValue>,
    /// Cookies that the site has set or deleted on the way.
    changes: Vec<CookieChange>,
}

impl Hop {
    /// The first request for a URL.
    pub(super) fn first(url: &Url) -> Self {
        Self {
            url: without_userinfo(url.clone()),
            redirects: 0,
            is_original_origin: true,
            password: basic_authorization(url),
            changes: Vec::new(),
        }
    }

    /// The first request for a URL to which none of the caller's headers, cookies and passwords are
    /// sent.
    pub(super) fn elsewhere(url: &Url) -> Self {
        Self {
            is_original_origin: false,
            ..Self::first(url)
        }
    }

    /// The next request, to where a redirect points.
    pub(super) fn follow(self, url: Url) -> Self {
        Self {
            is_original_origin: self.is_original_origin
                && is_same_origin_or_upgrade(&self.url, &url),
            url,
            redirects: self.redirects + 1,
            password: self.password,
            changes: self.changes,
        }
    }

    /// Whether this request is for `target`, a URL without a fragment.
    pub(super) fn is_at(&self, target: &Url) -> bool {
        match self.url.fragment() {
            None => self.url == *target,
            Some(_) => {
                let mut url = self.url.clone();
                url.set_fragment(None);
                url == *target
            }
        }
    }

    /// Headers of the request. The caller's headers replace the defaults.
    ///
    /// # Errors
    /// [`FetchError::Unsendable`] when a value of the plan is not a valid header value.
    pub(super) fn headers(
        &self,
        plan: &FetchPlan,
        own_user_agent: &str,
        jar: &[SentCookie],
    ) -> Result<HeaderMap, FetchError> {
        let mut headers = HeaderMap::with_capacity(8);
        let user_agent = plan.user_agent.as_deref().unwrap_or(own_user_agent);
        let language = plan.locale.as_deref().unwrap_or(ACCEPTED_LANGUAGE);
        headers.insert(USER_AGENT, sendable(user_agent, "user-agent")?);
        headers.insert(ACCEPT, ACCEPTED);
        headers.insert(ACCEPT_LANGUAGE, sendable(language, "accept-language")?);
        headers.insert(ACCEPT_ENCODING, ACCEPTED_ENCODING);
        if self.is_original_origin {
            if let Some(password) = &self.password {
                headers.insert(AUTHORIZATION, password.clone());
            }
            set_all(&mut headers, &plan.headers);
        }
        if let Some(cookie) = self.cookie(plan, jar, headers.remove(COOKIE))? {
            headers.insert(COOKIE, cookie);
        }
        Ok(headers)
    }

    /// Remembers which cookies the answer to this request set or deleted: of these, the caller's
    /// are not sent any more. Decision D311.
    pub(super) fn note(&mut self, changes: &[CookieChange]) {
        let room = CHANGES_MAX.saturating_sub(self.changes.len());
        self.changes.extend(changes.iter().take(room).cloned());
    }

    /// The `Cookie` header: the jar's cookies, then the caller's that the site has not set
    /// or deleted itself meanwhile.
    fn cookie(
        &self,
        plan: &FetchPlan,
        jar: &[SentCookie],
        header: Option<HeaderValue>,
    ) -> Result<Option<HeaderValue>, FetchError> {
        let is_kept = |name: &[u8]| {
            let is_changed = |change: &CookieChange| change.concerns(name, &self.url);
            jar.iter().all(|known| known.name != name) && !self.changes.iter().any(is_changed)
        };
        let mut pairs: Vec<Vec<u8>> = jar.iter().map(SentCookie::pair).collect();
        if self.is_original_origin {
            let callers = plan.cookies.iter();
            let callers = callers.filter(|(name, _)| is_kept(name.as_bytes()));
            pairs.extend(callers.map(|(name, value)| match name.as_str() {
                "" => value.clone().into_bytes(),
                name => format!("{name}={value}").into_bytes(),
            }));
        }
        if let Some(header) = header {
            let is_kept = |pair: &&[u8]| cookie_name(pair).is_none_or(is_kept);
            let written = header.as_bytes().split(|byte| *byte == b';');
            if written.clone().all(|pair| is_kept(&pair)) {
                pairs.push(header.as_bytes().to_vec());
            } else {
                let kept = written.filter(is_kept).map(<[u8]>::trim_ascii);
                pairs.extend(kept.filter(|pair| !pair.is_empty()).map(<[u8]>::to_vec));
            }
        }
        if pairs.is_empty() {
            return Ok(None);
        }
        let value = HeaderValue::from_bytes(&pairs.join(&b"; "[..]));
        value
            .map(Some)
            .map_err(|_| FetchError::Unsendable("cookie"))
    }
}

/// The name in a pair of a `Cookie` header, if it has one.
fn cookie_name(pair: &[u8]) -> Option<&[u8]> {
    let equals = memchr(b'=', pair)?;
    Some(pair[..equals].trim_ascii())
}

/// Where a response redirects to; `None` when it is the page: an empty `Location` is none, as in
/// browsers.
///
/// # Errors
/// [`FetchError::BadRedirect`] when its `Location` is not a URL, [`FetchError::TwoRedirects`] when
/// there are different ones: another one may have been smuggled in.
pub(super) fn redirect(
    status: StatusCode,
    headers: &HeaderMap,
    from: &Url,
) -> Result<Option<Url>, FetchError> {
    let mut locations = headers.get_all(LOCATION).into_iter();
    let Some(location) = locations.next().filter(|_| is_redirect(status)) else {
        return Ok(None);
    };
    if locations.any(|other| other != location) {
        return Err(FetchError::TwoRedirects);
    }
    if location.is_empty() {
        return Ok(None);
    }
    let location = urls::text_of(location.as_bytes());
    let mut url = urls::join(from, &location)
        .map_err(|_| FetchError::BadRedirect(location.chars().take(200).collect()))?;
    // RFC 9110 section 10.2.2: a target without a fragment inherits the requested URL's.
    if url.fragment().is_none() {
        url.set_fragment(from.fragment());
    }
    Ok(Some(without_userinfo(url)))
}

/// A header value as text: UTF-8 if it is valid, otherwise Latin-1.
pub(super) fn text(value: &HeaderValue) -> String {
    text_of(value.as_bytes())
}

/// Octets of a header as text: UTF-8 if they are valid, otherwise Latin-1.
pub(super) fn text_of(octets: &[u8]) -> String {
    match std::str::from_utf8(octets) {
        Ok(text) => text.to_owned(),
        Err(_) => octets.iter().copied().map(char::from).collect(),
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn set_all(headers: &mut HeaderMap, callers: &[(HeaderName, HeaderValue)]) {
    for (name, _) in callers {
        headers.remove(name);
    }
    for (name, value) in callers {
        headers.append(name, value.clone());
    }
}

fn sendable(value: &str, header: &'static str) -> Result<HeaderValue, FetchError> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| FetchError::Unsendable(header))
}

#[cfg(test)]
mod tests;
