//! `GET /account`: the account of the key.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use trawl_billing::Account;
use trawl_control::{Reply, Request};

use super::limits;
use super::views::AccountView;
use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;

#[utoipa::path(
    get,
    path = "/account",
    summary = "Show the account",
    description = "Returns the account of the key, with its balance, keys, subscription, and limits with what is used of them.",
    responses(
        (status = 200, description = "The account", body = AccountView),
    ),
    security(("key" = []))
)]
pub(crate) async fn account(
    State(api): State<Api>,
    Extension(owner): Extension<Arc<Account>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let request = Request::Account {
        account: owner.id.to_string(),
    };
    match trawl_control::perform(&api.rooms.billing, request).await? {
        Reply::Account { account, keys } => {
            let limits = limits::limits(&api, &owner.id).await?;
            let view = AccountView::from(account)
                .with_keys(keys)
                .with_limits(limits);
            ResponseFormat::of(&headers).object(&view)
        }
        _ => Err(ApiError::Internal),
    }
}
