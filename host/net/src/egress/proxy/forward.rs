//! Plain HTTP: forwards a request like the fetcher's own and streams the response back. WebSocket
//! upgrades become tunnels.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use url::Url;

use trawl_model::Cause;

use super::Channel;
use super::meter::{Denial, Meter};
use super::response::{ProxyBody, ProxyError, Tunnel, TunnelSlot, empty, switch_to};
use crate::egress::{EgressError, EgressFault, Reply};

/// Hop-by-hop headers (RFC 9110 section 7.6.1), in addition to those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");

/// Forwards a request and returns the response for the browser.
pub(super) async fn forward(
    channel: &Channel,
    slot: &TunnelSlot,
    mut request: Request<Incoming>,
) -> Result<Response<ProxyBody>, ProxyError> {
    let url = target(request.uri()).ok_or(ProxyError::Malformed(
        "a proxy needs the absolute URL, and CONNECT for anything but `http`",
    ))?;
    channel.meter.check_limit(&url)?;
    let near = is_websocket(&request).then(|| hyper::upgrade::on(&mut request));
    let outgoing = outgoing(channel, request, &url, near.is_some());
    let idle = channel.limits.idle_time_max;
    let sent = in_time(idle, channel.egress.send(outgoing, &channel.route)).await;
    let reply = sent.map_err(|error| Denial::by_egress(&url, &error))?;
    match (reply.status(), near) {
        (StatusCode::SWITCHING_PROTOCOLS, Some(near)) => {
            let mut response = head(&reply, empty());
            let headers = response.headers_mut();
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, WEBSOCKET);
            let far = reply.upgrade().await;
            let far = far.map_err(|error| Denial::by_egress(&url, &error))?;
            let tunnel = Tunnel {
                near,
                far: Box::new(far),
                kept: None,
            };
            switch_to(slot, tunnel);
            Ok(response)
        }
        (StatusCode::SWITCHING_PROTOCOLS, None) => {
            let reason = "the site switched to a protocol that was not requested";
            let mut denial = Denial::by_rule(&url, Cause::ConnectionClosed, reason);
            denial.status = StatusCode::BAD_GATEWAY;
            Err(denial.into())
        }
        _ => Ok(relayed(reply, Arc::clone(&channel.meter), idle)),
    }
}

/// The URL of a request in absolute form (RFC 9112 section 3.2.2), without user information.
fn target(uri: &http::Uri) -> Option<Url> {
    uri.authority()?;
    let mut url = Url::parse(&uri.to_string()).ok()?;
    let is_plain =
        url.scheme() == "http" && url.set_username("").is_ok() && url.set_password(None).is_ok();
    is_plain.then_some(url)
}

/// Whether it is a WebSocket upgrade, the only one a page can request. RFC 6455 section 4.1.
fn is_websocket(request: &Request<Incoming>) -> bool {
    let upgrade = request.headers().get(UPGRADE);
    *request.method() == Method::GET
        && upgrade.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
        && connection_options(request.headers()).any(|option| option == UPGRADE)
}

/// Builds the outgoing request.
fn outgoing(
    channel: &Channel,
    request: Request<Incoming>,
    url: &Url,
    is_upgrade: bool,
) -> reqwest::Request {
    let (mut head, body) = request.into_parts();
    strip(&mut head.headers);
    // In absolute form the URL alone names the host. RFC 9112 section 3.2.2.
    head.headers.remove(HOST);
    // The proxy's HTTP server has already sent `100 Continue`.
    head.headers.remove(EXPECT);
    if is_upgrade {
        let option = HeaderValue::from_static("Upgrade");
        head.headers.insert(CONNECTION, option);
        head.headers.insert(UPGRADE, WEBSOCKET);
    }
    let mut outgoing = reqwest::Request::new(head.method, url.clone());
    *outgoing.headers_mut() = head.headers;
    // A request without a body can be repeated when its pooled connection turns out to be closed.
    if !body.is_end_stream() {
        let (meter, idle) = (Arc::clone(&channel.meter), channel.limits.idle_time_max);
        *outgoing.body_mut() = Some(uploaded(body, meter, idle));
    }
    outgoing
}

/// The browser's request body, counted while it is sent. `Content-Length`, if any, is among the
/// headers.
fn uploaded(body: Incoming, meter: Arc<Meter>, idle: Duration) -> reqwest::Body {
    let pieces = stream::unfold((body, meter), move |(mut body, meter)| async move {
        let piece = loop {
            let frame = match tokio::time::timeout(idle, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => break Err(io::Error::other(error)),
                Ok(None) => return None,
                Err(elapsed) => break Err(elapsed.into()),
            };
            // Trailers may be dropped. RFC 9110 section 6.5.1.
            if let Ok(data) = frame.into_data() {
                break meter.send(data.len()).map(|()| data);
            }
        };
        Some((piece, (body, meter)))
    });
    reqwest::Body::wrap_stream(pieces)
}

/// A response whose body is streamed.
fn relayed(reply: Reply, meter: Arc<Meter>, idle: Duration) -> Response<ProxyBody> {
    let response = head(&reply, ());
    let pieces = stream::unfold(Some((reply, meter)), move |state| async move {
        let (mut reply, meter) = state?;
        match next_piece(&mut reply, &meter, idle).await {
            Ok(None) => None,
            Ok(Some(piece)) => Some((Ok(Frame::data(piece)), Some((reply, meter)))),
            // The connection is aborted, so that the browser sees an incomplete body.
            Err(error) => Some((Err(error), None)),
        }
    });
    let body = StreamBody::new(pieces).boxed_unsync();
    response.map(|()| body)
}

async fn next_piece(
    reply: &mut Reply,
    meter: &Meter,
    idle: Duration,
) -> Result<Option<Bytes>, Box<dyn std::error::Error + Send + Sync>> {
    let piece = in_time(idle, reply.chunk()).await?;
    if let Some(piece) = &piece {
        meter.receive(piece.len())?;
    }
    Ok(piece)
}

/// Status and headers of a response for the browser.
fn head<B>(reply: &Reply, body: B) -> Response<B> {
    let mut response = Response::new(body);
    *response.status_mut() = reply.status();
    let mut headers = reply.headers().clone();
    strip(&mut headers);
    *response.headers_mut() = headers;
    response
}

/// Removes hop-by-hop headers.
fn strip(headers: &mut HeaderMap) {
    // With a transfer coding, `Content-Length` is not the length of the body. RFC 9112 section 6.3.
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    let named: Vec<HeaderName> = connection_options(headers).collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Header names that `Connection` lists.
fn connection_options(headers: &HeaderMap) -> impl Iterator<Item = HeaderName> {
    headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|option| HeaderName::try_from(option.trim()).ok())
}

/// Limits the time of a request or of a piece of its body.
async fn in_time<T>(
    time: Duration,
    waiting: impl Future<Output = Result<T, EgressError>>,
) -> Result<T, EgressError> {
    match tokio::time::timeout(time, waiting).await {
        Ok(done) => done,
        Err(elapsed) => Err(EgressError::Broken {
            fault: EgressFault::TimedOut,
            cause: Box::new(elapsed),
        }),
    }
}
