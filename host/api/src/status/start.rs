//! `GET /`: the console for browsers (Decision D530), a page of prose for other clients. Decision
//! D242.

use std::sync::LazyLock;

use axum::http::header::{CONTENT_SECURITY_POLICY, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;

use crate::console;
use crate::http::error::ApiError;
use crate::http::prepared::Prepared;

const PAGE: &str = include_str!("start.html");
/// The page loads nothing and runs nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The page.
pub(crate) async fn start(headers: HeaderMap) -> Result<Response, ApiError> {
    static PREPARED: LazyLock<Prepared> =
        LazyLock::new(|| Prepared::new("text/html; charset=utf-8", PAGE));
    if console::is_browser(&headers) {
        return console::index(&headers);
    }
    let mut response = PREPARED.response(&headers);
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (VARY, "accept-encoding, accept"),
    ] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}
