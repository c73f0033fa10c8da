//! One exchange in the operator's name, with a service that the configuration grants. No redirect is followed: the request may carry
//! a credential.

use std::time::{Duration, Instant};

use bytes::Bytes;
use url::Url;

use super::get::receive;
use super::{BodyEnd, FetchError, Fetcher, listed};
use trawl_model::PageFailure;

/// What a service answered.
#[derive(Clone, Debug)]
pub struct Exchanged {
    /// HTTP status. A redirect is an answer.
    pub status: u16,
    /// Headers in order, names in lower case, repeats kept.
    pub headers: Vec<(String, String)>,
    /// Body, content-encoding removed.
    pub body: Bytes,
    /// From the request's first byte to the body's last.
    pub elapsed: Duration,
}

impl Fetcher {
    /// What a page becomes that nobody may be asked for: its address is not public, or a server of our own.
    pub async fn refusal(&self, url: &Url) -> Option<PageFailure> {
        let refused = self.egress.refuses(url).await?;
        Some(FetchError::from(refused).failure())
    }

    /// Sends a request to an address that `may` allows, and takes the whole answer in, at most so many bytes.
    ///
    /// # Errors
    /// [`FetchError`]: not allowed, not reached, cut off, or too large.
    pub async fn exchange(
        &self,
        request: reqwest::Request,
        bytes_max: usize,
        may: impl FnOnce(&Url) -> bool,
    ) -> Result<Exchanged, FetchError> {
        let begun = Instant::now();
        let reply = self.egress.send_to_service(request, may).await?;
        let (status, headers) = (reply.status().as_u16(), listed(reply.headers()));
        let (body, end) = receive(reply, bytes_max).await?;
        match end {
            BodyEnd::Whole => Ok(Exchanged {
                status,
                headers,
                body,
                elapsed: begun.elapsed(),
            }),
            BodyEnd::PageRange => Err(FetchError::TooLarge(bytes_max as u64)),
            BodyEnd::Broken => Err(FetchError::BrokenOff),
        }
    }
}
