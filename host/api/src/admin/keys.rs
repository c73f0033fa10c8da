//! API keys and webhook secrets of accounts.

use axum::extract::{self, State};
use axum::http::HeaderMap;
use axum::response::Response;

use crate::Api;
use crate::account::keys::{self, Budget, KeyName, KeysQuery, NewKey, Revoked, WebhookSecret};
use crate::account::views::KeyView;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::paging::Page;
use crate::http::params::{Path, Query};

#[utoipa::path(
    get,
    path = "/admin/accounts/{account}/keys",
    summary = "List the keys of an account",
    description = "Lists the keys of an account by their first characters, oldest first.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice"), KeysQuery),
    responses(
        (status = 200, description = "The keys", body = Page<KeyView>, example = json!({"data": [{
            "key": "tr_9aK2bX7q", "name": "ci", "created": "2026-01-31T10:20:30.000Z", "last_used": null,
            "monthly_budget": 5.0, "month_spent": 0.25}], "count": 1})),
        (status = 400, description = "`all` is neither `true` nor `false`", body = ref("#/components/schemas/Error"),
            example = json!({"error": "all: write `true` or `false`"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn list(
    State(api): State<Api>,
    Path(account): Path<String>,
    Query(query): Query<KeysQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    keys::list_of(&api, account, &query, ResponseFormat::of(&headers)).await
}

#[utoipa::path(
    post,
    path = "/admin/accounts/{account}/keys",
    summary = "Create a key for an account",
    description = "Creates a key, with a monthly budget if the body has one. It is shown only in this response.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    request_body(content = KeyName),
    responses(
        (status = 200, description = "The key", body = NewKey),
        (status = 400, description = "The name or the budget is invalid", body = ref("#/components/schemas/Error"),
            example = json!({"error": "name: `…` is not a valid key name: it is longer than 100 bytes"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn create(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
    request: extract::Request,
) -> Result<Response, ApiError> {
    keys::create_for(&api, account, request, ResponseFormat::of(&headers)).await
}

#[utoipa::path(
    put,
    path = "/admin/accounts/{account}/keys/{prefix}/budget",
    summary = "Set the budget of a key of an account",
    description = "Sets what the pages of a key may cost in a calendar month (UTC), or removes the budget. It holds at once, also for what \
        the key was charged in this month and for its background crawls.",
    params(
        ("account" = String, Path, description = "Identifier or name", example = "alice"),
        ("prefix" = String, Path, description = "First characters of the key, as listed", example = "tr_9aK2bX7q"),
    ),
    request_body(content = Budget),
    responses(
        (status = 200, description = "The key", body = KeyView),
        (status = 400, description = "The budget is missing or invalid", body = ref("#/components/schemas/Error"),
            example = json!({"error": "monthly_budget: the budget $-5 is negative: choose zero or more"})),
        (status = 404, description = "There is no such account, or it has no such active key", body = ref("#/components/schemas/Error"),
            example = json!({"error": "`alice` has no key `tr_9aK2bX7q`, or it is revoked: list its keys"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn set_budget(
    State(api): State<Api>,
    Path((account, key)): Path<(String, String)>,
    headers: HeaderMap,
    request: extract::Request,
) -> Result<Response, ApiError> {
    keys::set_budget_of(&api, account, key, request, ResponseFormat::of(&headers)).await
}

#[utoipa::path(
    delete,
    path = "/admin/accounts/{account}/keys/{prefix}",
    summary = "Revoke a key of an account",
    description = "Revokes a key immediately and permanently.",
    params(
        ("account" = String, Path, description = "Identifier or name", example = "alice"),
        ("prefix" = String, Path, description = "First characters of the key, as listed", example = "tr_9aK2bX7q"),
    ),
    responses(
        (status = 200, description = "The key is revoked", body = Revoked),
        (status = 404, description = "There is no such account, or it has no such active key", body = ref("#/components/schemas/Error"),
            example = json!({"error": "`alice` has no key `tr_9aK2bX7q`, or it is revoked: list its keys"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn revoke(
    State(api): State<Api>,
    Path((account, key)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    keys::revoke_of(&api, account, key, ResponseFormat::of(&headers)).await
}

#[utoipa::path(
    get,
    path = "/admin/accounts/{account}/webhook-secret",
    summary = "Show the webhook secret of an account",
    description = "Returns the secret that signs the webhook events of an account. It is created on first use.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    responses(
        (status = 200, description = "The secret", body = WebhookSecret),
    ),
    security(("admin" = []))
)]
pub(super) async fn webhook_secret(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    keys::secret_of(&api, account, false, ResponseFormat::of(&headers)).await
}

#[utoipa::path(
    post,
    path = "/admin/accounts/{account}/webhook-secret",
    summary = "Replace the webhook secret of an account",
    description = "Replaces the webhook secret. All events sent from now on are signed with the new one, including pending events; for 24 hours \
        `webhook-signature` has a signature with the replaced one as well.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    responses(
        (status = 200, description = "The new secret", body = WebhookSecret),
    ),
    security(("admin" = []))
)]
pub(super) async fn renew_webhook_secret(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    keys::secret_of(&api, account, true, ResponseFormat::of(&headers)).await
}
