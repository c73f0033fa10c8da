//! `GET /health`: whether a real page can be served now.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::Api;
use super::error::ApiError;
use super::post::Form;

#[utoipa::path(
    get,
    path = "/health",
    description = "Serves a page of the built-in sample site through every engine and says how it went. Needs no key.",
    responses(
        (status = 200, description = "Pages can be served", body = Object),
        (status = 503, description = "Pages cannot be served; the report says what failed", body = Object),
    )
)]
pub(super) async fn health(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let health = api.service.health().await;
    let mut response = Form::of(&headers).one(&health.report)?;
    if !health.is_healthy || api.service.is_draining() {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    Ok(response)
}
