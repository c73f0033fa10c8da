//! `GET /account`, `PUT /account/notices` and `GET /account/statement`: the bill as its payer can check it.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::Api;
use super::body::Fields;
use super::error::ApiError;
use super::params::Query;
use super::post::Form;
use super::statement::{Lines, Statement};
use super::views::AccountView;
use trawl_billing::{Account, AccountId};
use trawl_control::Reply;
use trawl_model::clock::{NotATime, Timestamp};

/// Body of `PUT /account/notices`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "the body is read field by field; this describes it"
)]
#[schema(example = json!({"destination": "https://you.example/hook", "low_balance_dollars": "5"}))]
pub(super) struct Notices {
    /// Address of the receiver; null or left out for none.
    destination: Option<String>,
    /// Told when the balance falls below so many dollars, as decimal text or a number; only when it is empty when left out.
    low_balance_dollars: Option<String>,
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
    let request = trawl_control::Request::Account {
        account: account.id.to_string(),
    };
    match trawl_control::perform(api.service.billing(), request).await? {
        Reply::Account { account, keys } => {
            Form::of(&headers).one(&AccountView::from(account).with_keys(keys))
        }
        _ => Err(ApiError::Internal),
    }
}

#[utoipa::path(
    put,
    path = "/account/notices",
    description = "Sets who is told by the webhook events `on_low_balance` and `on_empty_balance` (`{\"account\": …, \"credits\": …}`, signed as \
        those of crawls): once when the balance falls below `low_balance_dollars`, once when nothing that can be spent is left, and again \
        after a top-up that lifts it above. Without a `destination` nobody is told any more.",
    request_body(content = Notices),
    responses(
        (status = 200, description = "The account", body = AccountView),
        (status = 400, description = "A field is wrong; the text begins with its name",
            example = json!({"error": "low_balance_dollars: write dollars like `25` or `0.50`, with at most nine decimals"})),
        (status = 401, description = "The key is missing or unknown", example = json!({"error": "invalid api key"})),
    ),
    security(("key" = []))
)]
pub(super) async fn set_notices(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let form = Form::of(&headers);
    change_notices(&api, account.id.to_string(), request, form).await
}

/// Reads and sets who is told of an account's balance; for its owner and for the operator.
pub(super) async fn change_notices(
    api: &Api,
    account: String,
    request: Request,
    form: Form,
) -> Result<Response, ApiError> {
    let fields = Fields::read(request, &["destination", "low_balance_dollars"]).await?;
    let request = trawl_control::Request::SetNotices {
        account,
        destination: fields
            .text("destination")?
            .filter(|text| !text.trim().is_empty()),
        below: fields.dollars("low_balance_dollars")?.unwrap_or_default().0,
    };
    match trawl_control::perform(api.service.billing(), request).await? {
        Reply::Notices(account) => form.one(&AccountView::from(account)),
        _ => Err(ApiError::Internal),
    }
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
    statement_of(&api, &account.id, &query, &headers).await
}

/// The statement of an account; for its owner and for the operator.
pub(super) async fn statement_of(
    api: &Api,
    account: &AccountId,
    query: &StatementQuery,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let from = moment("from", query.from.as_deref())?.unwrap_or(Timestamp::MIN);
    let to = moment("to", query.to.as_deref())?.unwrap_or(Timestamp::MAX);
    let (lines, media_type) = lines(query.format.as_deref(), headers)?;
    let billing = api.service.billing().clone();
    let pieces = super::statement::pieces(billing, account.clone(), from..to, lines).await?;
    let mut response = Response::new(Body::from_stream(pieces));
    let media_type = HeaderValue::from_static(media_type);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, media_type);
    Ok(response)
}

/// A time of the query; `None` when it is left out.
///
/// # Errors
/// It is no time.
pub(super) fn moment(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    let text = text.filter(|text| !text.trim().is_empty());
    let read = |text: &str| {
        text.parse()
            .map_err(|error: NotATime| ApiError::Invalid(format!("{name}: {error}")))
    };
    text.map(read).transpose()
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
