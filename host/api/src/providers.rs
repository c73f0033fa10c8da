//! `GET /providers`: how each third-party service is doing, for the operator.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::Api;
use super::auth;
use super::error::ApiError;
use super::post::Form;

#[utoipa::path(
    get,
    path = "/providers",
    description = "Each provider with its grant and prices, and its calls, failures by class, latency, cost and bill since the start. Needs the admin key.",
    responses(
        (status = 200, description = "An object with `providers`, in the order in which they are tried", body = Object),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn providers(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match auth::is_admin(&api, &headers) {
        true => Form::of(&headers).one(&api.service.providers()),
        false => Err(ApiError::Key),
    }
}
