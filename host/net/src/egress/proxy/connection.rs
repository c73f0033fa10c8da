//! One connection of the browser to its proxy channel.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError};

use http::header::{CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::BufReader;
use tokio::net::TcpStream;
use url::Url;

use trawl_model::Cause;
use trawl_model::secret::Secret;

use super::meter::Denial;
use super::response::{ProxyBody, ProxyError, Tunnel, TunnelSlot, empty, refusal, switch_to, text};
use super::{Channel, dial, forward, kept_cookies, tunnel};
use crate::egress::sample;

/// Smallest header limit that the parser accepts.
pub(super) const HEADER_BYTES_MIN: usize = 8 * 1024;
/// Header lines of one request: browsers send some 20, callers may add a hundred.
const HEADERS_MAX: usize = 256;

/// Serves one connection until it closes: requests one after another, then perhaps a tunnel.
pub(super) async fn serve(stream: TcpStream, channel: Arc<Channel>) {
    let slot = Arc::new(TunnelSlot::default());
    let service = service_fn(|request| {
        let (channel, slot) = (Arc::clone(&channel), Arc::clone(&slot));
        async move { Ok::<_, Infallible>(respond(&channel, &slot, request).await) }
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
        tracing::debug!(%error, "a browser's connection to its proxy failed");
        return;
    }
    let opened = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(opened) = opened {
        carry(opened, &channel).await;
    }
}

/// Carries a tunnel until it ends.
async fn carry(opened: Tunnel, channel: &Channel) {
    let near = match opened.near.await {
        Ok(near) => near,
        Err(error) => {
            tracing::debug!(%error, "a browser closed its connection before the tunnel was open");
            return;
        }
    };
    let (mut near, mut far) = (BufReader::new(TokioIo::new(near)), opened.far);
    let (meter, limits) = (&channel.meter, &channel.limits);
    if let Some(cookies) = &opened.kept {
        let most = limits.header_bytes_max;
        let beginning = kept_cookies::begin(cookies, &mut near, &mut far, most, meter);
        let begun = tokio::time::timeout(limits.idle_time_max, beginning).await;
        if let Err(error) = begun.unwrap_or_else(|elapsed| Err(elapsed.into())) {
            tracing::debug!(%error, "a browser's tunnel did not begin");
            return;
        }
    }
    tunnel::carry(near, far, meter, limits.idle_time_max).await;
}

async fn respond(
    channel: &Channel,
    slot: &TunnelSlot,
    request: Request<Incoming>,
) -> Response<ProxyBody> {
    if !is_authorized(request.headers(), &channel.expected) {
        let mut response = text(
            StatusCode::PROXY_AUTHENTICATION_REQUIRED,
            "this proxy serves one browser context only",
        );
        let challenge = HeaderValue::from_static("Basic realm=\"trawl\"");
        response.headers_mut().insert(PROXY_AUTHENTICATE, challenge);
        return response;
    }
    let result = match *request.method() {
        Method::CONNECT => connect(channel, slot, request).await,
        _ => forward::forward(channel, slot, request).await,
    };
    result.unwrap_or_else(|error| match error {
        ProxyError::Malformed(reason) => {
            let mut response = text(StatusCode::BAD_REQUEST, reason);
            // The next bytes may not be the start of a request.
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
            response
        }
        ProxyError::Denied(denial) => {
            channel.meter.refuse(&denial.refusal);
            refusal(denial)
        }
    })
}

/// Opens a tunnel to the request's host and port. RFC 9110 section 9.3.6.
async fn connect(
    channel: &Channel,
    slot: &TunnelSlot,
    request: Request<Incoming>,
) -> Result<Response<ProxyBody>, ProxyError> {
    let url = tunnel_target(request.uri()).ok_or(ProxyError::Malformed(
        "CONNECT needs a host and a port, like `example.com:443`",
    ))?;
    channel.meter.check_limit(&url)?;
    if sample::is_sample(&url) {
        let reason = "the sample site has no certificate, use `http` instead of `https`";
        return Err(Denial::by_rule(&url, Cause::Tls, reason).into());
    }
    let far = dial::dial(&channel.egress, &url, &channel.route)
        .await
        .map_err(|error| Denial::by_egress(&url, &error))?;
    let tunnel = Tunnel {
        near: hyper::upgrade::on(request),
        far: Box::new(far),
        kept: channel.kept.kept_from(&url),
    };
    switch_to(slot, tunnel);
    Ok(Response::new(empty()))
}

/// The destination of a CONNECT, parsed like the host of a URL, so that no spelling of an IP
/// address passes as a name.
fn tunnel_target(uri: &http::Uri) -> Option<Url> {
    let authority = uri.authority()?;
    let is_plain = !authority.as_str().contains('@') && uri.path_and_query().is_none();
    // The scheme only makes it a URL; what protocol the tunnel carries is the browser's business.
    let port = authority.port_u16().filter(|_| is_plain)?;
    Url::parse(&format!("https://{}:{port}/", authority.host())).ok()
}

/// Compares credentials in constant time. RFC 7617: the scheme's case does not matter.
fn is_authorized(headers: &HeaderMap, expected: &Secret) -> bool {
    let sent = headers
        .get(PROXY_AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
    sent.is_some_and(|(_, pair)| Secret::from(pair.trim()) == *expected)
}
