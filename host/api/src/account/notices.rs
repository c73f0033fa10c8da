//! `PUT /account/notices`: the webhook that reports a low balance.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{self, State};
use axum::http::HeaderMap;
use axum::response::Response;
use utoipa::ToSchema;

use trawl_billing::Account;
use trawl_control::{Reply, Request};
use trawl_plan::address;

use super::keys::may_manage;
use super::views::AccountView;
use crate::Api;
use crate::http::error::ApiError;
use crate::http::fields::Fields;
use crate::http::format::ResponseFormat;

/// Body of `PUT /account/notices`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the body is read field by field; this type documents it"
)]
#[schema(as = NoticesRequest, example = json!({"destination": "https://you.example/hook", "low_balance_dollars": "5"}))]
pub(crate) struct Notices {
    /// Webhook URL; null turns the events off.
    #[schema(required = true)]
    destination: Option<String>,
    /// Threshold in dollars, as decimal text or a number, given with each `destination`. With null,
    /// only an empty balance is reported.
    low_balance_dollars: Option<String>,
}

#[utoipa::path(
    put,
    path = "/account/notices",
    summary = "Set the balance alerts",
    description = "Sets the webhook URL for the events `on_low_balance` and `on_empty_balance` (`{\"account\": …, \"credits\": …}`, signed \
        like the events of crawls). `on_low_balance` is sent once when the balance falls below `low_balance_dollars`, `on_empty_balance` \
        once when nothing is left to spend; a top-up above the threshold re-arms them. With `\"destination\": null`, no event is sent. \
        A key with a budget does not set them.",
    request_body(content = Notices),
    responses(
        (status = 200, description = "The account", body = AccountView),
        (status = 400, description = "A field is missing or invalid; the error starts with its name", body = ref("#/components/schemas/Error"),
            example = json!({"error": "low_balance_dollars: write dollars like `25` or `0.50`, with at most nine decimals"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn set_notices(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    headers: HeaderMap,
    request: extract::Request,
) -> Result<Response, ApiError> {
    may_manage(&api, &account)?;
    let format = ResponseFormat::of(&headers);
    change(&api, account.id.to_string(), request, format).await
}

/// Sets the balance alerts of an account; for its owner and for the operator.
pub(crate) async fn change(
    api: &Api,
    account: String,
    request: extract::Request,
    format: ResponseFormat,
) -> Result<Response, ApiError> {
    let fields = Fields::read(request, &["destination", "low_balance_dollars"]).await?;
    fields.check_given("destination", "a URL, or null to turn the events off")?;
    let destination = fields
        .text("destination")?
        .filter(|text| !text.trim().is_empty());
    if destination.is_some() {
        let expected = "dollars, or null to hear of an empty balance only";
        fields.check_given("low_balance_dollars", expected)?;
    }
    if let Some(text) = &destination
        && let Ok(receiver) = address::receiver(text)
    {
        // One that is not a URL is refused below.
        let checked = api.service.check_receiver(&receiver).await;
        checked.map_err(|reason| ApiError::Invalid(format!("destination: {reason}")))?;
    }
    let request = Request::SetNotices {
        account,
        destination,
        below: fields.dollars("low_balance_dollars")?.unwrap_or_default().0,
    };
    match trawl_control::perform(&api.rooms.billing, request).await? {
        Reply::Notices(account) => format.object(&AccountView::from(account)),
        _ => Err(ApiError::Internal),
    }
}
