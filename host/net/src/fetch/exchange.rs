//! One request on the operator's behalf to a service that the configuration allows. No redirect is
//! followed: the request may carry a credential.

use std::time::{Duration, Instant};

use bytes::Bytes;
use url::Url;

use trawl_model::PageFailure;
use trawl_model::memory::PageMemory;

use super::body::{BodyLimits, receive};
use super::get::end_of;
use super::{BodyEnd, FetchError, Fetcher, listed};

/// The response of a service.
#[derive(Clone, Debug)]
pub struct Exchanged {
    /// HTTP status. A redirect is returned as it is.
    pub status: u16,
    /// Headers in order, names in lower case, with repeats.
    pub headers: Vec<(String, String)>,
    /// Body, with its content encoding decoded.
    pub body: Bytes,
    /// Time from sending the request to the last byte of the body.
    pub elapsed: Duration,
}

impl Fetcher {
    /// The failure of a page that may not be fetched by any route: its host is not public, or is
    /// this server.
    pub async fn refusal(&self, url: &Url) -> Option<PageFailure> {
        let refused = self.egress.check_target(url).await.err()?;
        Some(FetchError::from(refused).failure())
    }

    /// Sends a request to a URL that `may` allows, and reads the whole response, at most
    /// `bytes_max` bytes, which take from `memory`. The body may pause: the service is the
    /// operator's choice, and some answer before they are done.
    ///
    /// # Errors
    /// [`FetchError`]: not allowed, not reached, incomplete, or too large.
    pub async fn exchange(
        &self,
        request: reqwest::Request,
        bytes_max: usize,
        memory: &PageMemory,
        may: impl FnOnce(&Url) -> bool,
    ) -> Result<Exchanged, FetchError> {
        let begun = Instant::now();
        let reply = self.egress.send_to_service(request, may).await?;
        let (status, headers) = (reply.status().as_u16(), listed(reply.headers()));
        let limits = BodyLimits {
            wire_bytes_max: bytes_max as u64,
            body_bytes_max: bytes_max,
            idle_max: None,
        };
        let received = receive(reply, limits, memory, None).await?;
        match end_of(received.end)? {
            BodyEnd::Complete => Ok(Exchanged {
                status,
                headers,
                body: received.body,
                elapsed: begun.elapsed(),
            }),
            BodyEnd::Truncated => Err(FetchError::TooLarge(bytes_max as u64)),
            BodyEnd::Broken => Err(FetchError::Incomplete),
        }
    }
}
