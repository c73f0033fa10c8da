//! `GET /plugins`: the loaded plugins.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::documented::PluginList;
use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;

#[utoipa::path(
    get,
    path = "/plugins",
    summary = "List the plugins",
    description = "Lists the plugins of the active generation: name, kind, version, hash, limits, calls, traps.",
    responses(
        (status = 200, description = "The generation, its plugins, and the error of the last reload if it failed", body = PluginList),
    ),
    security(("key" = []))
)]
pub(crate) async fn plugins(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    ResponseFormat::of(&headers).object(&api.service.plugins())
}
