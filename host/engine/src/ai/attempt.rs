//! One request to the model's server, with its retries.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method};
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use trawl_net::fetch::{ACCEPTED_ENCODING, FetchError};
use trawl_plugins::Question;

use super::wire::{self, Format, Line, Reply};
use super::{Ai, Unavailable};

/// Most requests of one exchange, the first one included.
const TRIES_MAX: u32 = 3;
/// Pause before the first retry; it doubles.
const PAUSE_FIRST: Duration = Duration::from_millis(250);
/// Longest `Retry-After` that is obeyed: a page waits meanwhile.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(5);
/// Largest reply. The longest answers have some hundred kilobytes.
const REPLY_BYTES_MAX: usize = 4 << 20;

/// A request without an answer.
struct Failed {
    why: Unavailable,
    /// Whether a retry can help, and after which `Retry-After`.
    again: Option<Option<Duration>>,
}

impl Ai {
    /// One exchange. If the server refuses `response_format`, the request is repeated without it.
    pub(super) async fn complete(
        &self,
        lines: &[Line],
        question: &Question,
        deadline: Instant,
    ) -> Result<Reply, Unavailable> {
        if self.knows_format() {
            let body = wire::request(self.name(), lines, question, Format::Schema);
            match self.with_retries(body, deadline).await {
                // Servers answer this to an unknown parameter.
                Err(Unavailable::Status(400 | 422)) => {}
                decided => return decided,
            }
        }
        let body = wire::request(self.name(), lines, question, Format::Words);
        let reply = self.with_retries(body, deadline).await?;
        self.is_without_format.store(true, Ordering::Relaxed);
        Ok(reply)
    }

    async fn with_retries(&self, body: Vec<u8>, deadline: Instant) -> Result<Reply, Unavailable> {
        let mut pause = PAUSE_FIRST;
        for n_try in 1.. {
            let failed = match self.once(body.clone()).await {
                Ok(reply) => return Ok(reply),
                Err(failed) => failed,
            };
            let Some(retry_after) = failed.again.filter(|_| n_try < TRIES_MAX) else {
                return Err(failed.why);
            };
            let wait = retry_after.unwrap_or(pause);
            if wait > RETRY_AFTER_MAX || Instant::now() + wait >= deadline {
                return Err(failed.why);
            }
            sleep(wait).await;
            pause *= 2;
        }
        Err(Unavailable::Late)
    }

    async fn once(&self, body: Vec<u8>) -> Result<Reply, Failed> {
        let memory = self.fetcher.own_memory();
        let is_service = |url: &Url| url.origin() == self.config.base.origin();
        let exchange =
            self.fetcher
                .exchange(self.sendable(body), REPLY_BYTES_MAX, &memory, is_service);
        let exchanged = match timeout(self.config.timeout, exchange).await {
            Ok(Ok(exchanged)) => exchanged,
            Ok(Err(FetchError::TooLarge(_))) => {
                return Err(Failed::for_good(Unavailable::TooLarge));
            }
            Ok(Err(error)) => {
                tracing::warn!(error = %self.scrubber.text(error.to_string()), "the model's server cannot be reached");
                return Err(Failed::for_now(Unavailable::Unreachable));
            }
            Err(_) => return Err(Failed::for_now(Unavailable::Late)),
        };
        let status = exchanged.status;
        match status {
            200..300 => {}
            429 | 500.. => {
                let retry_after = exchanged
                    .headers
                    .iter()
                    .find(|(name, _)| name == "retry-after");
                let seconds = retry_after.and_then(|(_, value)| value.trim().parse().ok());
                return Err(Failed {
                    why: Unavailable::Status(status),
                    again: Some(seconds.map(Duration::from_secs)),
                });
            }
            _ => return Err(Failed::for_good(Unavailable::Status(status))),
        }
        let body = self.scrubber.scrub(exchanged.body);
        wire::reply(&body).ok_or_else(|| Failed::for_good(Unavailable::Misfit))
    }

    /// The request as it is sent. No other code writes the key anywhere.
    fn sendable(&self, body: Vec<u8>) -> reqwest::Request {
        let mut request = reqwest::Request::new(Method::POST, self.completions.clone());
        let headers = request.headers_mut();
        let json = HeaderValue::from_static("application/json");
        headers.insert(CONTENT_TYPE, json.clone());
        headers.insert(ACCEPT, json);
        headers.insert(ACCEPT_ENCODING, ACCEPTED_ENCODING);
        let key = self.config.key.as_ref();
        let bearer = key.and_then(|key| {
            let text = zeroize::Zeroizing::new(format!("Bearer {}", key.expose()));
            HeaderValue::from_str(&text).ok()
        });
        if let Some(mut bearer) = bearer {
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        *request.body_mut() = Some(body.into());
        request
    }
}

impl Failed {
    fn for_good(why: Unavailable) -> Self {
        Self { why, again: None }
    }

    fn for_now(why: Unavailable) -> Self {
        Self {
            why,
            again: Some(None),
        }
    }
}
