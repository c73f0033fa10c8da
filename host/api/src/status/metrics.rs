//! `GET /metrics`: Prometheus metrics, for local connections or with the admin key.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use crate::Api;
use crate::http::auth;
use crate::http::error::ApiError;

/// Headers that a reverse proxy adds: the peer is then the proxy, not the client.
const FORWARDED: [&str; 3] = ["forwarded", "x-forwarded-for", "x-real-ip"];

#[utoipa::path(
    get,
    path = "/metrics",
    description = "Prometheus metrics. Local connections need no key, others need the admin key.",
    responses(
        (status = 200, description = "Text exposition format 0.0.4", body = String, content_type = "text/plain"),
        (status = 403, description = "The connection is not local and the request has no admin key"),
    )
)]
pub(crate) async fn metrics(
    State(api): State<Api>,
    request: Request,
) -> Result<Response, ApiError> {
    if !is_local(&request) && !auth::is_admin(&api, request.headers()) {
        return Err(ApiError::Closed);
    }
    let text = trawl_telemetry::metrics_text().ok_or(ApiError::NotImplemented)?;
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
