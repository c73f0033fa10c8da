//! `GET /admin/logs`: the last lines of the server's log.

use axum::Extension;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use trawl_model::memory::{MemoryKind, MemoryShare};
use trawl_telemetry::{LogLine, log_lines};

use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::paging::Page;
use crate::http::params::{Query, Unsigned, checked_limit};

/// Lines per response when the request sets no limit.
const LINES_DEFAULT: u32 = 200;
/// Maximum number of lines per response.
const LINES_MAX: u32 = 10_000;

/// Which lines.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LogsQuery {
    /// What the lines contain: the id of a request or a crawl, an account, a host. Upper and lower
    /// case differ. Default: all lines.
    text: Option<String>,
    /// Maximum number of lines, default 200; a larger one than 10,000 counts as 10,000.
    #[param(value_type = Option<u64>)]
    limit: Option<Unsigned>,
}

/// A line of the log.
#[derive(Serialize, ToSchema)]
#[schema(as = LogLine, example = json!({
    "at": "2026-01-31T10:20:30.000Z",
    "line": "{\"timestamp\":\"2026-01-31T10:20:30.000Z\",\"level\":\"WARN\",\"message\":\"webhook events were dropped\",\"count\":3}",
}))]
struct LineView {
    /// When it was written.
    at: String,
    /// Its text: a JSON object, unless the server writes its log to a terminal.
    line: String,
}

impl From<LogLine> for LineView {
    fn from(line: LogLine) -> Self {
        Self {
            at: line.at.to_string(),
            line: line.text,
        }
    }
}

#[utoipa::path(
    get,
    path = "/admin/logs",
    summary = "Search the log",
    description = "Returns the last lines of the server's log that contain a text, newest first; `count` says how many there are. The \
        last 20,000 lines are in memory, without secrets, as they are written; `RUST_LOG` decides which lines there are.",
    params(LogsQuery),
    responses(
        (status = 200, description = "The lines", body = Page<LineView>),
        (status = 400, description = "`limit` is not a positive integer", body = ref("#/components/schemas/Error"),
            example = json!({"error": "limit: must be an integer from 1 to 10000; a larger one counts as 10000"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn logs(
    Extension(memory): Extension<MemoryShare>,
    Query(query): Query<LogsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let limit = query.limit.map(|limit| checked_limit(limit, LINES_MAX));
    let limit = limit.transpose()?.unwrap_or(LINES_DEFAULT);
    let text = query.text.unwrap_or_default();
    let (lines, count) = log_lines(text.trim(), limit as usize);
    let mut lease = memory.page().lease_for(MemoryKind::Stored);
    let n_bytes: usize = lines.iter().map(|line| line.text.len()).sum();
    // The lines, and the response with them.
    lease.record(2 * n_bytes);
    let page = Page {
        data: lines.into_iter().map(LineView::from).collect(),
        count: count as u64,
        next_cursor: None,
    };
    ResponseFormat::of(&headers).held_object(&page, lease)
}
