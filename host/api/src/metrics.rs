//! `GET /metrics`: counters for Prometheus, for the server's own machine, or with the admin key.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use super::Api;
use super::auth;
use super::error::ApiError;

/// Headers that a proxy adds: then the peer is the proxy, and its address says nothing about who asks.
const FORWARDED: [&str; 3] = ["forwarded", "x-forwarded-for", "x-real-ip"];

#[utoipa::path(
    get,
    path = "/metrics",
    description = "Counters for Prometheus. Open to the server's own machine, elsewhere with the admin key.",
    responses(
        (status = 200, description = "Text exposition format 0.0.4", body = String, content_type = "text/plain"),
        (status = 403, description = "The caller is elsewhere and has not the admin key"),
    )
)]
pub(super) async fn metrics(
    State(api): State<Api>,
    request: Request,
) -> Result<Response, ApiError> {
    if !is_local(&request) && !auth::is_admin(&api, request.headers()) {
        return Err(ApiError::Closed);
    }
    let text = trawl_telemetry::metrics_text().ok_or(ApiError::NotBuilt)?;
    Ok((
        [(
            header::CONTENT_TYPE,
            "text/plain; version=0.0.4; charset=utf-8",
        )],
        text,
    )
        .into_response())
}

fn is_local(request: &Request) -> bool {
    let is_forwarded =
        |headers: &HeaderMap| FORWARDED.iter().any(|&name| headers.contains_key(name));
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    peer.is_some_and(|peer| peer.0.ip().to_canonical().is_loopback())
        && !is_forwarded(request.headers())
}
