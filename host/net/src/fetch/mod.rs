//! Plain HTTP: one page with its redirects, cookies and content codings, within its limits and its
//! deadline. Every request leaves through `egress`, and only with a permit of `politeness`.

mod body;
mod cookies;
mod decode;
mod error;
mod exchange;
mod get;
mod hop;
pub mod loopback;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE};
use http::{HeaderMap, Method, StatusCode};
use url::Url;

pub use cookies::{CookieJar, gets_cookies_of};
pub use decode::{CODINGS_MAX, CodingError};
pub use error::FetchError;
pub use exchange::Exchanged;
pub use get::{
    BodyEnd, GET_REDIRECTS_MAX, Get, GetLimits, GetResponse, PERMIT_TIME_MAX, PoliteGet,
};
pub use hop::ACCEPTED_ENCODING;

use trawl_model::memory::{MemoryBudget, MemoryShare, PageMemory};
use trawl_model::page::header_list;
use trawl_model::redact::without_userinfo;
use trawl_model::{FetchedPage, Nanodollars, PageFailure};
use trawl_plan::FetchPlan;

use crate::egress::{Egress, PoolUse, connection_auth};
use crate::politeness::Permit;
use body::{BodyLimits, receive};
use cookies::CookieChange;
use hop::{Hop, text_of};

/// Redirects followed for one page, as in browsers. Fetch standard section 4.4, step 7.
pub const REDIRECTS_MAX: usize = 20;
/// Bytes of one body as it comes over the wire, unless configured otherwise: three times the
/// largest pages seen, and enough for most documents and images.
pub const WIRE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Bytes of one body after decoding, unless configured otherwise. What all of them hold together
/// is bounded by the memory budget.
pub const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long a body may arrive without a byte, unless configured otherwise: a site that is alive
/// sends something, and a body that stalls holds memory that others wait for.
pub const BODY_IDLE_MAX: Duration = Duration::from_secs(10);

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
}

impl Default for FetchConfig {
    fn default() -> Self {
        Self {
            user_agent: concat!("Trawl/", env!("CARGO_PKG_VERSION")).to_owned(),
            wire_bytes_max: WIRE_BYTES_MAX,
            body_bytes_max: BODY_BYTES_MAX,
            body_idle_max: BODY_IDLE_MAX,
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
    /// Headers of the last request, without those of a [`Condition`]; `None` when any request of
    /// the page carried something of this caller: a header, a cookie, a password. Then, and when
    /// its body has a fault, the page must not be shared through the cache.
    pub request: Option<HeaderMap>,
    /// Time that the page waited without using up its timeout; the caller fills it in.
    pub waited: Duration,
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

/// Covers the cost of a body while it arrives.
pub trait BodyMeter: Send + Sync {
    /// Covers a body of this many decoded bytes; may wait. Returns the number of bytes that are
    /// paid for now, at least `n_bytes`.
    ///
    /// # Errors
    /// The page cannot be paid: it ends with this failure.
    fn cover(&self, n_bytes: u64) -> BoxFuture<'_, Result<u64, PageFailure>>;
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
        self.fetch_if(permit, url, plan, caller, None, None).await
    }

    /// [`Self::fetch`] with a condition and a meter for the body. A page that was not modified has
    /// the status 304 and no body.
    ///
    /// # Errors
    /// As [`Self::fetch`].
    pub async fn fetch_if(
        &self,
        permit: &Permit,
        url: &Url,
        plan: &FetchPlan,
        caller: Caller<'_>,
        condition: Option<Condition<'_>>,
        meter: Option<&dyn BodyMeter>,
    ) -> Result<Fetched, FetchError> {
        let page = self.follow(permit, url, plan, caller, condition, meter);
        let patience = plan.pace.patience;
        let fetched = permit.in_time(plan.timeout, patience, page).await;
        fetched.unwrap_or(Err(FetchError::TimedOut(plan.timeout)))
    }

    /// Price of a gigabyte (10^9 bytes) through the pool that would carry this page, on top of the
    /// ordinary price.
    pub fn pool_price(&self, plan: &FetchPlan) -> Nanodollars {
        self.egress.pool_price(plan.pool.name())
    }

    /// Headers of the first request for a page, if the request carries nothing of this caller;
    /// otherwise `None`.
    pub fn impersonal(&self, url: &Url, plan: &FetchPlan, jar: &CookieJar) -> Option<HeaderMap> {
        let headers = Hop::first(url).headers(plan, &self.config.user_agent, &jar.matching(url));
        headers.ok().filter(|headers| is_shareable(headers, plan))
    }

    async fn follow(
        &self,
        permit: &Permit,
        url: &Url,
        plan: &FetchPlan,
        caller: Caller<'_>,
        condition: Option<Condition<'_>>,
        meter: Option<&dyn BodyMeter>,
    ) -> Result<Fetched, FetchError> {
        let jar = caller.cookies;
        let route = self
            .egress
            .route(plan.pool.name(), plan.country_code.as_deref());
        let mut hop = Hop::first(url);
        let (mut cookies, mut redirects, mut is_shared) = (Vec::new(), Vec::new(), true);
        loop {
            let headers = hop.headers(plan, &self.config.user_agent, &jar.matching(&hop.url))?;
            let mut request = reqwest::Request::new(Method::GET, hop.url.clone());
            is_shared &= is_shareable(&headers, plan);
            *request.headers_mut() = headers.clone();
            let condition = condition.filter(|condition| hop.is_at(condition.at));
            if let Some(condition) = condition {
                let wanted = condition.headers.iter();
                let wanted = wanted.map(|(name, value)| (name.clone(), value.clone()));
                request.headers_mut().extend(wanted);
            }
            let reply = self.egress.send(request, &route).await?;
            is_shared &= !connection_auth::is_offered(reply.headers());
            let changes = jar.store(reply.headers(), &hop.url);
            hop.note(&changes);
            cookies.extend(changes);
            if let Some(next) = hop::redirect(reply.status(), reply.headers(), &hop.url)? {
                if hop.redirects == REDIRECTS_MAX {
                    return Err(FetchError::TooManyRedirects);
                }
                let (status, headers) = (reply.status(), reply.headers().clone());
                // Its connection is not held while the page waits: for robots.txt, which may need
                // one, and for its next turn.
                drop(reply);
                check_redirect(plan, url, &next).await?;
                redirects.push(Redirect {
                    to: next.clone(),
                    status,
                    headers,
                });
                hop = hop.follow(next);
                permit.follow(hop.url.host_str().unwrap_or_default()).await;
                continue;
            }
            if reply.status() == StatusCode::NOT_MODIFIED && condition.is_none() {
                return Err(FetchError::NotModified);
            }
            let (status, response_headers) = (reply.status().as_u16(), listed(reply.headers()));
            // A repeated header is one list. Source: Fetch, "get, decode, and split".
            let content_type = header_list(&response_headers, CONTENT_TYPE.as_str());
            // A page that its site refuses costs nothing.
            let meter = meter.filter(|_| status < 400);
            let received = receive(reply, self.body_limits(), caller.memory, meter).await?;
            received.end?;
            return Ok(Fetched {
                page: FetchedPage {
                    requested_url: without_userinfo(url.clone()),
                    final_url: hop.url,
                    redirects: redirects.iter().map(Redirect::hop).collect(),
                    status,
                    headers: response_headers,
                    cookies: set_in_the_end(&cookies),
                    body: received.body,
                    content_type,
                },
                wire_bytes: received.wire_bytes,
                decode_time: received.decode_time,
                pool: route.pool,
                ignored: route.ignored,
                redirects,
                request: (is_shared && received.fault.is_none()).then_some(headers),
                waited: Duration::ZERO,
                fault: received.fault,
            });
        }
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
async fn check_redirect(plan: &FetchPlan, from: &Url, to: &Url) -> Result<(), FetchError> {
    match &plan.gate {
        Some(gate) if !gate.may_follow(from, to).await => {
            Err(FetchError::RedirectRefused(to.clone()))
        }
        _ => Ok(()),
    }
}

/// Whether a request carries nothing of its caller, so that its response may be shared.
fn is_shareable(headers: &HeaderMap, plan: &FetchPlan) -> bool {
    plan.headers.is_empty() && !headers.contains_key(COOKIE) && !headers.contains_key(AUTHORIZATION)
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
