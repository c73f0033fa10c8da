//! What a handler of the proxy returns: a response for the browser, a connection to switch to, or
//! an error.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::upgrade::OnUpgrade;

use super::meter::Denial;
use super::tunnel::Stream;

/// Which proxy made a response, and why. RFC 9209.
const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");
/// Its value where the destination was not reached.
const NOT_REACHED: &str = "trawl; error=destination_unavailable";

/// Whether these headers, with names in lower case, come from [`refusal`].
pub(super) fn is_refusal(headers: &[(String, String)]) -> bool {
    let mut status = headers
        .iter()
        .filter(|(name, _)| PROXY_STATUS == name.as_str());
    status.any(|(_, value)| value == NOT_REACHED)
}

/// A response body for the browser.
pub(super) type ProxyBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// The tunnel that a connection becomes once the response is written.
pub(super) struct Tunnel {
    /// The browser's side, once its response is written.
    pub(super) near: OnUpgrade,
    /// The connection to the destination.
    pub(super) far: Box<dyn Stream>,
    /// Cookies that must not enter it.
    pub(super) kept: Option<Vec<String>>,
}

/// Where a handler stores a tunnel for the connection to continue with.
pub(super) type TunnelSlot = Mutex<Option<Tunnel>>;

/// Why a request gets an error response.
pub(super) enum ProxyError {
    /// It is not a valid request to a proxy.
    Malformed(&'static str),
    /// Its destination was not reached.
    Denied(Denial),
}

impl From<Denial> for ProxyError {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial)
    }
}

/// Stores a tunnel for the connection to continue with.
pub(super) fn switch_to(slot: &TunnelSlot, tunnel: Tunnel) {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
}

/// What the browser gets for a destination that was not reached.
pub(super) fn refusal(denial: Denial) -> Response<ProxyBody> {
    let mut response = text(denial.status, denial.refusal.reason);
    let headers = response.headers_mut();
    headers.insert(PROXY_STATUS, HeaderValue::from_static(NOT_REACHED));
    response
}

/// A short response of the proxy itself.
pub(super) fn text(status: StatusCode, message: impl Into<Bytes>) -> Response<ProxyBody> {
    let body = Full::new(message.into()).map_err(|never| match never {});
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// An empty body.
pub(super) fn empty() -> ProxyBody {
    Full::default()
        .map_err(|never| match never {})
        .boxed_unsync()
}
