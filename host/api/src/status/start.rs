//! `GET /`: what a person sees who opens the server in a browser. Decision D242.

use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::response::{Html, IntoResponse, Response};

const PAGE: &str = include_str!("start.html");
/// The page loads nothing and runs nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The page.
pub(crate) async fn start() -> Response {
    ([(CONTENT_SECURITY_POLICY, POLICY)], Html(PAGE)).into_response()
}
