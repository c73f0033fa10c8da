//! Usage of an account by host.

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use trawl_model::memory::MemoryShare;

use crate::Api;
use crate::account::hosts::{self, Hosts, HostsQuery};
use crate::http::error::ApiError;
use crate::http::params::{Path, Query};

#[utoipa::path(
    get,
    path = "/admin/accounts/{account}/hosts",
    summary = "Sum up usage of an account by host",
    description = "Sums up the pages of an account by host, as `/account/hosts` does for its owner: what they cost, how many failed and \
        why.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice"), HostsQuery),
    responses(
        (status = 200, description = "The hosts", body = Hosts),
        (status = 400, description = "A time or `limit` is invalid", body = ref("#/components/schemas/Error"),
            example = json!({"error": "from: write a time like `2026-01-31` or `2026-01-31T10:20:30Z`"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn hosts(
    State(api): State<Api>,
    Extension(memory): Extension<MemoryShare>,
    Path(account): Path<String>,
    Query(query): Query<HostsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let account = api.rooms.billing.known(&account)?;
    hosts::respond(&api, &account.id, (&query, &headers), (&memory, None)).await
}
