//! Plain HTTP: one page with its redirects, cookies and content codings, within its limits and its
//! deadline. Every request leaves through `egress`, and only with a permit of `politeness`.

mod body;
mod cookies;
mod decode;
mod error;
mod exchange;
mod get;
mod hop;
mod limits;
pub mod loopback;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE};
use http::{HeaderMap, Method, StatusCode};
use url::Url;

pub use body::BodyMeter;
pub use cookies::{CookieJar, gets_cookies_of};
pub use decode::{CODINGS_MAX, CodingError};
pub use error::FetchError;
pub use exchange::Exchanged;
pub use get::{
    BodyEnd, GET_REDIRECTS_MAX, Get, GetLimits, GetResponse, PERMIT_TIME_MAX, PoliteGet,
};
pub use hop::ACCEPTED_ENCODING;
pub use limits::{BODY_BYTES_MAX, BODY_IDLE_MAX, REDIRECTS_MAX, WIRE_BYTES_MAX};

use trawl_model::memory::{MemoryBudget, MemoryShare, PageMemory};
use trawl_model::page::header_list;
use trawl_model::redact::without_userinfo;
use trawl_model::{FetchedPage, Nanodollars};
use trawl_plan::FetchPlan;

use crate::egress::{Egress, PoolUse, Reply, Route, connection_auth};
use crate::politeness::Permit;
use crate::signatures::Signer;
use body::{BodyLimits, receive};
use cookies::CookieChange;
use hop::{Hop, text_of};

/// Settings of a [`Fetcher`].
#[derive(Clone, Debug)]
pub struct FetchConfig {
    /// The default `User-Agent`.
    pub user_agent: String,
    /// Bytes of one body as it comes over the wire.
    pub wire_bytes_max: u64,
    /// Bytes of one body after decoding.
    pub body_bytes_max: usize,
    /// How long a body may arrive without a byte.
    pub body_idle_max: Duration,
    /// Signs every request; `None` signs none.
    pub signer: Option<Arc<Signer>>,
}

impl Default for FetchConfig {
    fn default() -> Self {
        Self {
            user_agent: concat!("Trawl/", env!("CARGO_PKG_VERSION")).to_owned(),
            wire_bytes_max: WIRE_BYTES_MAX,
            body_bytes_max: BODY_BYTES_MAX,
            body_idle_max: BODY_IDLE_MAX,
            signer: None,
        }
    }
}

/// Fetches pages. One for the whole server.
#[derive(Clone)]
pub struct Fetcher {
    egress: Arc<Egress>,
    config: Arc<FetchConfig>,
    /// The server's own share: for what it fetches for all accounts.
    own_memory: MemoryShare,
}

/// For whom a page is fetched.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// Cookies of the run.
    pub cookies: &'a CookieJar,
    /// The page's claim on the memory of its account: its body takes from it and waits for it.
    pub memory: &'a PageMemory,
}

/// A page and what fetching it used.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The page. A 4xx or 5xx response is a page too.
    pub page: FetchedPage,
    /// Body bytes of the final response as they came over the wire.
    pub wire_bytes: u64,
    /// CPU time of decoding content codings; part of a page's compute.
    pub decode_time: Duration,
    /// The proxy pool that carried the page, with its price; `None` for a direct connection.
    pub pool: Option<PoolUse>,
    /// Parameters that could not be honoured, for `X-Ignored-Parameters`.
    pub ignored: Vec<String>,
    /// The redirects that were followed.
    pub redirects: Vec<Redirect>,
    /// Headers of the last request, without those of a [`Condition`] and of a signature; `None`
    /// when any request of the page carried something of this caller: a header, a cookie, a
    /// password. Then, and when its body has a fault, the page must not be shared through the
    /// cache.
    pub request: Option<HeaderMap>,
    /// What is wrong with a body that is whole: its checksum. Then the page must not be shared.
    pub fault: Option<CodingError>,
}

/// A redirect that was followed.
#[derive(Clone, Debug)]
pub struct Redirect {
    /// The target.
    pub to: Url,
    /// Status of the response.
    pub status: StatusCode,
    /// Headers of the response.
    pub headers: HeaderMap,
}

impl Redirect {
    fn hop(&self) -> trawl_model::Hop {
        trawl_model::Hop {
            status: Some(self.status.as_u16()),
            to: self.to.to_string(),
        }
    }
}

/// Decides about the redirects of one page, and where its scripts may take it in a browser.
pub trait RedirectPolicy: Send + Sync {
    /// Whether the page may be fetched from `to` instead. The answer for the same URL is always the
    /// same.
    fn may_follow<'a>(&'a self, to: &'a Url) -> BoxFuture<'a, bool>;
}

/// What makes a request conditional. RFC 9110 section 13.
#[derive(Clone, Copy, Debug)]
pub struct Condition<'a> {
    /// The URL that the condition is about, without a fragment: requests redirected towards it are
    /// ordinary ones.
    pub at: &'a Url,
    /// `If-None-Match` and `If-Modified-Since`.
    pub headers: &'a HeaderMap,
}

/// One page to fetch.
#[derive(Clone, Copy)]
pub struct PageRequest<'a> {
    /// Its URL.
    pub url: &'a Url,
    /// How it is fetched; its `timeout` is for the caller to apply.
    pub plan: &'a FetchPlan,
    /// Whether the URL is on the origin that the caller's headers and cookies are for.
    pub is_callers_origin: bool,
    /// For whom.
    pub caller: Caller<'a>,
    /// Makes the request conditional.
    pub condition: Option<Condition<'a>>,
    /// Covers the cost of the body.
    pub meter: Option<&'a dyn BodyMeter>,
    /// Asked before a redirect is followed; `None` allows every redirect that egress allows.
    pub redirects: Option<&'a dyn RedirectPolicy>,
}

impl<'a> PageRequest<'a> {
    /// The condition, if this request is to the URL that it is about.
    fn condition_at(&self, hop: &Hop) -> Option<Condition<'a>> {
        self.condition.filter(|condition| hop.is_at(condition.at))
    }
}

/// A page on its way through redirects.
struct Way {
    hop: Hop,
    cookies: Vec<CookieChange>,
    redirects: Vec<Redirect>,
    /// Whether so far no request carried anything of the caller, and no answer was for one
    /// connection alone.
    is_shared: bool,
}

impl Way {
    fn first(url: &Url, is_callers_origin: bool) -> Self {
        Self {
            hop: first_hop(url, is_callers_origin),
            cookies: Vec::new(),
            redirects: Vec::new(),
            is_shared: true,
        }
    }

    fn follow(mut self, redirect: Redirect) -> Self {
        self.hop = self.hop.follow(redirect.to.clone());
        self.redirects.push(redirect);
        self
    }
}

impl Fetcher {
    /// Builds a fetcher that sends through `egress`.
    pub fn new(egress: Arc<Egress>, config: FetchConfig) -> Self {
        Self {
            egress,
            config: Arc::new(config),
            own_memory: MemoryBudget::unlimited().share(""),
        }
    }

    /// The same with a memory budget for what the server fetches on its own account, such as
    /// robots.txt; unlimited otherwise. Pages bring their own claim.
    #[must_use]
    pub fn with_memory(self, budget: &Arc<MemoryBudget>) -> Self {
        Self {
            own_memory: budget.share(""),
            ..self
        }
    }

    /// A claim on the server's own share.
    pub fn own_memory(&self) -> PageMemory {
        self.own_memory.page()
    }

    /// Fetches one page with GET and follows its redirects. `plan.timeout` bounds all of it.
    ///
    /// # Errors
    /// [`FetchError`]; [`failure`](FetchError::failure) turns it into the page's outcome.
    pub async fn fetch(
        &self,
        permit: &Permit,
        url: &Url,
        plan: &FetchPlan,
        caller: Caller<'_>,
    ) -> Result<Fetched, FetchError> {
        let request = PageRequest {
            url,
            plan,
            is_callers_origin: true,
            caller,
            condition: None,
            meter: None,
            redirects: None,
        };
        let page = self.fetch_if(permit, request);
        let fetched = permit.in_time(plan.timeout, plan.pace.patience, page).await;
        fetched.unwrap_or(Err(FetchError::TimedOut(plan.timeout)))
    }

    /// Price of a gigabyte (10^9 bytes) through the pool that would carry this page, on top of the
    /// ordinary price.
    pub fn pool_price(&self, plan: &FetchPlan) -> Nanodollars {
        self.egress.pool_price(plan.pool.name())
    }

    /// Headers of the first request for a page, if the request carries nothing of this caller;
    /// otherwise `None`. `is_callers_origin` means the same as in [`PageRequest`].
    pub fn impersonal(
        &self,
        url: &Url,
        plan: &FetchPlan,
        is_callers_origin: bool,
        jar: &CookieJar,
    ) -> Option<HeaderMap> {
        let hop = first_hop(url, is_callers_origin);
        let headers = hop.headers(plan, &self.config.user_agent, &jar.matching(url));
        let headers = headers.ok();
        headers.filter(|headers| is_shareable(headers, &hop, plan))
    }

    /// Requests the page, and whatever it redirects to until something answers, for as long as the
    /// caller waits: by [`Permit::in_time`]. A page that was not modified has the status 304 and no
    /// body.
    ///
    /// # Errors
    /// As [`Self::fetch`], but for its timeout.
    pub async fn fetch_if(
        &self,
        permit: &Permit,
        page: PageRequest<'_>,
    ) -> Result<Fetched, FetchError> {
        let plan = page.plan;
        let country = plan.country_code.as_deref();
        let route = self.egress.route(plan.pool.name(), country);
        let mut way = Way::first(page.url, page.is_callers_origin);
        loop {
            let (sent, reply) = self.send(&mut way, page, &route).await?;
            let Some(to) = hop::redirect(reply.status(), reply.headers(), &way.hop.url)? else {
                return self.arrive(way, page, sent, reply, route).await;
            };
            if way.hop.redirects == REDIRECTS_MAX {
                return Err(FetchError::TooManyRedirects);
            }
            let (status, headers) = (reply.status(), reply.headers().clone());
            // Its connection is not held while the page waits: for robots.txt, which may need one,
            // and for its next turn.
            drop(reply);
            check_redirect(page.redirects, &to).await?;
            let redirect = Redirect {
                to,
                status,
                headers,
            };
            way = way.follow(redirect);
            let host = way.hop.url.host_str().unwrap_or_default();
            permit.follow(host).await;
        }
    }

    /// Signs a request, if the operator has a key.
    fn sign(&self, request: &mut reqwest::Request) {
        if let Some(signer) = &self.config.signer {
            let url = request.url().clone();
            signer.sign(&url, request.headers_mut());
        }
    }

    /// Sends the next request of a page. Returns its headers, without those of a condition and of a
    /// signature, and the answer, whose cookies are stored.
    async fn send(
        &self,
        way: &mut Way,
        page: PageRequest<'_>,
        route: &Route,
    ) -> Result<(HeaderMap, Reply), FetchError> {
        let (plan, jar) = (page.plan, page.caller.cookies);
        let cookies = jar.matching(&way.hop.url);
        let headers = way.hop.headers(plan, &self.config.user_agent, &cookies)?;
        way.is_shared &= is_shareable(&headers, &way.hop, plan);
        let mut request = reqwest::Request::new(Method::GET, way.hop.url.clone());
        *request.headers_mut() = headers.clone();
        if let Some(condition) = page.condition_at(&way.hop) {
            let wanted = condition.headers.iter();
            let wanted = wanted.map(|(name, value)| (name.clone(), value.clone()));
            request.headers_mut().extend(wanted);
        }
        self.sign(&mut request);
        let reply = self.egress.send(request, route).await?;
        way.is_shared &= !connection_auth::is_offered(reply.headers());
        let changes = jar.store(reply.headers(), &way.hop.url);
        way.hop.note(&changes);
        way.cookies.extend(changes);
        Ok((headers, reply))
    }

    /// Reads the page that answered in the end.
    async fn arrive(
        &self,
        way: Way,
        page: PageRequest<'_>,
        sent: HeaderMap,
        reply: Reply,
        route: Route,
    ) -> Result<Fetched, FetchError> {
        let is_conditional = page.condition_at(&way.hop).is_some();
        if reply.status() == StatusCode::NOT_MODIFIED && !is_conditional {
            return Err(FetchError::NotModified);
        }
        let (status, headers) = (reply.status().as_u16(), listed(reply.headers()));
        // A repeated header is one list. Source: Fetch, "get, decode, and split".
        let content_type = header_list(&headers, CONTENT_TYPE.as_str());
        // A page that its site refuses costs nothing.
        let meter = page.meter.filter(|_| status < 400);
        let received = receive(reply, self.body_limits(), page.caller.memory, meter).await?;
        received.end?;
        Ok(Fetched {
            page: FetchedPage {
                requested_url: without_userinfo(page.url.clone()),
                final_url: way.hop.url,
                redirects: way.redirects.iter().map(Redirect::hop).collect(),
                status,
                headers,
                cookies: set_in_the_end(&way.cookies),
                body: received.body,
                content_type,
            },
            wire_bytes: received.wire_bytes,
            decode_time: received.decode_time,
            pool: route.pool,
            ignored: route.ignored,
            redirects: way.redirects,
            request: (way.is_shared && received.fault.is_none()).then_some(sent),
            fault: received.fault,
        })
    }

    /// The limits of bodies that callers have fetched.
    fn body_limits(&self) -> BodyLimits {
        BodyLimits {
            wire_bytes_max: self.config.wire_bytes_max,
            body_bytes_max: self.config.body_bytes_max,
            idle_max: Some(self.config.body_idle_max),
        }
    }
}

/// Refuses a redirect that the run does not allow.
async fn check_redirect(policy: Option<&dyn RedirectPolicy>, to: &Url) -> Result<(), FetchError> {
    match policy {
        Some(policy) if !policy.may_follow(to).await => {
            Err(FetchError::RedirectRefused(to.clone()))
        }
        _ => Ok(()),
    }
}

/// The first request for a page.
fn first_hop(url: &Url, is_callers_origin: bool) -> Hop {
    match is_callers_origin {
        true => Hop::first(url),
        false => Hop::elsewhere(url),
    }
}

/// Whether a request carries nothing of its caller, so that its response may be shared.
fn is_shareable(headers: &HeaderMap, hop: &Hop, plan: &FetchPlan) -> bool {
    let has_callers = hop.is_original_origin && !plan.headers.is_empty();
    !has_callers && !headers.contains_key(COOKIE) && !headers.contains_key(AUTHORIZATION)
}

fn listed(headers: &HeaderMap) -> Vec<(String, String)> {
    let pairs = headers.iter();
    pairs
        .map(|(name, value)| (name.as_str().to_owned(), hop::text(value)))
        .collect()
}

/// The cookies that the answers set and did not delete again, each name once with its last value.
fn set_in_the_end(changes: &[CookieChange]) -> Vec<(String, String)> {
    let mut set: Vec<(String, String)> = Vec::new();
    for change in changes {
        let name = text_of(&change.name);
        let known = set.iter().position(|(known, _)| *known == name);
        match (known, change.value.as_deref().map(text_of)) {
            (Some(known), Some(value)) => set[known].1 = value,
            (None, Some(value)) => set.push((name, value)),
            (Some(known), None) => {
                set.remove(known);
            }
            (None, None) => {}
        }
    }
    set
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
