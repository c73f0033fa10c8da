//! `GET /account/usage`: usage and payments by day, and usage by key.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use trawl_billing::{Account, AccountId, Billing};
use trawl_model::clock::Timestamp;
use trawl_store::AccountUsage;
use trawl_wire::{Costs, dollars};

use super::statement::parse_time;
use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::params::Query;

/// Characters of a day in the text of a time: `2026-01-31`.
const DAY_CHARS: usize = 10;

/// Period of the report.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct UsageQuery {
    /// Start of the period: `2026-01-31`, or `2026-01-31T10:20:30Z`. Default: the creation of the
    /// account.
    from: Option<String>,
    /// End of the period, exclusive. Default: now.
    to: Option<String>,
    /// `key` to add the usage of each key in the whole period. Default: `day`.
    #[param(pattern = "^(day|key)$")]
    by: Option<String>,
}

/// Usage and payments by day, and usage by key.
#[derive(Serialize, ToSchema)]
#[schema(as = AccountUsage)]
pub(crate) struct Usage {
    /// Each day with ledger entries, oldest first.
    days: Vec<DayUsage>,
    /// Each key with pages in the period, sorted by key; only with `by=key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<KeyUsage>>,
}

/// Usage of one key. Amounts are in dollars.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "key": "tr_9aK2bX7q", "name": "ci", "pages": 1200, "failed_pages": 31, "bytes": 48211340, "cpu_seconds": 93.25,
    "costs": {"ai_cost": 0.0, "compute_cost": 0.000091, "file_cost": 0.0, "bytes_transferred_cost": 0.04821134,
        "transform_cost": 0.000064, "total_cost": 0.04836634},
}))]
pub(crate) struct KeyUsage {
    /// First characters of the key; null for pages from before keys were recorded.
    key: Option<String>,
    /// Its name; null if it has none.
    name: Option<String>,
    /// When it was revoked; absent for an active key.
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<String>,
    /// Pages that were charged; under the Unlimited plan the charge is zero.
    pages: u64,
    /// Failed pages, which are free.
    failed_pages: u64,
    /// Decoded bytes of all pages.
    bytes: u64,
    /// CPU time of all pages.
    cpu_seconds: f64,
    /// Page charges by part.
    costs: Costs,
}

impl From<trawl_billing::KeyUsage> for KeyUsage {
    fn from(usage: trawl_billing::KeyUsage) -> Self {
        let used = &usage.used;
        Self {
            key: (!usage.key.is_empty()).then(|| usage.key.to_string()),
            name: Some(usage.name).filter(|name| !name.is_empty()),
            revoked: usage.revoked.map(|at| at.to_string()),
            pages: used.n_pages,
            failed_pages: used.n_failed,
            bytes: used.consumed.n_bytes,
            cpu_seconds: used.consumed.cpu.as_secs_f64(),
            costs: Costs::new(&used.charge, None),
        }
    }
}

/// Usage and payments of one day. Amounts are in dollars.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "day": "2026-01-31", "pages": 1200, "failed_pages": 31, "bytes": 48211340, "cpu_seconds": 93.25,
    "costs": {"ai_cost": 0.0, "compute_cost": 0.000091, "file_cost": 0.0, "bytes_transferred_cost": 0.04821134,
        "transform_cost": 0.000064, "total_cost": 0.04836634},
    "top_ups": 0.0, "bonuses": 0.0, "seats": 0.0,
}))]
struct DayUsage {
    /// The day in UTC.
    day: String,
    /// Pages that were charged; under the Unlimited plan the charge is zero.
    pages: u64,
    /// Failed pages, which are free.
    failed_pages: u64,
    /// Decoded bytes of all pages.
    bytes: u64,
    /// CPU time of all pages.
    cpu_seconds: f64,
    /// Page charges by part.
    costs: Costs,
    /// Top-ups.
    top_ups: f64,
    /// Bonuses on top-ups.
    bonuses: f64,
    /// Charges for seats.
    seats: f64,
}

impl DayUsage {
    fn new(day: Timestamp, used: &AccountUsage) -> Self {
        let mut text = day.to_string();
        text.truncate(DAY_CHARS);
        Self {
            day: text,
            pages: used.n_pages,
            failed_pages: used.n_failed,
            bytes: used.consumed.n_bytes,
            cpu_seconds: used.consumed.cpu.as_secs_f64(),
            costs: Costs::new(&used.charge, None),
            top_ups: dollars(used.top_ups),
            bonuses: dollars(used.bonuses),
            seats: dollars(used.seats),
        }
    }
}

#[utoipa::path(
    get,
    path = "/account/usage",
    summary = "Sum up usage by day",
    description = "Sums up the ledger of the account: usage and payments on each day, in UTC. Days without any are left out. `by=key` adds \
        the usage of each key; the pages of a background crawl count to the key that started it.",
    params(UsageQuery),
    responses(
        (status = 200, description = "The days", body = Usage),
        (status = 400, description = "A time or `by` is invalid", body = ref("#/components/schemas/Error"),
            example = json!({"error": "from: write a time like `2026-01-31` or `2026-01-31T10:20:30Z`"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn usage(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Query(query): Query<UsageQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let from = parse_time("from", query.from.as_deref())?.unwrap_or(Timestamp::MIN);
    let to = parse_time("to", query.to.as_deref())?.unwrap_or(Timestamp::MAX);
    let by_key = by_key(query.by.as_deref(), "day")?;
    let _permit = api.queries.take(&account.id).await?;
    let billing = &api.rooms.billing;
    let days = billing.usage_by_day(&account.id, from, to).await?;
    let days = days.iter().map(|(day, used)| DayUsage::new(*day, used));
    let days = days.collect();
    let keys = match by_key {
        true => Some(keys(billing, &account.id, (from, to)).await?),
        false => None,
    };
    ResponseFormat::of(&headers).object(&Usage { days, keys })
}

/// Whether `by` asks for the usage of each key; else it may name what is shown without it:
/// `otherwise`, which is `day` or `account`.
pub(crate) fn by_key(by: Option<&str>, otherwise: &str) -> Result<bool, ApiError> {
    match by {
        Some("key") => Ok(true),
        None => Ok(false),
        Some(by) if by == otherwise => Ok(false),
        Some(_) => Err(ApiError::Invalid(format!(
            "by: write `{otherwise}` or `key`"
        ))),
    }
}

/// The usage of each key of an account in a period.
pub(crate) async fn keys(
    billing: &Billing,
    account: &AccountId,
    period: (Timestamp, Timestamp),
) -> Result<Vec<KeyUsage>, ApiError> {
    let used = billing.usage_of_keys(account, period).await?.into_iter();
    Ok(used.map(KeyUsage::from).collect())
}
