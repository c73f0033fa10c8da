//! `GET /health`: whether pages can be served now.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::documented::Health;
use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::prepared::AsItIs;

#[utoipa::path(
    get,
    path = "/health",
    summary = "Check the server",
    description = "Fetches a page of the built-in sample site with every engine and reports the results. Needs no key.",
    responses(
        (status = 200, description = "Pages can be served", body = Health),
        (status = 503, description = "Pages cannot be served; the report says what failed", body = Health),
    )
)]
pub(crate) async fn health(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let health = api.service.health().await;
    let mut response = ResponseFormat::of(&headers).object(&health.report)?;
    // It has a few hundred bytes, and anybody may ask for it.
    response.extensions_mut().insert(AsItIs);
    if !health.is_healthy || api.service.is_draining() {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    Ok(response)
}
