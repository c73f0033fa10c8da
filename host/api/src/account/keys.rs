//! `/account/keys` and `/account/webhook-secret`: keys and the signing secret, for the owner of an
//! account; and what these endpoints share with the operator's. Decision D194.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{self, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use trawl_billing::{Account, key_prefix};
use trawl_control::{Reply, Request};

use super::views::KeyView;
use crate::Api;
use crate::http::auth;
use crate::http::control::{ask, unexpected};
use crate::http::error::ApiError;
use crate::http::fields::Fields;
use crate::http::format::ResponseFormat;
use crate::http::paging::Page;
use crate::http::params::{Path, Query};

/// Active keys that an owner may have.
const ACTIVE_KEYS_MAX: usize = 100;
/// Keys that an owner may have had, revoked ones included: they stay stored.
const KEYS_MAX: usize = 1_000;

/// Which keys to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct KeysQuery {
    /// `true` to include revoked keys.
    #[param(value_type = Option<bool>)]
    all: Option<String>,
}

/// A new key.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"api_key": "tr_9aK2bX7q…"}))]
pub(crate) struct NewKey {
    /// The key. Shown only in this response.
    api_key: String,
}

/// Body of a request for a new key.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the body is read field by field; this type documents it"
)]
#[schema(as = KeyRequest, example = json!({"name": "ci", "monthly_budget": "5"}))]
pub(crate) struct KeyName {
    /// Its name, at most 100 bytes. Names need not be unique.
    name: Option<String>,
    /// Dollars that its pages may cost in a calendar month (UTC), as decimal text or a number.
    /// Without it, only the balance limits them.
    monthly_budget: Option<String>,
}

/// Body of a request for the budget of a key.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the body is read field by field; this type documents it"
)]
#[schema(as = KeyBudgetRequest, example = json!({"monthly_budget": "5"}))]
pub(crate) struct Budget {
    /// Dollars that its pages may cost in a calendar month (UTC), as decimal text or a number; null
    /// removes the budget.
    #[schema(required = true)]
    monthly_budget: Option<String>,
}

/// A revoked key.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"revoked": true}))]
pub(crate) struct Revoked {
    /// Always true.
    revoked: bool,
}

/// The signing secret of webhook events.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"webhook_secret": "whsec_…"}))]
pub(crate) struct WebhookSecret {
    /// The secret.
    webhook_secret: String,
}

/// Whether the key of the request itself may be revoked.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CurrentQuery {
    /// `true` to revoke the key that this request is sent with.
    #[param(value_type = Option<bool>)]
    current: Option<String>,
}

/// Lists the keys of an account.
pub(crate) async fn list_of(
    api: &Api,
    account: String,
    query: &KeysQuery,
    format: ResponseFormat,
) -> Result<Response, ApiError> {
    let all = switch("all", query.all.as_deref())?;
    let keys = read(api, account, all).await?;
    format.object(&Page {
        count: keys.len() as u64,
        next_cursor: None,
        data: keys.into_iter().map(KeyView::from).collect(),
    })
}

/// Creates a key for an account.
pub(crate) async fn create_for(
    api: &Api,
    account: String,
    request: extract::Request,
    format: ResponseFormat,
) -> Result<Response, ApiError> {
    let fields = Fields::read(request, &["name", "monthly_budget"]).await?;
    let request = Request::CreateKey {
        account,
        name: fields.text("name")?.unwrap_or_default(),
        budget: fields.dollars("monthly_budget")?.map(|budget| budget.0),
    };
    match ask(api, request).await? {
        Reply::Key { api_key } => format.object(&NewKey { api_key }),
        other => Err(unexpected(&other)),
    }
}

/// Sets or removes the monthly budget of a key of an account.
pub(crate) async fn set_budget_of(
    api: &Api,
    account: String,
    key: String,
    request: extract::Request,
    format: ResponseFormat,
) -> Result<Response, ApiError> {
    let fields = Fields::read(request, &["monthly_budget"]).await?;
    fields.check_given("monthly_budget", "dollars, or null to remove the budget")?;
    let budget = fields.dollars("monthly_budget")?.map(|budget| budget.0);
    let request = Request::SetKeyBudget {
        account,
        key,
        budget,
    };
    match ask(api, request).await? {
        Reply::KeyBudget(key) => format.object(&KeyView::from(key)),
        other => Err(unexpected(&other)),
    }
}

/// Revokes a key of an account.
pub(crate) async fn revoke_of(
    api: &Api,
    account: String,
    key: String,
    format: ResponseFormat,
) -> Result<Response, ApiError> {
    match ask(api, Request::RevokeKey { account, key }).await? {
        Reply::Revoked {} => format.object(&Revoked { revoked: true }),
        other => Err(unexpected(&other)),
    }
}

/// Returns the webhook secret of an account, or replaces it first.
pub(crate) async fn secret_of(
    api: &Api,
    account: String,
    renew: bool,
    format: ResponseFormat,
) -> Result<Response, ApiError> {
    match ask(api, Request::WebhookSecret { account, renew }).await? {
        Reply::WebhookSecret { secret } => format.object(&WebhookSecret {
            webhook_secret: secret,
        }),
        other => Err(unexpected(&other)),
    }
}

#[utoipa::path(
    get,
    path = "/account/keys",
    summary = "List the keys",
    description = "Lists the keys of the account by their first characters, oldest first.",
    params(KeysQuery),
    responses(
        (status = 200, description = "The keys", body = Page<KeyView>, example = json!({"data": [{
            "key": "tr_9aK2bX7q", "name": "ci", "created": "2026-01-31T10:20:30.000Z", "last_used": null,
            "monthly_budget": 5.0, "month_spent": 0.25}], "count": 1})),
        (status = 400, description = "`all` is neither `true` nor `false`", body = ref("#/components/schemas/Error"),
            example = json!({"error": "all: write `true` or `false`"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn list(
    State(api): State<Api>,
    Extension(owner): Extension<Arc<Account>>,
    Query(query): Query<KeysQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    list_of(
        &api,
        owner.id.to_string(),
        &query,
        ResponseFormat::of(&headers),
    )
    .await
}

#[utoipa::path(
    post,
    path = "/account/keys",
    summary = "Create a key",
    description = "Creates a key for the account. It is shown only in this response. An account has at most 100 active keys, and 1,000 \
        with its revoked ones. Once the `monthly_budget` of a key is used up, no page is requested with it; background crawls count to the key \
        that started them. A key with a budget creates none.",
    request_body(content = KeyName),
    responses(
        (status = 200, description = "The key", body = NewKey),
        (status = 400, description = "The name or the budget is invalid", body = ref("#/components/schemas/Error"),
            example = json!({"error": "name: `…` is not a valid key name: it is longer than 100 bytes"})),
        (status = 409, description = "The account has as many keys as it may", body = ref("#/components/schemas/Error"),
            example = json!({"error": "the account has 100 active keys, which is the limit: revoke one first"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn create(
    State(api): State<Api>,
    Extension(owner): Extension<Arc<Account>>,
    headers: HeaderMap,
    request: extract::Request,
) -> Result<Response, ApiError> {
    may_manage(&api, &owner)?;
    let account = owner.id.to_string();
    let keys = read(&api, account.clone(), true).await?;
    let n_active = keys.iter().filter(|key| key.revoked.is_none()).count();
    if n_active >= ACTIVE_KEYS_MAX {
        return Err(ApiError::Taken(format!(
            "the account has {n_active} active keys, which is the limit: revoke one first"
        )));
    }
    let n_keys = keys.len();
    if n_keys >= KEYS_MAX {
        return Err(ApiError::Taken(format!(
            "the account has had {n_keys} keys, which is the limit: ask the operator for more"
        )));
    }
    create_for(&api, account, request, ResponseFormat::of(&headers)).await
}

#[utoipa::path(
    put,
    path = "/account/keys/{prefix}/budget",
    summary = "Set the budget of a key",
    description = "Sets what the pages of a key may cost in a calendar month (UTC), or removes the budget. It holds at once, also for what \
        the key was charged in this month and for its background crawls. A key with a budget sets none.",
    params(("prefix" = String, Path, description = "First characters of the key, as listed", example = "tr_9aK2bX7q")),
    request_body(content = Budget),
    responses(
        (status = 200, description = "The key", body = KeyView),
        (status = 400, description = "The budget is missing or invalid", body = ref("#/components/schemas/Error"),
            example = json!({"error": "monthly_budget: write dollars like `25` or `0.50`, with at most nine decimals"})),
        (status = 404, description = "The account has no such active key", body = ref("#/components/schemas/Error"),
            example = json!({"error": "`alice` has no key `tr_9aK2bX7q`, or it is revoked: list its keys"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn set_budget(
    State(api): State<Api>,
    Extension(owner): Extension<Arc<Account>>,
    Path(key): Path<String>,
    headers: HeaderMap,
    request: extract::Request,
) -> Result<Response, ApiError> {
    may_manage(&api, &owner)?;
    let format = ResponseFormat::of(&headers);
    set_budget_of(&api, owner.id.to_string(), key, request, format).await
}

#[utoipa::path(
    delete,
    path = "/account/keys/{prefix}",
    summary = "Revoke a key",
    description = "Revokes a key of the account immediately and permanently. The key that the request is sent with is revoked with \
        `current=true` only. A key with a budget revokes no other key.",
    params(
        ("prefix" = String, Path, description = "First characters of the key, as listed", example = "tr_9aK2bX7q"),
        CurrentQuery,
    ),
    responses(
        (status = 200, description = "The key is revoked", body = Revoked),
        (status = 404, description = "The account has no such active key", body = ref("#/components/schemas/Error"),
            example = json!({"error": "`alice` has no key `tr_9aK2bX7q`, or it is revoked: list its keys"})),
        (status = 409, description = "It is the key of this request", body = ref("#/components/schemas/Error"),
            example = json!({"error": "this is the key of the request: send `?current=true` to revoke it, or use another key"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn revoke(
    State(api): State<Api>,
    Extension(owner): Extension<Arc<Account>>,
    Path(key): Path<String>,
    Query(query): Query<CurrentQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let may_be_current = switch("current", query.current.as_deref())?;
    let current = auth::key(&headers).map(key_prefix);
    let is_current = current == Some(key_prefix(&key));
    if is_current && !may_be_current {
        let text =
            "this is the key of the request: send `?current=true` to revoke it, or use another key";
        return Err(ApiError::Conflict(text));
    }
    if !is_current {
        may_manage(&api, &owner)?;
    }
    revoke_of(
        &api,
        owner.id.to_string(),
        key,
        ResponseFormat::of(&headers),
    )
    .await
}

#[utoipa::path(
    get,
    path = "/account/webhook-secret",
    summary = "Show the webhook secret",
    description = "Returns the secret that signs the webhook events of the account. It is created on first use.",
    responses((status = 200, description = "The secret", body = WebhookSecret)),
    security(("key" = []))
)]
pub(crate) async fn webhook_secret(
    State(api): State<Api>,
    Extension(owner): Extension<Arc<Account>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    secret_of(
        &api,
        owner.id.to_string(),
        false,
        ResponseFormat::of(&headers),
    )
    .await
}

#[utoipa::path(
    post,
    path = "/account/webhook-secret",
    summary = "Replace the webhook secret",
    description = "Replaces the webhook secret. All events sent from now on are signed with the new one, including pending events; for 24 hours \
        `webhook-signature` has a signature with the replaced one as well. \
        A key with a budget does not replace it.",
    responses((status = 200, description = "The new secret", body = WebhookSecret)),
    security(("key" = []))
)]
pub(crate) async fn renew_webhook_secret(
    State(api): State<Api>,
    Extension(owner): Extension<Arc<Account>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    may_manage(&api, &owner)?;
    secret_of(
        &api,
        owner.id.to_string(),
        true,
        ResponseFormat::of(&headers),
    )
    .await
}

/// Checks that the key of a request has no budget. One with a budget is for pages: it could spend
/// more by another key, or lock out those who have the others. The budget counts even if the key
/// was revoked since the request began.
pub(super) fn may_manage(api: &Api, owner: &Account) -> Result<(), ApiError> {
    match api.rooms.billing.key_budget(owner) {
        None => Ok(()),
        Some(_) => Err(ApiError::KeyHasBudget),
    }
}

/// The keys of an account, with revoked ones or without.
async fn read(
    api: &Api,
    account: String,
    all: bool,
) -> Result<Vec<trawl_control::KeyView>, ApiError> {
    match ask(api, Request::Keys { account, all }).await? {
        Reply::Keys(keys) => Ok(keys),
        other => Err(unexpected(&other)),
    }
}

fn switch(name: &str, value: Option<&str>) -> Result<bool, ApiError> {
    match value {
        Some("true" | "1" | "") => Ok(true),
        Some("false" | "0") | None => Ok(false),
        Some(_) => Err(ApiError::Invalid(format!(
            "{name}: write `true` or `false`"
        ))),
    }
}
