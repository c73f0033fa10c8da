//! One connection of the browser to its channel.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use url::Url;

use super::meter::Denial;
use super::tunnel::{self, Stream};
use super::{Channel, dial, forward};
use crate::egress::sample;
use trawl_model::secret::Secret;

/// Smallest bound of a request's headers that the parser takes.
pub(super) const HEADER_BYTES_MIN: usize = 8 * 1024;
/// Header lines of one request: browsers send some 20, callers may add a hundred.
const HEADERS_MAX: usize = 256;

/// A body on its way to the browser.
pub(super) type ProxyBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// What a connection turns into once the answer is written: a tunnel to `far`.
pub(super) struct Passage {
    /// The browser's side, when it is free.
    pub(super) near: OnUpgrade,
    /// The other side.
    pub(super) far: Box<dyn Stream>,
}

/// Where the request that opens a tunnel leaves it for the connection.
pub(super) type PassageSlot = Mutex<Option<Passage>>;

/// Serves one connection to its end: requests one after another, then perhaps a tunnel.
pub(super) async fn serve(stream: TcpStream, channel: Arc<Channel>) {
    let slot = Arc::new(PassageSlot::default());
    let service = service_fn(|request| {
        let (channel, slot) = (Arc::clone(&channel), Arc::clone(&slot));
        async move { Ok::<_, Infallible>(answer(&channel, &slot, request).await) }
    });
    let limits = &channel.limits;
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_time_max)
        .max_headers(HEADERS_MAX)
        .max_header_size(limits.header_bytes_max)
        .max_buf_size(limits.header_bytes_max)
        .auto_date_header(false);
    let serving = server.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = serving.with_upgrades().await {
        tracing::debug!(%error, "a browser's connection broke");
        return;
    }
    let passage = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(passage) = passage else { return };
    match passage.near.await {
        Ok(near) => {
            let (near, idle) = (TokioIo::new(near), limits.idle_time_max);
            tunnel::carry(near, passage.far, &channel.meter, idle).await;
        }
        Err(error) => tracing::debug!(%error, "a browser hung up before its tunnel was open"),
    }
}

async fn answer(
    channel: &Channel,
    slot: &PassageSlot,
    request: Request<Incoming>,
) -> Response<ProxyBody> {
    if !is_authorized(request.headers(), &channel.expected) {
        let mut answer = said(
            StatusCode::PROXY_AUTHENTICATION_REQUIRED,
            "this proxy belongs to one browser",
        );
        let challenge = HeaderValue::from_static("Basic realm=\"trawl\"");
        answer.headers_mut().insert(PROXY_AUTHENTICATE, challenge);
        return answer;
    }
    let answered = match *request.method() {
        Method::CONNECT => connect(channel, slot, request).await,
        _ => forward::forward(channel, slot, request).await,
    };
    answered.unwrap_or_else(|problem| match problem {
        Problem::Malformed(reason) => {
            let mut answer = said(StatusCode::BAD_REQUEST, reason);
            // What comes next cannot be trusted to be the beginning of a request.
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(CONNECTION, close);
            answer
        }
        Problem::Denied(denial) => {
            channel.meter.refuse(&denial.refusal);
            said(denial.answer, denial.refusal.reason)
        }
    })
}

/// Why a request is not served.
pub(super) enum Problem {
    /// It is no request to a proxy.
    Malformed(&'static str),
    /// Its destination was not reached.
    Denied(Denial),
}

impl From<Denial> for Problem {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial)
    }
}

/// Opens a tunnel to the request's host and port. RFC 9110 section 9.3.6.
async fn connect(
    channel: &Channel,
    slot: &PassageSlot,
    request: Request<Incoming>,
) -> Result<Response<ProxyBody>, Problem> {
    let url = tunnel_target(request.uri())
        .ok_or(Problem::Malformed("CONNECT wants a host and a port"))?;
    may_go_on(channel, &url)?;
    if sample::is_sample(&url) {
        let reason = "the sample site has no certificate, open it with `http`";
        return Err(Denial::by_rule(&url, reason).into());
    }
    let far = dial::dial(&channel.egress, &url, &channel.route)
        .await
        .map_err(|error| Denial::by_egress(&url, &error))?;
    let near = hyper::upgrade::on(request);
    leave(slot, near, Box::new(far));
    Ok(Response::new(empty()))
}

/// Says no once the channel has carried more than it may.
pub(super) fn may_go_on(channel: &Channel, url: &Url) -> Result<(), Denial> {
    channel
        .meter
        .within()
        .map_err(|error| Denial::by_rule(url, error.to_string()))
}

/// Leaves a tunnel for the connection to carry on with.
pub(super) fn leave(slot: &PassageSlot, near: OnUpgrade, far: Box<dyn Stream>) {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Passage { near, far });
}

/// The destination of a CONNECT, read as the URL standard reads a host, so that no spelling of an address is a name.
fn tunnel_target(uri: &http::Uri) -> Option<Url> {
    let authority = uri.authority()?;
    let is_plain = !authority.as_str().contains('@') && uri.path_and_query().is_none();
    // The scheme is only there so that the address can be read; what goes through the tunnel is the browser's business.
    let port = authority.port_u16().filter(|_| is_plain)?;
    Url::parse(&format!("https://{}:{port}/", authority.host())).ok()
}

/// Compared in constant time. RFC 7617: the scheme's case does not matter.
fn is_authorized(headers: &HeaderMap, expected: &Secret) -> bool {
    let said = headers
        .get(PROXY_AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
    said.is_some_and(|(_, pair)| Secret::from(pair.trim()) == *expected)
}

/// A short answer of the proxy itself.
fn said(status: StatusCode, text: impl Into<Bytes>) -> Response<ProxyBody> {
    let body = Full::new(text.into()).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

/// No body.
pub(super) fn empty() -> ProxyBody {
    Full::default()
        .map_err(|never| match never {})
        .boxed_unsync()
}
