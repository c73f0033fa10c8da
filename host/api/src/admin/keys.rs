//! Keys of accounts, and what their webhook events are signed with.

use axum::extract::{self, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Api, ApiError, ask, astray};
use crate::body::Fields;
use crate::paging::Page;
use crate::params::{Path, Query};
use crate::post::Form;
use crate::views::KeyView;
use trawl_control::{Reply, Request};

/// Which keys are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct KeysQuery {
    /// `true` for keys that were ended as well.
    #[param(value_type = Option<bool>)]
    all: Option<String>,
}

#[utoipa::path(
    get,
    path = "/admin/accounts/{account}/keys",
    description = "The keys of an account, oldest first, by their first characters.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice"), KeysQuery),
    responses(
        (status = 200, description = "The keys", body = Page<KeyView>, example = json!({"data": [{
            "key": "tr_9aK2bX7q", "name": "ci", "created": "2026-01-31T10:20:30.000Z", "last_used": null}], "count": 1})),
        (status = 400, description = "`all` is neither `true` nor `false`"),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 404, description = "No such account"),
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
        Reply::Keys(keys) => Form::of(&headers).one(&Page {
            count: keys.len() as u64,
            data: keys.into_iter().map(KeyView::from).collect(),
        }),
        other => Err(astray(&other)),
    }
}

/// A new key.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"api_key": "tr_9aK2bX7q…"}))]
struct NewKey {
    /// The key, shown here and never again.
    api_key: String,
}

/// Body of `POST /admin/accounts/{account}/keys`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the body is read field by field; this describes it"
)]
#[schema(example = json!({"name": "ci"}))]
struct KeyName {
    /// What to call it, at most 100 bytes. Several keys may have the same name.
    name: Option<String>,
}

#[utoipa::path(
    post,
    path = "/admin/accounts/{account}/keys",
    description = "Makes another key, which is shown in this answer only.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    request_body(content = KeyName),
    responses(
        (status = 200, description = "The key", body = NewKey),
        (status = 400, description = "The name is no name",
            example = json!({"error": "name: `…` cannot be a key's name: it is longer than 100 bytes"})),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 404, description = "No such account"),
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
        Reply::Key { api_key } => Form::of(&headers).one(&NewKey { api_key }),
        other => Err(astray(&other)),
    }
}

/// A key that was ended.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"revoked": true}))]
struct Revoked {
    /// Always true.
    revoked: bool,
}

#[utoipa::path(
    delete,
    path = "/admin/accounts/{account}/keys/{prefix}",
    description = "Ends a key at once and for good.",
    params(
        ("account" = String, Path, description = "Identifier or name", example = "alice"),
        ("prefix" = String, Path, description = "First characters of the key as they are listed", example = "tr_9aK2bX7q"),
    ),
    responses(
        (status = 200, description = "It is ended", body = Revoked),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 404, description = "No such account, or it has no such key in force"),
    ),
    security(("admin" = []))
)]
pub(super) async fn revoke(
    State(api): State<Api>,
    Path((account, key)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match ask(&api, Request::RevokeKey { account, key }).await? {
        Reply::Revoked {} => Form::of(&headers).one(&Revoked { revoked: true }),
        other => Err(astray(&other)),
    }
}

/// What webhook events are signed with.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"webhook_secret": "whsec_…"}))]
struct WebhookSecret {
    /// The secret.
    webhook_secret: String,
}

#[utoipa::path(
    get,
    path = "/admin/accounts/{account}/webhook-secret",
    description = "What the webhook events of an account are signed with; made when it is first asked for.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    responses(
        (status = 200, description = "The secret", body = WebhookSecret),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 404, description = "No such account"),
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
    description = "A new secret in place of the one there was: events sent from now on are signed with it, those that wait as well.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    responses(
        (status = 200, description = "The new secret", body = WebhookSecret),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 404, description = "No such account"),
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
        Reply::WebhookSecret { secret } => Form::of(headers).one(&WebhookSecret {
            webhook_secret: secret,
        }),
        other => Err(astray(&other)),
    }
}
