//! Requests of web pages from other origins. Before one that has a key, the browser asks in a
//! preflight, which has none, whether it may be sent. Decision D430.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::version::unversioned;

/// The request headers that a page may send: `*` is every header but `Authorization`.
const ALLOWED_HEADERS: &str = "Authorization, Content-Type, Idempotency-Key, *";
/// Seconds for which a browser remembers the answer; browsers take two hours at most.
const REMEMBERED_SECONDS: u32 = 7_200;

/// Whether a request is a preflight. It does nothing, so it needs no key.
pub(crate) fn is_preflight(request: &Request) -> bool {
    let asked = header::ACCESS_CONTROL_REQUEST_METHOD;
    request.method() == Method::OPTIONS && request.headers().contains_key(asked)
}

/// The answer to a preflight of a path with these methods: `GET, POST`.
pub(crate) fn preflight(methods: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    if let Ok(methods) = HeaderValue::from_str(methods) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    }
    let allowed = HeaderValue::from_static(ALLOWED_HEADERS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    let seconds = HeaderValue::from(REMEMBERED_SECONDS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, seconds);
    response
}

/// Lets pages of any origin read the response to a request of theirs, with all of its headers, but
/// for these paths: those that need no account's key. A page without a key learns nothing from the
/// others. Outside of all that answers by itself, so that a page can read why it is refused.
pub(crate) async fn open_to_pages(
    State(closed): State<Arc<[&'static str]>>,
    request: Request,
    next: Next,
) -> Response {
    let is_of_page = request.headers().contains_key(header::ORIGIN);
    let is_open = is_of_page && !is_closed(&closed, &request);
    let mut response = next.run(request).await;
    if is_open {
        open(response.headers_mut());
    }
    response
}

/// Whether the path of a request is one of these, with or without its version. One that is not
/// served is none of them.
fn is_closed(closed: &[&'static str], request: &Request) -> bool {
    let matched = request.extensions().get::<MatchedPath>();
    let path = matched.map_or("", MatchedPath::as_str);
    closed.contains(&unversioned(path))
}

fn open(headers: &mut HeaderMap) {
    let any = HeaderValue::from_static("*");
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, any);
}
