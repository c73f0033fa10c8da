//! API keys and webhook secrets of accounts.

use axum::extract::{self, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use trawl_control::{Reply, Request};

use super::{ask, unexpected};
use crate::Api;
use crate::account::views::KeyView;
use crate::http::error::ApiError;
use crate::http::fields::Fields;
use crate::http::format::ResponseFormat;
use crate::http::paging::Page;
use crate::http::params::{Path, Query};

/// Which keys to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct KeysQuery {
    /// `true` to include revoked keys.
    #[param(value_type = Option<bool>)]
    all: Option<String>,
}

#[utoipa::path(
    get,
    path = "/admin/accounts/{account}/keys",
    description = "Lists the keys of an account by their first characters, oldest first.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice"), KeysQuery),
    responses(
        (status = 200, description = "The keys", body = Page<KeyView>, example = json!({"data": [{
            "key": "tr_9aK2bX7q", "name": "ci", "created": "2026-01-31T10:20:30.000Z", "last_used": null}], "count": 1})),
        (status = 400, description = "`all` is neither `true` nor `false`"),
        (status = 401, description = "The admin key is missing or wrong", example = json!({"error": "invalid api key"})),
        (status = 404, description = "There is no such account"),
    ),
    security(("admin" = []))
)]
pub(super) async fn list(
    State(api): State<Api>,
    Path(account): Path<String>,
    Query(query): Query<KeysQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let all = match query.all.as_deref() {
        Some("true" | "1" | "") => true,
        Some("false" | "0") | None => false,
        Some(_) => return Err(ApiError::Invalid("all: write `true` or `false`".to_owned())),
    };
    match ask(&api, Request::Keys { account, all }).await? {
        Reply::Keys(keys) => ResponseFormat::of(&headers).object(&Page {
            count: keys.len() as u64,
            next_cursor: None,
            data: keys.into_iter().map(KeyView::from).collect(),
        }),
        other => Err(unexpected(&other)),
    }
}

/// A new key.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"api_key": "tr_9aK2bX7q…"}))]
struct NewKey {
    /// The key. Shown only in this response.
    api_key: String,
}

/// Body of `POST /admin/accounts/{account}/keys`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the body is read field by field; this type documents it"
)]
#[schema(example = json!({"name": "ci"}))]
struct KeyName {
    /// Its name, at most 100 bytes. Names need not be unique.
    name: Option<String>,
}

#[utoipa::path(
    post,
    path = "/admin/accounts/{account}/keys",
    description = "Creates a key. It is shown only in this response.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    request_body(content = KeyName),
    responses(
        (status = 200, description = "The key", body = NewKey),
        (status = 400, description = "The name is invalid",
            example = json!({"error": "name: `…` is not a valid key name: it is longer than 100 bytes"})),
        (status = 401, description = "The admin key is missing or wrong", example = json!({"error": "invalid api key"})),
        (status = 404, description = "There is no such account"),
    ),
    security(("admin" = []))
)]
pub(super) async fn create(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
    request: extract::Request,
) -> Result<Response, ApiError> {
    let fields = Fields::read(request, &["name"]).await?;
    let name = fields.text("name")?.unwrap_or_default();
    match ask(&api, Request::CreateKey { account, name }).await? {
        Reply::Key { api_key } => ResponseFormat::of(&headers).object(&NewKey { api_key }),
        other => Err(unexpected(&other)),
    }
}

/// A revoked key.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"revoked": true}))]
struct Revoked {
    /// Always true.
    revoked: bool,
}

#[utoipa::path(
    delete,
    path = "/admin/accounts/{account}/keys/{prefix}",
    description = "Revokes a key immediately and permanently.",
    params(
        ("account" = String, Path, description = "Identifier or name", example = "alice"),
        ("prefix" = String, Path, description = "First characters of the key, as listed", example = "tr_9aK2bX7q"),
    ),
    responses(
        (status = 200, description = "The key is revoked", body = Revoked),
        (status = 401, description = "The admin key is missing or wrong", example = json!({"error": "invalid api key"})),
        (status = 404, description = "There is no such account, or it has no such active key"),
    ),
    security(("admin" = []))
)]
pub(super) async fn revoke(
    State(api): State<Api>,
    Path((account, key)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match ask(&api, Request::RevokeKey { account, key }).await? {
        Reply::Revoked {} => ResponseFormat::of(&headers).object(&Revoked { revoked: true }),
        other => Err(unexpected(&other)),
    }
}

/// The signing secret of webhook events.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"webhook_secret": "whsec_…"}))]
struct WebhookSecret {
    /// The secret.
    webhook_secret: String,
}

#[utoipa::path(
    get,
    path = "/admin/accounts/{account}/webhook-secret",
    description = "Returns the secret that signs the webhook events of an account. It is created on first use.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    responses(
        (status = 200, description = "The secret", body = WebhookSecret),
        (status = 401, description = "The admin key is missing or wrong", example = json!({"error": "invalid api key"})),
        (status = 404, description = "There is no such account"),
    ),
    security(("admin" = []))
)]
pub(super) async fn webhook_secret(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    secret(&api, account, false, &headers).await
}

#[utoipa::path(
    post,
    path = "/admin/accounts/{account}/webhook-secret",
    description = "Replaces the webhook secret. All events sent from now on are signed with the new one, including pending events.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    responses(
        (status = 200, description = "The new secret", body = WebhookSecret),
        (status = 401, description = "The admin key is missing or wrong", example = json!({"error": "invalid api key"})),
        (status = 404, description = "There is no such account"),
    ),
    security(("admin" = []))
)]
pub(super) async fn renew_webhook_secret(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    secret(&api, account, true, &headers).await
}

async fn secret(
    api: &Api,
    account: String,
    renew: bool,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    match ask(api, Request::WebhookSecret { account, renew }).await? {
        Reply::WebhookSecret { secret } => ResponseFormat::of(headers).object(&WebhookSecret {
            webhook_secret: secret,
        }),
        other => Err(unexpected(&other)),
    }
}
