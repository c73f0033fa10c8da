//! `GET /data/credits`: the balance in credits.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use trawl_billing::Account;

use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;

/// Response of `/data/credits`; 10,000 credits are one dollar.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"data": {"credits": "1250.5"}, "credits": 1250}))]
pub(crate) struct Credits {
    /// The exact balance.
    data: CreditsText,
    /// Whole credits.
    credits: i64,
}

/// The exact balance.
#[derive(Serialize, ToSchema)]
struct CreditsText {
    /// Decimal text.
    credits: String,
}

#[utoipa::path(
    get,
    path = "/data/credits",
    summary = "Show the balance in credits",
    description = "Returns the balance of the account in credits.",
    responses(
        (status = 200, description = "The balance in credits", body = Credits),
    ),
    security(("key" = []))
)]
pub(crate) async fn credits(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let balance = api.rooms.billing.balance(&account.id);
    let data = CreditsText {
        credits: balance.credits_text(),
    };
    ResponseFormat::of(&headers).object(&Credits {
        data,
        credits: balance.whole_credits(),
    })
}
