//! `GET /account/deliveries`: the last webhook events that were sent, with their answers.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use trawl_billing::Account;
use trawl_crawl::webhooks::Delivery;

use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::paging::Page;

/// An attempt to deliver a webhook event.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookDelivery, example = json!({
    "id": "0a1b2c3d4e5f60718293a4b5c6d7e8f9.3", "event": "on_find", "destination": "https://you.example/hook",
    "at": "2026-01-31T10:20:30.000Z", "milliseconds": 41, "attempt": 1, "status": 200, "answer": "ok", "error": null,
}))]
struct DeliveryView {
    /// Id of the event, as in the `X-Trawl-Event-Id` header.
    id: String,
    /// Its kind, such as `on_find`.
    event: String,
    /// Webhook URL, without user name, password and query, which may be secret.
    destination: String,
    /// When the attempt began.
    at: String,
    /// How long it took.
    milliseconds: u64,
    /// Number of the attempt, starting at 1.
    attempt: u32,
    /// Status of the receiver's answer; null if there was none.
    status: Option<u16>,
    /// The first 200 characters of the answer's body; null if there was none.
    answer: Option<String>,
    /// Why there was no answer; null if there was one.
    error: Option<String>,
}

impl From<Delivery> for DeliveryView {
    fn from(delivery: Delivery) -> Self {
        let millis = delivery.took.as_millis();
        Self {
            id: delivery.id,
            event: delivery.event,
            destination: delivery.destination,
            at: delivery.at.to_string(),
            milliseconds: u64::try_from(millis).unwrap_or(u64::MAX),
            attempt: delivery.attempt,
            status: delivery.status,
            answer: delivery.answer,
            error: delivery.error,
        }
    }
}

#[utoipa::path(
    get,
    path = "/account/deliveries",
    summary = "List the last webhook deliveries",
    description = "Lists the last attempts to deliver webhook events of the account, newest first, with the answers of the receivers: 50 \
        at most, since the server started. `/data/webhooks` lists the events that wait.",
    responses(
        (status = 200, description = "The attempts", body = Page<DeliveryView>),
    ),
    security(("key" = []))
)]
pub(crate) async fn deliveries(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let deliveries = api.rooms.crawls.deliveries(&account.id);
    ResponseFormat::of(&headers).object(&Page {
        count: deliveries.len() as u64,
        data: deliveries.into_iter().map(DeliveryView::from).collect(),
        next_cursor: None,
    })
}
