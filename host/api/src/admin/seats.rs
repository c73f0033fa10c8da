//! Seats of accounts: requests in flight that are paid by the month.

use axum::extract::{self, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Api, ApiError, ask, astray};
use crate::body::{Fields, required};
use crate::params::Path;
use crate::post::Form;
use crate::views::AccountView;
use trawl_control::{Reply, Request};
use trawl_model::Nanodollars;
use trawl_wire::dollars;

/// What became of an account's seats.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "charged": 160.0, "account": {"id": "acc_4nWzLbQ2vTg0yR1s", "name": "alice", "balance": 40.0, "reserved": 0.0, "available": 40.0,
        "credits": "400000", "subscription": {"state": "active", "seats": 8, "active": 0, "next_seats": 8, "price": 160.0,
        "from": "2026-01-31T10:20:30.000Z", "to": "2026-02-28T10:20:30.000Z"}, "notices": null},
}))]
struct Seats {
    /// Dollars charged now.
    charged: f64,
    /// The account afterwards, with its subscription.
    account: AccountView,
}

/// Body of `PUT /admin/accounts/{account}/seats`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the body is read field by field; this describes it"
)]
#[schema(example = json!({"seats": 8}))]
struct WantedSeats {
    /// How many from now on, at most 10,000. Fewer count from the next period on, 0 ends the subscription then.
    seats: u32,
}

#[utoipa::path(
    put,
    path = "/admin/accounts/{account}/seats",
    description = "Sets how many requests of the Unlimited plan the account may have in flight, paid from its balance: the first ones for a \
        month, more for the rest of the period. As many as there are cost nothing.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    request_body(content = WantedSeats),
    responses(
        (status = 200, description = "The seats, and what was charged", body = Seats),
        (status = 400, description = "The number is none, or too large",
            example = json!({"error": "seats: write a whole number from 0 on"})),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 402, description = "The balance does not cover them"),
        (status = 404, description = "No such account"),
        (status = 409, description = "There are no seats to end"),
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
    description = "Stops the use of the account's seats. The period goes on, and is not renewed while it is stopped.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    responses(
        (status = 200, description = "The seats", body = Seats),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 404, description = "No such account"),
        (status = 409, description = "The account has no seats"),
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
    description = "Lets the account use its seats again; a period that has ended meanwhile is followed by one that is paid now.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    responses(
        (status = 200, description = "The seats, and what was charged", body = Seats),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 404, description = "No such account"),
        (status = 409, description = "The account has no seats"),
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
        Reply::Seats { account, charged } => Form::of(headers).one(&Seats {
            charged: dollars(Nanodollars(charged)),
            account: account.into(),
        }),
        other => Err(astray(&other)),
    }
}
