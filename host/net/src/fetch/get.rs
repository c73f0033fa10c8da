//! Small files that the server reads for itself: robots.txt and sitemaps. Nobody pays for them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, ACCEPT_ENCODING, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method};
use tokio::time::{Instant, timeout};
use url::Url;

use super::decode::{CodingError, Decoder};
use super::{ACCEPTED_ENCODING, DECODE_STEP_BYTES, DECODE_TURN_BYTES, FetchError, Fetcher, hop};
use crate::egress::{Reply, Route};
use crate::politeness::Politeness;
use trawl_plan::Pool;

/// Redirects that are followed: RFC 9309 section 2.3.1.2 asks for at least five.
pub const GET_REDIRECTS_MAX: usize = 5;
/// How often a file is asked for again after a 429 or 503.
const RETRIES_MAX: usize = 2;
/// How long one request may wait for its turn at a host: longer than the longest pause that a host can ask for, and no part
/// of the time that fetching may take.
pub const TURN_TIME_MAX: Duration = Duration::from_secs(10 * 60);

const ACCEPTED: HeaderValue = HeaderValue::from_static("*/*");

/// Gets a file by its address.
pub trait Get: Send + Sync {
    /// Gets a file, following its redirects. An answer with any status is an answer; a redirect too many is one, too.
    ///
    /// # Errors
    /// [`FetchError`] when no answer came.
    fn get<'a>(
        &'a self,
        url: &'a Url,
        limits: GetLimits,
    ) -> BoxFuture<'a, Result<GetResponse, FetchError>>;
}

/// What getting a file may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetLimits {
    /// Bytes of the body, before and after decoding; more are cut off.
    pub bytes_max: usize,
    /// Time for all of it, without waiting for one's turn.
    pub time_max: Duration,
    /// Least time since the last request to the host that had a delay too; zero is no delay. `None` is an errand on the way
    /// to a page: it stands in no line, and waits for nothing but a pause that the host asked for.
    pub delay: Option<Duration>,
}

/// A file that was got.
#[derive(Clone, Debug)]
pub struct GetResponse {
    /// HTTP status of the final answer.
    pub status: u16,
    /// Address of the final answer.
    pub final_url: Url,
    /// The decoded body, as far as it came and may go.
    pub body: Bytes,
    /// How the body ended.
    pub end: BodyEnd,
}

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// All of it is there.
    Whole,
    /// It is longer than allowed.
    PageRange,
    /// The connection broke, or its coding is damaged.
    Broken,
}

/// Gets files through the door that pages go through, at the pace of their hosts.
pub struct PoliteGet {
    fetcher: Fetcher,
    politeness: Arc<Politeness>,
}

impl PoliteGet {
    /// With this fetcher's door and `User-Agent`, at this pace.
    pub fn new(fetcher: Fetcher, politeness: Arc<Politeness>) -> Self {
        Self {
            fetcher,
            politeness,
        }
    }

    async fn follow(&self, url: &Url, limits: GetLimits) -> Result<GetResponse, FetchError> {
        let route = self.fetcher.egress.route(Pool::Standard.name(), None);
        let mut url = hop::without_userinfo(url.clone());
        let (mut redirects, mut retries) = (0, 0);
        let mut time_left = limits.time_max;
        loop {
            let host = url.host_str().unwrap_or_default();
            let turn = async {
                match limits.delay {
                    Some(delay) => Some(self.politeness.permit_with(host, delay).await),
                    None => {
                        self.politeness.errand(host).await;
                        None
                    }
                }
            };
            let turn = timeout(TURN_TIME_MAX, turn).await;
            let _permit = turn.map_err(|_| FetchError::TimedOut(TURN_TIME_MAX))?;
            let begun = Instant::now();
            let answered = timeout(time_left, self.ask(&url, &route, limits.bytes_max)).await;
            let (headers, got) = answered.map_err(|_| FetchError::TimedOut(limits.time_max))??;
            time_left = time_left.saturating_sub(begun.elapsed());
            if matches!(got.status, 429 | 503) {
                let retry_after = headers
                    .get(RETRY_AFTER)
                    .and_then(|value| value.to_str().ok());
                self.politeness.backoff(host, retry_after);
                if retries < RETRIES_MAX {
                    retries += 1;
                    continue;
                }
            } else {
                self.politeness.succeeded(host);
            }
            let status = http::StatusCode::from_u16(got.status).unwrap_or_default();
            match hop::redirect(status, &headers, &url)? {
                Some(next) if redirects < GET_REDIRECTS_MAX => {
                    redirects += 1;
                    url = next;
                }
                _ => return Ok(got),
            }
        }
    }

    async fn ask(
        &self,
        url: &Url,
        route: &Route,
        bytes_max: usize,
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
        let reply = self.fetcher.egress.send(request, route).await?;
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
        let (body, end) = receive(reply, bytes_max).await?;
        let got = GetResponse {
            status,
            final_url: url.clone(),
            body,
            end,
        };
        Ok((headers, got))
    }
}

impl Get for PoliteGet {
    fn get<'a>(
        &'a self,
        url: &'a Url,
        limits: GetLimits,
    ) -> BoxFuture<'a, Result<GetResponse, FetchError>> {
        Box::pin(self.follow(url, limits))
    }
}

/// Takes in as much of a body as comes, within its cap.
pub(super) async fn receive(
    mut reply: Reply,
    bytes_max: usize,
) -> Result<(Bytes, BodyEnd), FetchError> {
    let mut decoder = Decoder::new(reply.headers(), bytes_max)?;
    let mut turn_ends_at = DECODE_TURN_BYTES;
    let mut end = BodyEnd::Whole;
    'body: loop {
        let chunk = match reply.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(_) => {
                end = BodyEnd::Broken;
                break;
            }
        };
        for piece in chunk.chunks(DECODE_STEP_BYTES) {
            if let Err(error) = decoder.push(piece) {
                end = end_of(&error);
                break 'body;
            }
            if decoder.decoded_bytes() >= turn_ends_at {
                turn_ends_at = decoder.decoded_bytes() + DECODE_TURN_BYTES;
                tokio::task::yield_now().await;
            }
        }
        if reply.body_bytes() > bytes_max as u64 {
            end = BodyEnd::PageRange;
            break;
        }
    }
    let (body, ended) = decoder.end();
    if let (BodyEnd::Whole, Err(error)) = (end, ended) {
        end = end_of(&error);
    }
    Ok((body.into(), end))
}

fn end_of(error: &CodingError) -> BodyEnd {
    match error {
        CodingError::TooLarge(_) => BodyEnd::PageRange,
        CodingError::Unknown(_)
        | CodingError::TooMany
        | CodingError::Corrupt(_)
        | CodingError::Truncated(_) => BodyEnd::Broken,
    }
}

#[cfg(test)]
#[path = "get_tests.rs"]
mod tests;
