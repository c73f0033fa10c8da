//! `GET /plugins`: what is loaded.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::Api;
use super::error::ApiError;
use super::post::Form;

#[utoipa::path(
    get,
    path = "/plugins",
    description = "The plugins of the generation in effect: name, kind, version, hash, limits, calls, traps.",
    responses(
        (status = 200, description = "The generation, its plugins, and why the last reload failed if it did", body = Object),
    ),
    security(("key" = []))
)]
pub(super) async fn plugins(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Form::of(&headers).one(&api.service.plugins())
}
