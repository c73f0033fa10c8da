//! Plain HTTP: a request goes out as the fetcher's do and its answer comes back piece by piece. WebSocket upgrades become tunnels.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::header::{
    CONNECTION, EXPECT, HOST, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use url::Url;

use super::Channel;
use super::connection::{PassageSlot, Problem, ProxyBody, empty, leave, may_go_on};
use super::meter::{Denial, Meter};
use crate::egress::{EgressError, EgressFault, Reply};

/// Header lines that are for the next hop alone (RFC 9110 section 7.6.1), beside those that `Connection` names.
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

/// Sends a request on and answers with what comes back.
pub(super) async fn forward(
    channel: &Channel,
    slot: &PassageSlot,
    mut request: Request<Incoming>,
) -> Result<Response<ProxyBody>, Problem> {
    let url = target(request.uri()).ok_or(Problem::Malformed(
        "a proxy wants the whole address, and CONNECT for anything but http",
    ))?;
    may_go_on(channel, &url)?;
    let near = is_websocket(&request).then(|| hyper::upgrade::on(&mut request));
    let onward = onward(channel, request, &url, near.is_some());
    let idle = channel.limits.idle_time_max;
    let sent = in_time(idle, channel.egress.send(onward, &channel.route)).await;
    let reply = sent.map_err(|error| Denial::by_egress(&url, &error))?;
    match (reply.status(), near) {
        (StatusCode::SWITCHING_PROTOCOLS, Some(near)) => {
            let mut answer = head(&reply, empty());
            let headers = answer.headers_mut();
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, WEBSOCKET);
            let far = reply.response.upgrade().await;
            let far = far.map_err(|error| {
                Denial::by_egress(&url, &EgressError::from_client(error, reply.through_proxy))
            })?;
            leave(slot, near, Box::new(far));
            Ok(answer)
        }
        (StatusCode::SWITCHING_PROTOCOLS, None) => {
            let reason = "the site changes to a protocol that nobody asked for";
            let mut denial = Denial::by_rule(&url, reason);
            denial.answer = StatusCode::BAD_GATEWAY;
            Err(denial.into())
        }
        _ => Ok(relayed(reply, Arc::clone(&channel.meter), idle)),
    }
}

/// The address of a request in absolute form (RFC 9112 section 3.2.2), without a user's name in it.
fn target(uri: &http::Uri) -> Option<Url> {
    uri.authority()?;
    let mut url = Url::parse(&uri.to_string()).ok()?;
    let is_plain =
        url.scheme() == "http" && url.set_username("").is_ok() && url.set_password(None).is_ok();
    is_plain.then_some(url)
}

/// The only upgrade that a page can ask for. RFC 6455 section 4.1.
fn is_websocket(request: &Request<Incoming>) -> bool {
    let upgrade = request.headers().get(UPGRADE);
    *request.method() == Method::GET
        && upgrade.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
        && connection_options(request.headers()).any(|option| option == UPGRADE)
}

/// The request as it leaves.
fn onward(
    channel: &Channel,
    request: Request<Incoming>,
    url: &Url,
    is_upgrade: bool,
) -> reqwest::Request {
    let (mut head, body) = request.into_parts();
    strip(&mut head.headers);
    // The address alone says whom the request is for. RFC 9112 section 3.2.2.
    head.headers.remove(HOST);
    // Our own server has already told the browser to go on.
    head.headers.remove(EXPECT);
    if is_upgrade {
        let option = HeaderValue::from_static("Upgrade");
        head.headers.insert(CONNECTION, option);
        head.headers.insert(UPGRADE, WEBSOCKET);
    }
    let mut onward = reqwest::Request::new(head.method, url.clone());
    *onward.headers_mut() = head.headers;
    // Without a body a request can be repeated when an idle connection turns out to be closed.
    if !body.is_end_stream() {
        let (meter, idle) = (Arc::clone(&channel.meter), channel.limits.idle_time_max);
        *onward.body_mut() = Some(uploaded(body, meter, idle));
    }
    onward
}

/// The browser's body, counted on its way. `Content-Length`, if there was one, goes with the headers.
fn uploaded(body: Incoming, meter: Arc<Meter>, idle: Duration) -> reqwest::Body {
    let pieces = stream::unfold((body, meter), move |(mut body, meter)| async move {
        let piece = loop {
            let frame = match tokio::time::timeout(idle, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => break Err(io::Error::other(error)),
                Ok(None) => return None,
                Err(elapsed) => break Err(elapsed.into()),
            };
            // Trailers are for the next hop to drop. RFC 9110 section 6.5.1.
            if let Ok(data) = frame.into_data() {
                break meter.send(data.len()).map(|()| data);
            }
        };
        Some((piece, (body, meter)))
    });
    reqwest::Body::wrap_stream(pieces)
}

/// An answer with its body still on its way.
fn relayed(reply: Reply, meter: Arc<Meter>, idle: Duration) -> Response<ProxyBody> {
    let answer = head(&reply, ());
    let pieces = stream::unfold(Some((reply, meter)), move |state| async move {
        let (mut reply, meter) = state?;
        match next_piece(&mut reply, &meter, idle).await {
            Ok(None) => None,
            Ok(Some(piece)) => Some((Ok(Frame::data(piece)), Some((reply, meter)))),
            // The connection breaks, so that the browser sees that something is missing.
            Err(error) => Some((Err(error), None)),
        }
    });
    let body = StreamBody::new(pieces).boxed_unsync();
    answer.map(|()| body)
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

/// Status and headers of an answer for the browser.
fn head<B>(reply: &Reply, body: B) -> Response<B> {
    let mut answer = Response::new(body);
    *answer.status_mut() = reply.status();
    let mut headers = reply.headers().clone();
    strip(&mut headers);
    *answer.headers_mut() = headers;
    answer
}

/// Takes out what is for one hop alone.
fn strip(headers: &mut HeaderMap) {
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

/// The same within a time.
async fn in_time<T>(
    time: Duration,
    waiting: impl Future<Output = Result<T, EgressError>>,
) -> Result<T, EgressError> {
    match tokio::time::timeout(time, waiting).await {
        Ok(done) => done,
        Err(elapsed) => Err(EgressError::Broken {
            trouble: EgressFault::TimedOut,
            cause: Box::new(elapsed),
        }),
    }
}
