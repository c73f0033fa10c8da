//! Requests of web pages from other origins. Before one that has a key, the browser asks in a
//! preflight, which has none, whether it may be sent. Decision D430.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;

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

/// Whether a browser sent the request for a page.
pub(crate) fn has_origin(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN)
}

/// Lets pages of any origin read a response, with all of its headers. Only for endpoints that need
/// the key of an account: a page that has none learns nothing from them.
pub(crate) fn open(headers: &mut HeaderMap) {
    let any = HeaderValue::from_static("*");
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, any);
}
