//! `GET /data/credits`: what is left to spend.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use super::error::ApiError;
use super::post::Form;
use trawl_billing::Account;

/// Answer of `/data/credits`; 10,000 credits are a dollar.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"data": {"credits": "1250.5"}, "credits": 1250}))]
pub(super) struct Credits {
    /// The exact amount.
    data: CreditsText,
    /// Whole credits.
    credits: i64,
}

/// The exact amount.
#[derive(Serialize, ToSchema)]
struct CreditsText {
    /// Decimal text.
    credits: String,
}

#[utoipa::path(
    get,
    path = "/data/credits",
    responses(
        (status = 200, description = "What is left to spend", body = Credits),
    ),
    security(("key" = []))
)]
pub(super) async fn credits(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let balance = api.service.billing().balance(&account.id);
    let data = CreditsText {
        credits: balance.credits_text(),
    };
    Form::of(&headers).one(&Credits {
        data,
        credits: balance.whole_credits(),
    })
}
