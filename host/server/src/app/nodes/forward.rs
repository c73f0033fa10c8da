//! What a standby does with requests: it sends them to the server that has the database.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::{Authority, Scheme, Uri};
use http::{StatusCode, Version};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::sync::watch;

use trawl_store::Serving;

use super::transport::client;

/// Marks a request that a standby has sent, which no other one sends on, and every answer of a
/// standby: who has the database answers without it.
const FORWARDED: HeaderName = HeaderName::from_static("trawl-forwarded");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Headers that belong to one connection, as those do that `Connection` names. RFC 9110, section
/// 7.6.1.
const OF_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];
/// When a caller may try again, in seconds: a lease has ended by then, or another address is known.
const RETRY_AFTER: &str = "3";
const NOT_REACHED: &str = r#"{"error":"the server that has the database cannot be reached, and this one waits to replace it: try again"}"#;

struct Forwarder {
    client: Client<HttpConnector, Body>,
    serving: watch::Receiver<Option<Serving>>,
}

/// A router that sends every request to the server that is `serving`.
pub(super) fn router(serving: watch::Receiver<Option<Serving>>) -> Router {
    let forwarder = Forwarder {
        client: client(),
        serving,
    };
    Router::new()
        .fallback(forward)
        .with_state(Arc::new(forwarder))
}

async fn forward(State(forwarder): State<Arc<Forwarder>>, request: Request) -> Response {
    let mut serving = forwarder.serving.clone();
    let address = serving
        .borrow_and_update()
        .as_ref()
        .map(|it| it.address.clone());
    let to: Option<Authority> = address.and_then(|address| address.parse().ok());
    let is_forwarded = request.headers().contains_key(FORWARDED);
    let Some(request) = to
        .filter(|_| !is_forwarded)
        .and_then(|to| readdressed(request, to))
    else {
        return not_reached();
    };
    let answered = tokio::select! {
        answered = forwarder.client.request(request) => answered.ok(),
        // It is another one by now, and the first may never answer.
        _ = serving.changed() => None,
    };
    match answered {
        Some(answer) => {
            let mut answer = answer.map(Body::new);
            remove_of_connection(answer.headers_mut());
            let mark = HeaderValue::from_static("1");
            answer.headers_mut().insert(FORWARDED, mark);
            answer
        }
        None => not_reached(),
    }
}

/// The request for the server with this address; `None` if its URL does not allow that.
fn readdressed(request: Request, to: Authority) -> Option<Request> {
    let (mut parts, body) = request.into_parts();
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map(|ConnectInfo(peer)| peer.ip().to_string());
    remove_of_connection(&mut parts.headers);
    if let Some(host) = parts.uri.authority().map(Authority::as_str)
        && !parts.headers.contains_key(header::HOST)
    {
        let host = HeaderValue::from_str(host).ok()?;
        parts.headers.insert(header::HOST, host);
    }
    if let Some(peer) = peer {
        let before = parts.headers.get(FORWARDED_FOR);
        let before = before.and_then(|value| value.to_str().ok());
        let all = before.map_or_else(|| peer.clone(), |before| format!("{before}, {peer}"));
        let all = HeaderValue::from_str(&all).ok()?;
        parts.headers.insert(FORWARDED_FOR, all);
    }
    parts
        .headers
        .insert(FORWARDED, HeaderValue::from_static("1"));
    let mut uri = std::mem::take(&mut parts.uri).into_parts();
    uri.scheme = Some(Scheme::HTTP);
    uri.authority = Some(to);
    parts.uri = Uri::from_parts(uri).ok()?;
    parts.version = Version::HTTP_11;
    Some(Request::from_parts(parts, body))
}

fn remove_of_connection(headers: &mut HeaderMap) {
    let values = headers.get_all(header::CONNECTION).into_iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let names = texts.flat_map(|text| text.split(','));
    let named: Vec<HeaderName> = names.filter_map(|name| name.trim().parse().ok()).collect();
    for name in named.into_iter().chain(OF_CONNECTION) {
        headers.remove(name);
    }
}

fn not_reached() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::RETRY_AFTER, RETRY_AFTER),
        (FORWARDED, "1"),
    ];
    (StatusCode::SERVICE_UNAVAILABLE, headers, NOT_REACHED).into_response()
}

#[cfg(test)]
mod tests {
    use axum::routing::post;
    use tokio::net::TcpListener;
    use tower::ServiceExt as _;

    use super::*;

    async fn echoed(headers: HeaderMap, body: String) -> String {
        let text = |name: HeaderName| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let (host, peers) = (text(header::HOST), text(FORWARDED_FOR));
        assert!(!headers.contains_key("x-hop"), "it is of one connection");
        format!("{body} for {host} from {peers}")
    }

    /// A server that answers with what it was sent, and its address.
    async fn echo() -> String {
        let router = Router::new().route("/scrape", post(echoed));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        tokio::spawn(async move { axum::serve(listener, router).await });
        address.to_string()
    }

    fn request() -> http::request::Builder {
        let peer: SocketAddr = "192.0.2.7:9".parse().expect("an address");
        http::Request::post("/scrape?a=b")
            .header(header::HOST, "pages.example")
            .header(FORWARDED_FOR, "198.51.100.1")
            .header(header::CONNECTION, "close, X-Hop")
            .header("x-hop", "1")
            .extension(ConnectInfo(peer))
    }

    fn serving_at(address: String) -> Option<Serving> {
        let key = "a key".into();
        Some(Serving { address, key })
    }

    async fn send(router: &Router, request: Request) -> (StatusCode, String) {
        let answer = router.clone().oneshot(request).await.expect("an answer");
        let status = answer.status();
        assert!(answer.headers().contains_key(FORWARDED), "{answer:?}");
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await;
        let body = body.expect("a body").to_vec();
        (status, String::from_utf8(body).expect("a text"))
    }

    #[tokio::test]
    async fn requests_go_to_the_server_that_has_the_database() {
        let (known, serving) = watch::channel(None);
        let router = router(serving);
        let body = || Body::from("a page");
        let early = send(&router, request().body(body()).expect("a request")).await;
        assert_eq!(early.0, StatusCode::SERVICE_UNAVAILABLE, "{}", early.1);
        known.send_replace(serving_at(echo().await));
        let answer = send(&router, request().body(body()).expect("a request")).await;
        let expected = "a page for pages.example from 198.51.100.1, 192.0.2.7";
        assert_eq!(answer, (StatusCode::OK, expected.to_owned()));
        // No two standbys send a request to each other for ever.
        let again = request().header(FORWARDED, "1");
        let again = send(&router, again.body(body()).expect("a request")).await;
        assert_eq!(again.0, StatusCode::SERVICE_UNAVAILABLE);
    }

    #[tokio::test]
    async fn a_request_does_not_wait_for_a_server_that_was_replaced() {
        // It accepts connections, and never answers.
        let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = silent.local_addr().expect("a bound listener").to_string();
        let (known, serving) = watch::channel(serving_at(address));
        let router = router(serving);
        let asked = request().body(Body::empty()).expect("a request");
        let waiting = tokio::spawn(async move { send(&router, asked).await });
        let (_connection, _) = silent.accept().await.expect("a connection");
        assert!(!waiting.is_finished());
        drop(known);
        let answer = waiting.await.expect("it ended");
        assert_eq!(answer.0, StatusCode::SERVICE_UNAVAILABLE);
    }
}
