//! Prices: the current ones, and their history.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use trawl_control::{PricesView, Reply, Request};

use crate::Api;
use crate::http::control::{ask, unexpected};
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::paging::Page;

/// How prices are changed.
const NOTE: &str = "prices are set in trawl.toml and read at startup: edit the file and restart; past charges do not change";

/// Prices and when they took effect.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "since": "2026-01-31T10:20:30.000Z",
    "prices": {"gigabyte": "1", "cpu_minute": "0.0001", "own_key_percent": 10, "own_key_least": "0.0001",
        "pooled_percent": 20, "pools": {"residential": "4"}, "seats": [{"from": 1, "dollars": "20"}, {"from": 10, "dollars": "18"}]},
    "note": "prices are set in trawl.toml and read at startup: edit the file and restart; past charges do not change",
}))]
struct Prices {
    /// When they took effect.
    since: String,
    /// All prices as in `trawl.toml`: dollars as decimal text, percentages as numbers.
    #[schema(value_type = Object)]
    prices: Value,
    /// How to change them; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

impl Prices {
    fn new(view: PricesView, note: Option<&'static str>) -> Self {
        Self {
            since: view.since,
            prices: view.prices,
            note,
        }
    }
}

#[utoipa::path(
    get,
    path = "/admin/prices",
    summary = "Show the prices",
    description = "Returns the current prices. They are set in `trawl.toml` and read at startup.",
    responses(
        (status = 200, description = "The prices", body = Prices),
    ),
    security(("admin" = []))
)]
pub(super) async fn prices(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match ask(&api, Request::Prices {}).await? {
        Reply::Prices(Some(view)) => {
            ResponseFormat::of(&headers).object(&Prices::new(view, Some(NOTE)))
        }
        other => Err(unexpected(&other)),
    }
}

#[utoipa::path(
    get,
    path = "/admin/prices/history",
    summary = "List earlier prices",
    description = "Lists all prices since the server was installed, oldest first; the last ones are current.",
    responses(
        (status = 200, description = "The prices with the times when they took effect", body = Page<Prices>),
    ),
    security(("admin" = []))
)]
pub(super) async fn history(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match ask(&api, Request::PriceHistory {}).await? {
        Reply::PriceHistory(history) => ResponseFormat::of(&headers).object(&Page {
            count: history.len() as u64,
            next_cursor: None,
            data: history
                .into_iter()
                .map(|view| Prices::new(view, None))
                .collect(),
        }),
        other => Err(unexpected(&other)),
    }
}
