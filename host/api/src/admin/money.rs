//! Top-ups, statements, usage, and the audit of the ledger.

use std::collections::BTreeMap;

use axum::extract::{self, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use trawl_billing::AccountId;
use trawl_control::{DisagreementView, KeyDisagreementView, Reply, Request, UsageView};
use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_wire::dollars;

use crate::Api;
use crate::account::statement::{self, Statement, StatementQuery, parse_time};
use crate::account::usage::{self, KeyUsage};
use crate::http::control::{ask, unexpected};
use crate::http::error::ApiError;
use crate::http::fields::{Fields, required};
use crate::http::format::ResponseFormat;
use crate::http::params::{Path, Query};

/// A top-up. Amounts are in dollars.
#[derive(Serialize, ToSchema)]
#[schema(as = TopUp, example = json!({
    "account": "acc_4nWzLbQ2vTg0yR1s", "id": "invoice-17", "dollars": 500.0, "bonus": 25.0, "balance": 525.0, "repeated": false,
}))]
struct PaidIn {
    /// The account's identifier.
    account: String,
    /// Id of the top-up.
    id: String,
    /// Amount of the top-up.
    dollars: f64,
    /// Bonus: 5 % from $500, 12 % from $2,000.
    bonus: f64,
    /// Balance after the top-up.
    balance: f64,
    /// Whether a top-up with this id was booked before; if so, the balance did not change.
    repeated: bool,
}

/// Body of `POST /admin/accounts/{account}/top-ups`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the body is read field by field; this type documents it"
)]
#[schema(as = TopUpRequest, example = json!({"dollars": "500", "id": "invoice-17"}))]
struct TopUp {
    /// Dollars as decimal text or a number, with at most nine decimals.
    dollars: String,
    /// An id of your choice, at most 100 bytes. Repeating a top-up with the same id has no effect.
    id: Option<String>,
}

#[utoipa::path(
    post,
    path = "/admin/accounts/{account}/top-ups",
    summary = "Top up an account",
    description = "Tops up an account. With an `id`, a repeated request has no further effect.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    request_body(content = TopUp),
    responses(
        (status = 200, description = "The top-up", body = PaidIn),
        (status = 400, description = "A field is invalid; the error starts with its name", body = ref("#/components/schemas/Error"),
            example = json!({"error": "dollars: $-5 cannot be paid in: it is not positive"})),
        (status = 409, description = "The id was used for another amount", body = ref("#/components/schemas/Error"),
            example = json!({"error": "a top-up with the id `invoice-17` was made before, of $500: choose another id"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn top_up(
    State(api): State<Api>,
    Path(account): Path<String>,
    headers: HeaderMap,
    request: extract::Request,
) -> Result<Response, ApiError> {
    let fields = Fields::read(request, &["dollars", "id"]).await?;
    let request = Request::TopUp {
        account,
        amount: required("dollars", fields.dollars("dollars")?)?.0,
        id: fields.text("id")?,
    };
    match ask(&api, request).await? {
        Reply::ToppedUp {
            account,
            id,
            amount,
            bonus,
            is_repeat,
        } => ResponseFormat::of(&headers).object(&PaidIn {
            account: account.account,
            id,
            dollars: dollars(Nanodollars(amount)),
            bonus: dollars(Nanodollars(bonus)),
            balance: dollars(Nanodollars(account.balance)),
            repeated: is_repeat,
        }),
        other => Err(unexpected(&other)),
    }
}

#[utoipa::path(
    get,
    path = "/admin/accounts/{account}/statement",
    summary = "Read the statement of an account",
    description = "Returns the statement of an account, as `/account/statement` does for its owner.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice"), StatementQuery),
    responses(
        (status = 200, description = "The statement", body = Statement,
            headers(("X-Next-Cursor" = String, description = "The same as `next_cursor`, in every format; absent if no entry follows"))),
        (status = 400, description = "A time, the part or the format is invalid", body = ref("#/components/schemas/Error"),
            example = json!({"error": "from: write a time like `2026-01-31` or `2026-01-31T10:20:30Z`"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn statement(
    State(api): State<Api>,
    Path(account): Path<String>,
    Query(query): Query<StatementQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let account = api.rooms.billing.known(&account)?;
    statement::respond(&api, &account.id, &query, &headers, None).await
}

/// Period of the usage report.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct UsageQuery {
    /// Start of the period: `2026-01-31`, or `2026-01-31T10:20:30Z`. Default: the first ledger
    /// entry.
    from: Option<String>,
    /// End of the period, exclusive. Default: now.
    to: Option<String>,
    /// `key` to add the usage of each key of the accounts. Default: `account`.
    #[param(pattern = "^(account|key)$")]
    by: Option<String>,
}

/// Usage and payments of all accounts, from the ledger.
#[derive(Serialize, ToSchema)]
struct Usage {
    /// The total over all accounts.
    total: Used,
    /// Each account with entries in the period, sorted by identifier.
    accounts: Vec<UsedByAccount>,
}

/// Usage and payments of one account.
#[derive(Serialize, ToSchema)]
struct UsedByAccount {
    /// Its identifier.
    account: String,
    /// Its name.
    name: String,
    #[serde(flatten)]
    used: Used,
    /// Each of its keys with pages in the period, sorted by key, as in `/account/usage`; only with
    /// `by=key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<KeyUsage>>,
}

/// Usage and payments. Amounts are in dollars.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "pages": 1200, "failed_pages": 31, "bytes": 48211340, "cpu_seconds": 93.25,
    "costs": {"ai_cost": 0.0, "billed_cost": 0.0, "bytes_transferred_cost": 0.04821134, "compute_cost": 0.000091, "file_cost": 0.0,
        "total_cost": 0.04836634, "transform_cost": 0.000064},
    "top_ups": 500.0, "bonuses": 25.0, "seats": 0.0,
}))]
struct Used {
    /// Pages that were charged; under the Unlimited plan the charge is zero.
    pages: u64,
    /// Failed pages, which are free.
    failed_pages: u64,
    /// Decoded bytes of all pages.
    bytes: u64,
    /// CPU time of all pages.
    cpu_seconds: f64,
    /// Page charges by part; `billed_cost` is the part of third-party providers.
    costs: BTreeMap<String, f64>,
    /// Top-ups.
    top_ups: f64,
    /// Bonuses on top-ups.
    bonuses: f64,
    /// Charges for seats.
    seats: f64,
}

impl From<UsageView> for Used {
    fn from(view: UsageView) -> Self {
        let amount = |amount| dollars(Nanodollars(amount));
        let costs = view.costs.into_iter();
        Self {
            pages: view.pages,
            failed_pages: view.failed,
            bytes: view.bytes,
            cpu_seconds: view.cpu_micros as f64 / 1e6,
            costs: costs.map(|(name, part)| (name, amount(part))).collect(),
            top_ups: amount(view.top_ups),
            bonuses: amount(view.bonuses),
            seats: amount(view.seats),
        }
    }
}

#[utoipa::path(
    get,
    path = "/admin/usage",
    summary = "Sum up usage and payments",
    description = "Sums up the ledger: usage and payments per account and in total. `bytes` and `cpu_seconds` count only usage since the \
        server records them. `by=key` adds the usage of each key, as in `/account/usage`.",
    params(UsageQuery),
    responses(
        (status = 200, description = "The sums", body = Usage),
        (status = 400, description = "A time or `by` is invalid", body = ref("#/components/schemas/Error"),
            example = json!({"error": "from: write a time like `2026-01-31` or `2026-01-31T10:20:30Z`"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn usage(
    State(api): State<Api>,
    Query(query): Query<UsageQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let from = parse_time("from", query.from.as_deref())?.unwrap_or(Timestamp::MIN);
    let to = parse_time("to", query.to.as_deref())?.unwrap_or(Timestamp::MAX);
    let by_key = usage::by_key(query.by.as_deref(), "account")?;
    let request = Request::Usage {
        from: from.0,
        to: to.0,
        // The interface has another form of it.
        by_key: false,
    };
    let (views, total) = match ask(&api, request).await? {
        Reply::Usage { accounts, total } => (accounts, total),
        other => return Err(unexpected(&other)),
    };
    let billing = &api.rooms.billing;
    let mut accounts = Vec::with_capacity(views.len());
    for view in views {
        let account = AccountId::new(view.account.as_str());
        let keys = match by_key {
            true => Some(usage::keys(billing, &account, (from, to)).await?),
            false => None,
        };
        accounts.push(UsedByAccount {
            account: view.account.clone(),
            name: view.name.clone(),
            used: view.into(),
            keys,
        });
    }
    ResponseFormat::of(&headers).object(&Usage {
        total: total.into(),
        accounts,
    })
}

/// Result of the audit.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"ok": true, "accounts": 12, "entries": 48211, "disagreements": [], "key_disagreements": []}))]
struct Audit {
    /// Whether every balance, and what every key has spent, equals the sum of its entries.
    ok: bool,
    /// Accounts checked.
    accounts: u64,
    /// Ledger entries summed.
    entries: u64,
    /// Accounts whose balance differs from their entries.
    disagreements: Vec<Disagreement>,
    /// Keys whose spending in the month of their last charge differs from their entries.
    key_disagreements: Vec<KeyDisagreement>,
}

/// A key whose spending differs from its entries. Amounts are in dollars.
#[derive(Serialize, ToSchema)]
struct KeyDisagreement {
    /// Identifier of its account.
    account: String,
    /// First characters of the key.
    key: String,
    /// What it has spent in the month of its last charge.
    month_spent: f64,
    /// Sum of its charges since that month began.
    entries_spent: f64,
}

impl From<KeyDisagreementView> for KeyDisagreement {
    fn from(view: KeyDisagreementView) -> Self {
        Self {
            account: view.account,
            key: view.key,
            month_spent: dollars(Nanodollars(view.month_spent)),
            entries_spent: dollars(Nanodollars(view.entries_spent)),
        }
    }
}

/// An account whose balance differs from its entries. Amounts are in dollars.
#[derive(Serialize, ToSchema)]
struct Disagreement {
    /// Its identifier.
    account: String,
    /// Its balance.
    balance: f64,
    /// Sum of its entries.
    entries_balance: f64,
    /// Reserved amount.
    reserved: f64,
    /// Reserved amount by its entries.
    entries_reserved: f64,
}

impl From<DisagreementView> for Disagreement {
    fn from(view: DisagreementView) -> Self {
        let amount = |amount| dollars(Nanodollars(amount));
        Self {
            account: view.account,
            balance: amount(view.balance),
            entries_balance: amount(view.entries_balance),
            reserved: amount(view.held),
            entries_reserved: amount(view.entries_held),
        }
    }
}

#[utoipa::path(
    get,
    path = "/admin/verify",
    summary = "Audit the ledger",
    description = "Sums up all ledger entries and compares the sums with the balances, and with what each key has spent in the month of its last charge.",
    responses(
        (status = 200, description = "The result", body = Audit),
    ),
    security(("admin" = []))
)]
pub(super) async fn verify(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match ask(&api, Request::Verify {}).await? {
        Reply::Audit(audit) => ResponseFormat::of(&headers).object(&Audit {
            ok: audit.is_consistent(),
            accounts: audit.accounts,
            entries: audit.entries,
            disagreements: audit
                .disagreements
                .into_iter()
                .map(Disagreement::from)
                .collect(),
            key_disagreements: audit
                .key_disagreements
                .into_iter()
                .map(KeyDisagreement::from)
                .collect(),
        }),
        other => Err(unexpected(&other)),
    }
}
