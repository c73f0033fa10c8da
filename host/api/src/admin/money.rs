//! Paying in, statements, what everyone used, adding everything up.

use std::collections::BTreeMap;

use axum::extract::{self, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Api, ApiError, ask, astray};
use crate::account::{StatementQuery, moment, statement_of};
use crate::body::{Fields, required};
use crate::params::{Path, Query};
use crate::post::Form;
use crate::statement::Statement;
use trawl_control::{DisagreementView, Reply, Request, UsageView};
use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_wire::dollars;

/// Money that was paid in. Amounts are dollars.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "account": "acc_4nWzLbQ2vTg0yR1s", "id": "invoice-17", "dollars": 500.0, "bonus": 25.0, "balance": 525.0, "repeated": false,
}))]
struct PaidIn {
    /// The account's identifier.
    account: String,
    /// Id of the top-up.
    id: String,
    /// What was paid in.
    dollars: f64,
    /// What was added to it: 5% from $500 on, 12% from $2,000 on.
    bonus: f64,
    /// The balance afterwards.
    balance: f64,
    /// Whether the same id was paid in before, so that nothing was paid in now.
    repeated: bool,
}

/// Body of `POST /admin/accounts/{account}/top-ups`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the body is read field by field; this describes it"
)]
#[schema(example = json!({"dollars": "500", "id": "invoice-17"}))]
struct TopUp {
    /// Dollars as decimal text or a number, with at most nine decimals.
    dollars: String,
    /// An id of your choice, at most 100 bytes: paying in again under the same one changes nothing.
    id: Option<String>,
}

#[utoipa::path(
    post,
    path = "/admin/accounts/{account}/top-ups",
    description = "Pays in. With an `id` a repeat of the same request changes nothing.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice")),
    request_body(content = TopUp),
    responses(
        (status = 200, description = "What was paid in", body = PaidIn),
        (status = 400, description = "A field is wrong; the text begins with its name",
            example = json!({"error": "dollars: $-5 cannot be paid in: it is not more than zero"})),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 404, description = "No such account"),
        (status = 409, description = "The id was used for another amount"),
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
        } => Form::of(&headers).one(&PaidIn {
            account: account.account,
            id,
            dollars: dollars(Nanodollars(amount)),
            bonus: dollars(Nanodollars(bonus)),
            balance: dollars(Nanodollars(account.balance)),
            repeated: is_repeat,
        }),
        other => Err(astray(&other)),
    }
}

#[utoipa::path(
    get,
    path = "/admin/accounts/{account}/statement",
    description = "An account's statement, as its owner sees it at `/account/statement`.",
    params(("account" = String, Path, description = "Identifier or name", example = "alice"), StatementQuery),
    responses(
        (status = 200, description = "The statement", body = Statement),
        (status = 400, description = "A time or the format is wrong"),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
        (status = 404, description = "No such account"),
    ),
    security(("admin" = []))
)]
pub(super) async fn statement(
    State(api): State<Api>,
    Path(account): Path<String>,
    Query(query): Query<StatementQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let account = api.service.billing().known(&account)?;
    statement_of(&api, &account.id, &query, &headers).await
}

/// Which time is asked for.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct UsageQuery {
    /// Earliest time: `2026-01-31`, or `2026-01-31T10:20:30Z`. The first entry of all when left out.
    from: Option<String>,
    /// Latest time, not included. Now when left out.
    to: Option<String>,
}

/// What accounts consumed and paid, by the ledger.
#[derive(Serialize, ToSchema)]
struct Usage {
    /// All of them together.
    total: Used,
    /// Each that has entries in this time, in the order of identifiers.
    accounts: Vec<UsedByAccount>,
}

/// What one account consumed and paid.
#[derive(Serialize, ToSchema)]
struct UsedByAccount {
    /// Its identifier.
    account: String,
    /// Its name.
    name: String,
    #[serde(flatten)]
    used: Used,
}

/// What was consumed and paid. Amounts are dollars.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "pages": 1200, "failed_pages": 31, "bytes": 48211340, "cpu_seconds": 93.25,
    "costs": {"ai_cost": 0.0, "billed_cost": 0.0, "bytes_transferred_cost": 0.04821134, "compute_cost": 0.000091, "file_cost": 0.0,
        "total_cost": 0.04836634, "transform_cost": 0.000064},
    "top_ups": 500.0, "bonuses": 25.0, "seats": 0.0,
}))]
struct Used {
    /// Pages that were charged, at nothing under the Unlimited plan.
    pages: u64,
    /// Pages that failed, which cost nothing.
    failed_pages: u64,
    /// Decoded bytes of all of them.
    bytes: u64,
    /// Their CPU time.
    cpu_seconds: f64,
    /// What was charged for pages, by its parts; `billed_cost` is for pages that providers served.
    costs: BTreeMap<String, f64>,
    /// What was paid in.
    top_ups: f64,
    /// What was added to it.
    bonuses: f64,
    /// What was charged for seats.
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
    description = "What each account and all of them consumed and paid, added up from the ledger. What was consumed before the server kept it \
        is not in `bytes` and `cpu_seconds`.",
    params(UsageQuery),
    responses(
        (status = 200, description = "The sums", body = Usage),
        (status = 400, description = "A time is wrong",
            example = json!({"error": "from: write a time like `2026-01-31` or `2026-01-31T10:20:30Z`"})),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn usage(
    State(api): State<Api>,
    Query(query): Query<UsageQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let request = Request::Usage {
        from: moment("from", query.from.as_deref())?
            .unwrap_or(Timestamp::MIN)
            .0,
        to: moment("to", query.to.as_deref())?
            .unwrap_or(Timestamp::MAX)
            .0,
    };
    match ask(&api, request).await? {
        Reply::Usage { accounts, total } => {
            let accounts = accounts.into_iter().map(|view| UsedByAccount {
                account: view.account.clone(),
                name: view.name.clone(),
                used: view.into(),
            });
            Form::of(&headers).one(&Usage {
                total: total.into(),
                accounts: accounts.collect(),
            })
        }
        other => Err(astray(&other)),
    }
}

/// The result of adding everything up.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"ok": true, "accounts": 12, "entries": 48211, "disagreements": []}))]
struct Audit {
    /// Whether every balance is the sum of its entries.
    ok: bool,
    /// Accounts looked at.
    accounts: u64,
    /// Entries added up.
    entries: u64,
    /// Accounts that do not add up.
    disagreements: Vec<Disagreement>,
}

/// An account that does not add up. Amounts are dollars.
#[derive(Serialize, ToSchema)]
struct Disagreement {
    /// Its identifier.
    account: String,
    /// Its balance.
    balance: f64,
    /// Sum of its entries.
    entries_balance: f64,
    /// What is set aside.
    reserved: f64,
    /// What its entries have set aside.
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
    description = "Adds up every ledger entry and compares with the balances.",
    responses(
        (status = 200, description = "The result", body = Audit),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn verify(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match ask(&api, Request::Verify {}).await? {
        Reply::Audit(audit) => Form::of(&headers).one(&Audit {
            ok: audit.disagreements.is_empty(),
            accounts: audit.accounts,
            entries: audit.entries,
            disagreements: audit
                .disagreements
                .into_iter()
                .map(Disagreement::from)
                .collect(),
        }),
        other => Err(astray(&other)),
    }
}
