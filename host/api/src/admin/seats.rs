//! Seats of accounts: concurrency that is paid monthly.

use axum::extract::{self, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use trawl_control::{Reply, Request};
use trawl_model::Nanodollars;
use trawl_wire::dollars;

use crate::Api;
use crate::account::views::AccountView;
use crate::http::control::{ask, unexpected};
use crate::http::error::ApiError;
use crate::http::fields::{Fields, required};
use crate::http::format::ResponseFormat;
use crate::http::params::Path;

/// An account after a change of its seats.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "charged": 160.0, "account": {"id": "acc_4nWzLbQ2vTg0yR1s", "name": "alice", "balance": 40.0, "reserved": 0.0, "available": 40.0,
        "credits": "400000", "subscription": {"state": "active", "seats": 8, "active": 0, "next_seats": 8, "price": 160.0,
        "from": "2026-01-31T10:20:30.000Z", "to": "2026-02-28T10:20:30.000Z"}, "notices": null},
}))]
struct Seats {
    /// Dollars charged for this change.
    charged: f64,
    /// The account with its new subscription.
    account: AccountView,
}

/// Body of `PUT /admin/accounts/{account}/seats`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the body is read field by field; this type documents it"
)]
#[schema(as = SeatsRequest, example = json!({"seats": 8}))]
struct WantedSeats {
    /// Number of seats, at most 10,000. A reduction takes effect with the next period; 0 ends the
    /// subscription then.
    seats: u32,
}

#[utoipa::path(
    put,
    path = "/admin/accounts/{account}/seats",
    summary = "Set the seats of an account",
    description = "Sets the account's number of seats: requests of the Unlimited plan that may be in flight at once. They are paid from the \
        balance: the first seats for a month, additional ones for the rest of the period. Setting the current number is free.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    request_body(content = WantedSeats),
    responses(
        (status = 200, description = "The seats, and the charge", body = Seats),
        (status = 400, description = "The number is invalid or too large", body = ref("#/components/schemas/Error"),
            example = json!({"error": "seats: must be a non-negative integer"})),
        (status = 402, description = "The balance does not cover the seats", body = ref("#/components/schemas/Error"),
            example = json!({"error": "the seats cost $160, but only $40 is available: top up with `trawl account top-up`"})),
        (status = 409, description = "The account has no seats to cancel", body = ref("#/components/schemas/Error"),
            example = json!({"error": "`alice` has no seats: `trawl account seats` buys them"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn set(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
    request: extract::Request,
) -> Result<Response, ApiError> {
    let fields = Fields::read(request, &["seats"]).await?;
    let seats = required("seats", fields.count("seats")?)?;
    change(&api, Request::SetSeats { account, seats }, &headers).await
}

#[utoipa::path(
    post,
    path = "/admin/accounts/{account}/seats/suspend",
    summary = "Suspend the seats of an account",
    description = "Suspends the account's seats. The period keeps running and is not renewed while the seats are suspended.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    responses(
        (status = 200, description = "The seats", body = Seats),
        (status = 409, description = "The account has no seats", body = ref("#/components/schemas/Error"),
            example = json!({"error": "`alice` has no seats: `trawl account seats` buys them"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn suspend(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    change(&api, Request::SuspendSeats { account }, &headers).await
}

#[utoipa::path(
    post,
    path = "/admin/accounts/{account}/seats/resume",
    summary = "Resume the seats of an account",
    description = "Resumes suspended seats. If the period has ended meanwhile, a new one starts and is charged now.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    responses(
        (status = 200, description = "The seats, and the charge", body = Seats),
        (status = 409, description = "The account has no seats", body = ref("#/components/schemas/Error"),
            example = json!({"error": "`alice` has no seats: `trawl account seats` buys them"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn resume(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    change(&api, Request::ResumeSeats { account }, &headers).await
}

async fn change(api: &Api, request: Request, headers: &HeaderMap) -> Result<Response, ApiError> {
    match ask(api, request).await? {
        Reply::Seats { account, charged } => ResponseFormat::of(headers).object(&Seats {
            charged: dollars(Nanodollars(charged)),
            account: account.into(),
        }),
        other => Err(unexpected(&other)),
    }
}
