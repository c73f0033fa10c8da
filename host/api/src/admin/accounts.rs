//! Accounts: creating and showing them, and their balance alerts.

use axum::extract::{self, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use trawl_control::{Reply, Request};

use crate::Api;
use crate::account::notices::{self, Notices};
use crate::account::views::AccountView;
use crate::http::control::{ask, unexpected};
use crate::http::error::ApiError;
use crate::http::fields::{Fields, required};
use crate::http::format::ResponseFormat;
use crate::http::paging::{Page, Paging};
use crate::http::params::{Path, Query};

#[utoipa::path(
    get,
    path = "/admin/accounts",
    summary = "List the accounts",
    description = "Lists all accounts with their balances and subscriptions, sorted by name.",
    params(Paging),
    responses(
        (status = 200, description = "A page of the accounts", body = Page<AccountView>),
        (status = 400, description = "`limit` or `page` is not a positive integer, or there is no such parameter", body = ref("#/components/schemas/Error"),
            example = json!({"error": "limit: must be an integer from 1 to 1000; a larger one counts as 1000"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn list(
    State(api): State<Api>,
    Query(paging): Query<Paging>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let range = paging.range()?;
    let accounts = match ask(&api, Request::Accounts {}).await? {
        Reply::Accounts(accounts) => accounts,
        other => return Err(unexpected(&other)),
    };
    let count = accounts.len() as u64;
    ResponseFormat::of(&headers).object(&Page {
        data: range.of(accounts).map(AccountView::from).collect(),
        count,
        next_cursor: None,
    })
}

/// A new account.
#[derive(Serialize, ToSchema)]
#[schema(as = NewAccount, example = json!({
    "id": "acc_4nWzLbQ2vTg0yR1s", "name": "alice", "balance": 525.0, "reserved": 0.0, "available": 525.0, "credits": "5250000",
    "subscription": null, "notices": null, "api_key": "tr_9aK2bX7q…",
}))]
struct Created {
    #[serde(flatten)]
    account: AccountView,
    /// Its first key. Shown only in this response.
    api_key: String,
}

/// Body of `POST /admin/accounts`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the body is read field by field; this type documents it"
)]
#[schema(as = AccountRequest, example = json!({"name": "alice", "dollars": "500"}))]
struct NewAccount {
    /// A unique name, at most 100 bytes.
    name: String,
    /// Initial top-up in dollars, as decimal text or a number; $500 and more earn a bonus.
    dollars: Option<String>,
}

#[utoipa::path(
    post,
    path = "/admin/accounts",
    summary = "Create an account",
    description = "Creates an account and its first key. The key is shown only in this response.",
    request_body(content = NewAccount),
    responses(
        (status = 200, description = "The account and its key", body = Created),
        (status = 400, description = "A field is invalid; the error starts with its name", body = ref("#/components/schemas/Error"),
            example = json!({"error": "dollars: write dollars like `25` or `0.50`, with at most nine decimals"})),
        (status = 409, description = "The name is taken", body = ref("#/components/schemas/Error"),
            example = json!({"error": "`alice` is taken: an account of this name exists already"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn create(
    State(api): State<Api>,
    headers: HeaderMap,
    request: extract::Request,
) -> Result<Response, ApiError> {
    let fields = Fields::read(request, &["name", "dollars"]).await?;
    let request = Request::CreateAccount {
        name: required("name", fields.text("name")?)?,
        top_up: fields.dollars("dollars")?.unwrap_or_default().0,
    };
    match ask(&api, request).await? {
        Reply::Created { account, api_key } => ResponseFormat::of(&headers).object(&Created {
            account: account.into(),
            api_key,
        }),
        other => Err(unexpected(&other)),
    }
}

#[utoipa::path(
    get,
    path = "/admin/accounts/{account}",
    summary = "Show an account",
    description = "Returns an account with its keys.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    responses(
        (status = 200, description = "The account", body = AccountView),
        (status = 404, description = "There is no such account", body = ref("#/components/schemas/Error"),
            example = json!({"error": "there is no account `x`: `trawl account list` shows all accounts"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn show(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match ask(&api, Request::Account { account }).await? {
        Reply::Account { account, keys } => {
            ResponseFormat::of(&headers).object(&AccountView::from(account).with_keys(keys))
        }
        other => Err(unexpected(&other)),
    }
}

#[utoipa::path(
    put,
    path = "/admin/accounts/{account}/notices",
    summary = "Set the balance alerts of an account",
    description = "Sets the webhook URL for the events `on_low_balance` and `on_empty_balance`, as `/account/notices` does.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    request_body(content = Notices),
    responses(
        (status = 200, description = "The account", body = AccountView),
        (status = 400, description = "A field is missing or invalid; the error starts with its name", body = ref("#/components/schemas/Error"),
            example = json!({"error": "low_balance_dollars: write dollars like `25` or `0.50`, with at most nine decimals"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn set_notices(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
    request: extract::Request,
) -> Result<Response, ApiError> {
    let format = ResponseFormat::of(&headers);
    notices::change(&api, account, request, format).await
}
