//! Small files that the server fetches for itself: robots.txt and sitemaps. They are not charged.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, ACCEPT_ENCODING, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method};
use tokio::time::{Instant, timeout};
use url::Url;

use trawl_model::memory::{MemoryShare, PageMemory};
use trawl_model::redact::without_userinfo;
use trawl_plan::{Country, Exit};

use super::body::{BodyLimits, receive};
use super::decode::CodingError;
use super::{ACCEPTED_ENCODING, FetchError, Fetcher, hop};
use crate::egress::Route;
use crate::politeness::{Owner, Permit, Politeness, RequestPace};

/// Redirects that are followed: RFC 9309 section 2.3.1.2 requires at least five.
pub const GET_REDIRECTS_MAX: usize = 5;
/// How often a file is requested again after a 429 or 503.
const RETRIES_MAX: usize = 2;
/// Longest wait of one request for its permit at a host: longer than the longest pause that a host
/// can request. It does not count towards the time limit of the fetch.
pub const PERMIT_TIME_MAX: Duration = Duration::from_secs(10 * 60);

const ACCEPTED: HeaderValue = HeaderValue::from_static("*/*");

/// Fetches a file by its URL.
pub trait Get: Send + Sync {
    /// Fetches a file and follows its redirects. A response with any status counts, and so does the
    /// redirect after the last one allowed.
    ///
    /// # Errors
    /// [`FetchError`] when there was no response.
    fn get<'a>(
        &'a self,
        url: &'a Url,
        limits: GetLimits,
    ) -> BoxFuture<'a, Result<GetResponse, FetchError>>;

    /// The same for one account: the body takes from its share of the memory budget, not from the
    /// server's own.
    ///
    /// # Errors
    /// As [`Self::get`].
    fn get_for<'a>(
        &'a self,
        _account: &'a MemoryShare,
        url: &'a Url,
        limits: GetLimits,
    ) -> BoxFuture<'a, Result<GetResponse, FetchError>> {
        self.get(url, limits)
    }

    /// The exit that serves requests for this one; several may have the same.
    fn exit(&self, wanted: Exit) -> Exit {
        wanted
    }
}

/// Limits of fetching a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetLimits {
    /// Bytes of the body, before and after decoding; longer bodies are truncated.
    pub bytes_max: usize,
    /// Time limit without the wait for a permit.
    pub time_max: Duration,
    /// Longest pause that is waited for when the host asks for one: others wait for the file.
    pub pause_max: Duration,
    /// The proxy pool, and the country of the proxy, that the request goes through.
    pub exit: Exit,
    /// The request's pace; see [`RequestPace`].
    /// `None` takes no permit and waits only for a pause that the host requested: for a fetch on
    /// behalf of a page that may hold the permit itself.
    pub pace: Option<RequestPace>,
}

/// A fetched file.
#[derive(Clone, Debug)]
pub struct GetResponse {
    /// HTTP status of the final response.
    pub status: u16,
    /// URL of the final response.
    pub final_url: Url,
    /// The decoded body, up to its limit.
    pub body: Bytes,
    /// How the body ended.
    pub end: BodyEnd,
}

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// The body is complete.
    Complete,
    /// It was cut at the limit.
    Truncated,
    /// The connection failed, or the coding is corrupt.
    Broken,
}

/// Fetches files like pages: through egress, at the pace of their hosts.
pub struct PoliteGet {
    fetcher: Fetcher,
    politeness: Arc<Politeness>,
}

impl PoliteGet {
    /// Uses this fetcher's egress and `User-Agent`, at this pace.
    pub fn new(fetcher: Fetcher, politeness: Arc<Politeness>) -> Self {
        Self {
            fetcher,
            politeness,
        }
    }

    async fn follow(
        &self,
        url: &Url,
        limits: GetLimits,
        memory: PageMemory,
    ) -> Result<GetResponse, FetchError> {
        let Exit { pool, country } = limits.exit;
        let country = country.as_ref().map(Country::code);
        let route = self.fetcher.egress.route(pool.name(), country);
        let mut url = without_userinfo(url.clone());
        let (mut redirects, mut retries) = (0, 0);
        let mut time_left = limits.time_max;
        let owner = limits.pace.unwrap_or_default().owner;
        loop {
            let host = url.host_str().unwrap_or_default();
            let _permit = self.permit(host, owner, limits).await?;
            let started = Instant::now();
            let request = self.request(&url, &route, limits.bytes_max, &memory);
            let result = timeout(time_left, request).await;
            let (headers, response) =
                result.map_err(|_| FetchError::TimedOut(limits.time_max))??;
            time_left = time_left.saturating_sub(started.elapsed());
            if limits.pace.is_none() {
                let account = Owner::of(route.account());
                self.politeness.note(host, account);
            }
            if matches!(response.status, 429 | 503) {
                let retry_after = headers
                    .get(RETRY_AFTER)
                    .and_then(|value| value.to_str().ok());
                let pause = self.politeness.backoff(host, owner, retry_after);
                if retries < RETRIES_MAX && pause <= limits.pause_max {
                    retries += 1;
                    continue;
                }
            } else {
                self.politeness.succeeded(host, owner);
            }
            let status = http::StatusCode::from_u16(response.status).unwrap_or_default();
            match hop::redirect(status, &headers, &url)? {
                Some(next) if redirects < GET_REDIRECTS_MAX => {
                    redirects += 1;
                    url = next;
                }
                _ => return Ok(response),
            }
        }
    }

    /// Waits for a permit, or without a delay for the end of a pause.
    ///
    /// # Errors
    /// [`FetchError::Paused`] at once for a pause that is too long.
    async fn permit(
        &self,
        host: &str,
        owner: Owner,
        limits: GetLimits,
    ) -> Result<Option<Permit>, FetchError> {
        let pause = self.politeness.pause(host, owner);
        if pause > limits.pause_max {
            return Err(FetchError::Paused(pause));
        }
        let permit = async {
            match limits.pace {
                Some(pace) => Some(self.politeness.permit_with(host, pace).await),
                None => {
                    self.politeness.wait_out_pause(host, owner).await;
                    None
                }
            }
        };
        let permit = timeout(PERMIT_TIME_MAX, permit).await;
        permit.map_err(|_| FetchError::TimedOut(PERMIT_TIME_MAX))
    }

    async fn request(
        &self,
        url: &Url,
        route: &Route,
        bytes_max: usize,
        memory: &PageMemory,
    ) -> Result<(HeaderMap, GetResponse), FetchError> {
        let mut request = reqwest::Request::new(Method::GET, url.clone());
        let user_agent = HeaderValue::from_str(&self.fetcher.config.user_agent);
        let headers = request.headers_mut();
        headers.insert(
            USER_AGENT,
            user_agent.map_err(|_| FetchError::Unsendable("user-agent"))?,
        );
        headers.insert(ACCEPT, ACCEPTED);
        headers.insert(ACCEPT_ENCODING, ACCEPTED_ENCODING);
        self.fetcher.sign(&mut request);
        let reply = self.fetcher.egress.send(request, route).await?;
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
        let limits = BodyLimits {
            wire_bytes_max: bytes_max as u64,
            body_bytes_max: bytes_max,
            idle_max: Some(self.fetcher.config.body_idle_max),
        };
        let received = receive(reply, limits, memory, None).await?;
        let response = GetResponse {
            status,
            final_url: url.clone(),
            body: received.body,
            end: end_of(received.end)?,
        };
        Ok((headers, response))
    }
}

impl Get for PoliteGet {
    fn get<'a>(
        &'a self,
        url: &'a Url,
        limits: GetLimits,
    ) -> BoxFuture<'a, Result<GetResponse, FetchError>> {
        Box::pin(self.follow(url, limits, self.fetcher.own_memory()))
    }

    fn get_for<'a>(
        &'a self,
        account: &'a MemoryShare,
        url: &'a Url,
        limits: GetLimits,
    ) -> BoxFuture<'a, Result<GetResponse, FetchError>> {
        Box::pin(self.follow(url, limits, account.page()))
    }

    /// Without the country if the pool has no proxy there: then any proxy serves.
    fn exit(&self, wanted: Exit) -> Exit {
        let (egress, pool) = (&self.fetcher.egress, wanted.pool.name());
        let country = wanted.country;
        Exit {
            country: country.filter(|country| egress.has_country(pool, country.code())),
            ..wanted
        }
    }
}

/// How a body ended.
///
/// # Errors
/// There was no memory for it.
pub(super) fn end_of(end: Result<(), FetchError>) -> Result<BodyEnd, FetchError> {
    match end {
        Ok(()) => Ok(BodyEnd::Complete),
        Err(FetchError::TooLarge(_) | FetchError::Coding(CodingError::TooLarge(_))) => {
            Ok(BodyEnd::Truncated)
        }
        Err(error @ FetchError::Memory(_)) => Err(error),
        Err(_) => Ok(BodyEnd::Broken),
    }
}

#[cfg(test)]
mod tests;
