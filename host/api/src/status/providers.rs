//! `GET /providers`: statistics of the third-party providers, for the operator.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use crate::Api;
use crate::http::auth;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;

#[utoipa::path(
    get,
    path = "/providers",
    description = "Lists each provider with its grant and prices, and its calls, failures by class, latency, cost and charges since the server started. \
        Needs the admin key.",
    responses(
        (status = 200, description = "An object with `providers`, in the order of preference", body = Object),
        (status = 401, description = "The admin key is missing or wrong", example = json!({"error": "invalid api key"})),
    ),
    security(("admin" = []))
)]
pub(crate) async fn providers(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if !auth::is_admin(&api, &headers) {
        return Err(ApiError::Key);
    }
    ResponseFormat::of(&headers).object(&api.service.providers())
}
