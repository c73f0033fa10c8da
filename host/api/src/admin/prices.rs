//! Prices: those in effect, and all there ever were.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{Api, ApiError, ask, astray};
use crate::paging::Page;
use crate::post::Form;
use trawl_control::{PricesView, Reply, Request};

/// How prices are changed.
const NOTE: &str = "prices stand in trawl.toml and are read at the start: change them there and restart; what was charged keeps its amounts";

/// Prices and since when they are in effect.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "since": "2026-01-31T10:20:30.000Z",
    "prices": {"gigabyte": "1", "cpu_minute": "0.0001", "stored_gigabyte": "0", "own_key_percent": 10, "own_key_least": "0.0001",
        "pooled_percent": 20, "pools": {"residential": "4"}, "seats": [{"from": 1, "dollars": "20"}, {"from": 10, "dollars": "18"}]},
    "note": "prices stand in trawl.toml and are read at the start: change them there and restart; what was charged keeps its amounts",
}))]
struct Prices {
    /// When they came into effect.
    since: String,
    /// All of them, as in `trawl.toml`: dollars as decimal text, percents as numbers.
    #[schema(value_type = Object)]
    prices: Value,
    /// How they are changed; not in lists.
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
    description = "The prices in effect. They stand in `trawl.toml` and are read at the start.",
    responses(
        (status = 200, description = "The prices", body = Prices),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn prices(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match ask(&api, Request::Prices {}).await? {
        Reply::Prices(Some(view)) => Form::of(&headers).one(&Prices::new(view, Some(NOTE))),
        other => Err(astray(&other)),
    }
}

#[utoipa::path(
    get,
    path = "/admin/prices/history",
    description = "All prices there ever were, oldest first; the last ones are in effect.",
    responses(
        (status = 200, description = "The prices with the times from which on they were in effect", body = Page<Prices>),
        (status = 401, description = "Not the admin key", example = json!({"error": "invalid api key"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn history(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    match ask(&api, Request::PriceHistory {}).await? {
        Reply::PriceHistory(history) => Form::of(&headers).one(&Page {
            count: history.len() as u64,
            data: history
                .into_iter()
                .map(|view| Prices::new(view, None))
                .collect(),
        }),
        other => Err(astray(&other)),
    }
}
