//! `GET /admin/plugins`: the loaded plugins, for the operator.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::status::PluginList;

#[utoipa::path(
    get,
    path = "/admin/plugins",
    summary = "List the plugins for the operator",
    description = "Lists the plugins as `/plugins` does for accounts: the active generation, and each plugin with its limits, calls, \
        traps, time and memory.",
    responses(
        (status = 200, description = "The generation, its plugins, and the error of the last reload if it failed", body = PluginList),
    ),
    security(("admin" = []))
)]
pub(super) async fn plugins(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    ResponseFormat::of(&headers).object(&api.service.plugins())
}
