//! `GET /account` and `GET /account/statement`: the bill as its payer can check it.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Api;
use super::error::ApiError;
use super::post::Form;
use super::statement::{Lines, Statement};
use super::wire::dollars;
use crate::billing::{Account, KeyRecord, Subscription};
use crate::clock::Timestamp;

/// Answer of `/account`.
#[derive(Serialize, ToSchema)]
#[schema(as = Account, example = json!({
    "id": "acc_4nWzLbQ2vTg0yR1s", "name": "alice", "balance": 24.99, "reserved": 0.02, "available": 24.97, "credits": "249700",
    "keys": [{"key": "tr_9aK2bX7q", "created": "2026-01-31T10:20:30Z"}],
    "subscription": {"state": "active", "seats": 8, "active": 3, "next_seats": 8, "price": 160.0,
        "from": "2026-01-31T10:20:30Z", "to": "2026-02-28T10:20:30Z"},
}))]
pub(super) struct AccountView<'a> {
    /// Its identifier.
    id: &'a str,
    /// Its name.
    name: &'a str,
    /// Dollars paid in and not charged.
    balance: f64,
    /// Dollars of them that are set aside for pages in flight.
    reserved: f64,
    /// Dollars that can be spent now.
    available: f64,
    /// The balance in credits as decimal text; 10,000 are a dollar.
    credits: String,
    /// Its keys that are in force, by their first characters.
    keys: Vec<KeyView>,
    /// Its seats under the Unlimited plan; null when it has none.
    subscription: Option<SubscriptionView>,
}

/// The seats of an account.
#[derive(Serialize, ToSchema)]
struct SubscriptionView {
    /// `active`, `suspended` (by the operator) or `lapsed` (the balance did not cover the renewal).
    state: &'static str,
    /// Requests that may be in flight at once.
    seats: u32,
    /// Requests in flight.
    active: u32,
    /// Seats from the next renewal on; 0 when it is not renewed.
    next_seats: u32,
    /// Begin of the period.
    from: String,
    /// End of the period.
    to: String,
    /// Dollars paid for the period.
    price: f64,
}

impl SubscriptionView {
    fn new(row: &Subscription, active: u32) -> Self {
        Self {
            state: row.state.name(),
            seats: row.seats,
            active,
            next_seats: row.next_seats,
            from: row.from.to_string(),
            to: row.to.to_string(),
            price: dollars(row.price),
        }
    }
}

/// A key in a list.
#[derive(Serialize, ToSchema)]
struct KeyView {
    /// Its first characters.
    key: String,
    /// When it was made.
    created: String,
}

impl From<KeyRecord> for KeyView {
    fn from(record: KeyRecord) -> Self {
        Self {
            key: record.prefix,
            created: record.created.to_string(),
        }
    }
}

#[utoipa::path(
    get,
    path = "/account",
    responses(
        (status = 200, description = "The account of the key", body = AccountView),
        (status = 401, description = "The key is missing or unknown", example = json!({"error": "invalid api key"})),
    ),
    security(("key" = []))
)]
pub(super) async fn account(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let billing = api.service.billing();
    let funds = billing.funds(&account.id);
    Form::of(&headers).one(&AccountView {
        id: account.id.as_str(),
        name: &account.name,
        balance: dollars(funds.balance),
        reserved: dollars(funds.held),
        available: dollars(funds.available()),
        credits: funds.balance.credits_text(),
        keys: billing
            .keys(&account.id)
            .into_iter()
            .map(KeyView::from)
            .collect(),
        subscription: billing
            .subscription(&account.id)
            .map(|row| SubscriptionView::new(&row, billing.slots(&account.id).active)),
    })
}

/// What of the statement to show.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct StatementQuery {
    /// Earliest time: `2026-01-31`, or `2026-01-31T10:20:30Z`. The beginning of the account when left out.
    from: Option<String>,
    /// Latest time, not included. Now when left out.
    to: Option<String>,
    /// `json` (default) or `csv`; `Accept: text/csv` asks for the latter too.
    format: Option<String>,
}

#[utoipa::path(
    get,
    path = "/account/statement",
    description = "Opening balance, every entry in the order of writing, closing balance: opening and all amounts make the closing one, to \
        the nanodollar. A page that failed stands there at $0 with its reason. With `Accept: application/jsonl` a line an entry.",
    params(StatementQuery),
    responses(
        (status = 200, description = "The statement", body = Statement),
        (status = 400, description = "A time or the format is wrong"),
        (status = 401, description = "The key is missing or unknown", example = json!({"error": "invalid api key"})),
    ),
    security(("key" = []))
)]
pub(super) async fn statement(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Query(query): Query<StatementQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let from = moment("from", query.from.as_deref())?.unwrap_or(Timestamp::MIN);
    let to = moment("to", query.to.as_deref())?.unwrap_or(Timestamp::MAX);
    let (lines, media_type) = lines(query.format.as_deref(), &headers)?;
    let billing = api.service.billing().clone();
    let pieces = super::statement::pieces(billing, account.id.clone(), from..to, lines).await?;
    let mut response = Response::new(Body::from_stream(pieces));
    let media_type = HeaderValue::from_static(media_type);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, media_type);
    Ok(response)
}

fn moment(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let wrong = || {
        ApiError::Invalid(format!(
            "{name}: write a time like `2026-01-31` or `2026-01-31T10:20:30Z`"
        ))
    };
    Timestamp::parse(text.trim()).ok_or_else(wrong).map(Some)
}

/// How entries are written, and as which media type.
fn lines(format: Option<&str>, headers: &HeaderMap) -> Result<(Lines, &'static str), ApiError> {
    let accepts_csv = headers.get_all(header::ACCEPT).iter().any(|accept| {
        accept
            .to_str()
            .is_ok_and(|accept| accept.contains("text/csv"))
    });
    match format.map(str::to_ascii_lowercase).as_deref() {
        Some("csv") => Ok((Lines::Csv, "text/csv; charset=utf-8")),
        None if accepts_csv => Ok((Lines::Csv, "text/csv; charset=utf-8")),
        Some("json") | None => Ok(match Form::of(headers) {
            Form::Json => (Lines::Json, Form::Json.media_type()),
            Form::Lines => (Lines::Jsonl, Form::Lines.media_type()),
        }),
        Some(_) => Err(ApiError::Invalid(
            "format: write `json` or `csv`".to_owned(),
        )),
    }
}
