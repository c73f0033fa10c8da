//! `GET /`: what a person sees who opens the server in a browser. Decision D242.

use std::sync::LazyLock;

use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;

use crate::http::prepared::Prepared;

const PAGE: &str = include_str!("start.html");
/// The page loads nothing and runs nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The page.
pub(crate) async fn start(headers: HeaderMap) -> Response {
    static PREPARED: LazyLock<Prepared> =
        LazyLock::new(|| Prepared::new("text/html; charset=utf-8", PAGE));
    let mut response = PREPARED.response(&headers);
    let policy = HeaderValue::from_static(POLICY);
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, policy);
    response
}
