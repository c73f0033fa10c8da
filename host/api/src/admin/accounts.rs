//! Accounts: making them, looking at them, who is told of their balances.

use axum::extract::{self, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Api, ApiError, ask, astray};
use crate::body::{Fields, required};
use crate::paging::{Page, Paging};
use crate::params::{Path, Query};
use crate::post::Form;
use crate::views::AccountView;
use trawl_control::{Reply, Request};

#[utoipa::path(
    get,
    path = "/admin/accounts",
    description = "Every account with its money and its seats, in the order of names.",
    params(Paging),
    responses(
        (status = 200, description = "A page of the accounts", body = Page<AccountView>),
        (status = 400, description = "`limit` or `page` is no number from 1 on"),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn list(
    State(api): State<Api>,
    Query(paging): Query<Paging>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let cut = paging.cut()?;
    let accounts = match ask(&api, Request::Accounts {}).await? {
        Reply::Accounts(accounts) => accounts,
        other => return Err(astray(&other)),
    };
    let count = accounts.len() as u64;
    let offset = usize::try_from(cut.offset).unwrap_or(usize::MAX);
    let accounts = accounts.into_iter().skip(offset).take(cut.limit as usize);
    Form::of(&headers).one(&Page {
        data: accounts.map(AccountView::from).collect(),
        count,
    })
}

/// A new account.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "id": "acc_4nWzLbQ2vTg0yR1s", "name": "alice", "balance": 525.0, "reserved": 0.0, "available": 525.0, "credits": "5250000",
    "subscription": null, "notices": null, "api_key": "tr_9aK2bX7q…",
}))]
struct Created {
    #[serde(flatten)]
    account: AccountView,
    /// Its first key, shown here and never again.
    api_key: String,
}

/// Body of `POST /admin/accounts`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the body is read field by field; this describes it"
)]
#[schema(example = json!({"name": "alice", "dollars": "500"}))]
struct NewAccount {
    /// A name that no other account has, at most 100 bytes.
    name: String,
    /// Dollars to start with, as decimal text or a number; from $500 on they earn a bonus.
    dollars: Option<String>,
}

#[utoipa::path(
    post,
    path = "/admin/accounts",
    description = "Makes an account and its first key, which is shown in this answer only.",
    request_body(content = NewAccount),
    responses(
        (status = 200, description = "The account and its key", body = Created),
        (status = 400, description = "A field is wrong; the text begins with its name",
            example = json!({"error": "dollars: write dollars like `25` or `0.50`, with at most nine decimals"})),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 409, description = "Another account has this name",
            example = json!({"error": "`alice` cannot be an account's name: an account of this name exists already"})),
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
        Reply::Created { account, api_key } => Form::of(&headers).one(&Created {
            account: account.into(),
            api_key,
        }),
        other => Err(astray(&other)),
    }
}

#[utoipa::path(
    get,
    path = "/admin/accounts/{account}",
    description = "One account with its keys.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    responses(
        (status = 200, description = "The account", body = AccountView),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 404, description = "No such account",
            example = json!({"error": "there is no account `x`: `trawl account list` shows those there are"})),
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
            Form::of(&headers).one(&AccountView::from(account).with_keys(keys))
        }
        other => Err(astray(&other)),
    }
}

#[utoipa::path(
    put,
    path = "/admin/accounts/{account}/notices",
    description = "Sets who is told by the webhook events `on_low_balance` and `on_empty_balance`: once when the balance falls below \
        `low_balance_dollars`, once when nothing that can be spent is left, and again after a top-up that lifts it above. Without a \
        `destination` nobody is told any more.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    request_body(content = crate::account::Notices),
    responses(
        (status = 200, description = "The account", body = AccountView),
        (status = 400, description = "A field is wrong; the text begins with its name"),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 404, description = "No such account"),
    ),
    security(("admin" = []))
)]
pub(super) async fn set_notices(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
    request: extract::Request,
) -> Result<Response, ApiError> {
    let form = Form::of(&headers);
    crate::account::change_notices(&api, account, request, form).await
}
