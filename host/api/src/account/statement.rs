//! `GET /account/statement`: every change of the balance.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use trawl_billing::{Account, AccountId};
use trawl_model::clock::{NotATime, Timestamp};

use super::statement_body::{self, StatementCursor, StatementFormat, StatementSource};
use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::headers::set_next_cursor;
use crate::http::params::{Query, Unsigned, checked_limit};
use crate::http::queries::Queries;

pub(crate) use super::statement_body::Statement;

/// Most entries of a statement that is asked for in pages.
const ENTRIES_MAX: u32 = 1_000;

/// Period, part and format of a statement.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatementQuery {
    /// Start of the period: `2026-01-31`, or `2026-01-31T10:20:30Z`. Default: the creation of the
    /// account.
    from: Option<String>,
    /// End of the period, exclusive. Default: now.
    to: Option<String>,
    /// Maximum number of entries; a larger one than 1,000 counts as 1,000. Default: all of the
    /// period.
    #[param(value_type = Option<u64>)]
    limit: Option<Unsigned>,
    /// `next_cursor` of the page before, of the same period: the statement continues there. Blank
    /// is not set.
    #[param(pattern = r"^\s*(\+?0*[1-9]\d{0,17}\.[+-]?\d{1,18})?\s*$")]
    cursor: Option<String>,
    /// `json` (default) or `csv`; `Accept: text/csv` also selects CSV.
    format: Option<String>,
}

#[utoipa::path(
    get,
    path = "/account/statement",
    summary = "Read the statement",
    description = "Returns the opening balance, every ledger entry in order, and the closing balance. The opening balance plus all amounts \
        equals the closing balance to the nanodollar. A failed page has an entry of $0 with the reason. With `limit`, the statement has \
        the first entries only; `next_cursor`, sent as `cursor`, gets the next ones, which begin with the balance where these ended. With \
        `Accept: application/jsonl`, the response has one line per entry.",
    params(StatementQuery),
    responses(
        (status = 200, description = "The statement", body = Statement,
            headers(("X-Next-Cursor" = String, description = "The same as `next_cursor`, in every format; absent if no entry follows"))),
        (status = 400, description = "A time, the part or the format is invalid", body = ref("#/components/schemas/Error"),
            example = json!({"error": "from: write a time like `2026-01-31` or `2026-01-31T10:20:30Z`"})),
    ),
    security(("key" = []))
)]
pub(crate) async fn statement(
    State(api): State<Api>,
    Extension(account): Extension<Arc<Account>>,
    Query(query): Query<StatementQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let queries = Some(Arc::clone(&api.queries));
    respond(&api, &account.id, &query, &headers, queries).await
}

/// The statement of an account; for its owner, among his other queries, and for the operator.
pub(crate) async fn respond(
    api: &Api,
    account: &AccountId,
    query: &StatementQuery,
    headers: &HeaderMap,
    queries: Option<Arc<Queries>>,
) -> Result<Response, ApiError> {
    let from = parse_time("from", query.from.as_deref())?.unwrap_or(Timestamp::MIN);
    let to = parse_time("to", query.to.as_deref())?.unwrap_or(Timestamp::MAX);
    let format = format(query.format.as_deref(), headers)?;
    let billing = api.rooms.billing.clone();
    // What the operator reads takes from the server's own share.
    let owner = queries.as_ref().map_or("", |_| account.as_str());
    let source = StatementSource {
        billing,
        queries,
        memory: api.rooms.memory.share(owner),
    };
    let start = place(query.cursor.as_deref())?;
    let limit = query.limit.map(|limit| checked_limit(limit, ENTRIES_MAX));
    let (body, next) = match limit.transpose()? {
        Some(limit) => {
            let part = (start, limit);
            let (text, next) =
                statement_body::page(source, account, from..to, format, part).await?;
            (Body::from(text), next)
        }
        None => {
            let chunks =
                statement_body::chunks(source, account.clone(), from..to, format, start).await?;
            (Body::from_stream(chunks), None)
        }
    };
    let mut response = Response::new(body);
    if let Some(next) = next
        && let Ok(next) = HeaderValue::from_str(&next.to_string())
    {
        set_next_cursor(&mut response, next);
    }
    let media_type = HeaderValue::from_static(format.media_type());
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, media_type);
    Ok(response)
}

/// A time parameter; `None` if it is absent.
///
/// # Errors
/// The value is not a time.
pub(crate) fn parse_time(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    let text = text.filter(|text| !text.trim().is_empty());
    let read = |text: &str| {
        text.parse()
            .map_err(|error: NotATime| ApiError::Invalid(format!("{name}: {error}")))
    };
    text.map(read).transpose()
}

/// Where the statement continues; `None` at its first entry.
fn place(cursor: Option<&str>) -> Result<Option<StatementCursor>, ApiError> {
    let cursor = cursor.map(str::trim).filter(|cursor| !cursor.is_empty());
    let read = |cursor: &str| {
        let refusal = || "cursor: must be the `next_cursor` of the page before".to_owned();
        StatementCursor::read(cursor).ok_or_else(|| ApiError::Invalid(refusal()))
    };
    cursor.map(read).transpose()
}

/// The requested format of the statement.
fn format(format: Option<&str>, headers: &HeaderMap) -> Result<StatementFormat, ApiError> {
    let accepts_csv = headers.get_all(header::ACCEPT).iter().any(|accept| {
        accept
            .to_str()
            .is_ok_and(|accept| accept.contains("text/csv"))
    });
    match format.map(str::to_ascii_lowercase).as_deref() {
        Some("csv") => Ok(StatementFormat::Csv),
        None if accepts_csv => Ok(StatementFormat::Csv),
        Some("json") | None => Ok(match ResponseFormat::of(headers) {
            ResponseFormat::Json => StatementFormat::Json,
            ResponseFormat::JsonLines => StatementFormat::JsonLines,
        }),
        Some(_) => Err(ApiError::Invalid(
            "format: write `json` or `csv`".to_owned(),
        )),
    }
}
