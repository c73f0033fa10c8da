//! `GET /admin/history`: metrics of the last day.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use trawl_telemetry::{History, SAMPLE_PERIOD, SAMPLES_MAX, Series};

use crate::Api;
use crate::http::error::ApiError;
use crate::http::format::ResponseFormat;
use crate::http::params::{Query, Unsigned};
use crate::status::metrics::{absent, sample_metrics};

/// How much of the history.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryQuery {
    /// The last minutes. Default: 1,440, which is a day; a larger number counts as 1,440.
    #[param(value_type = Option<u64>)]
    minutes: Option<Unsigned>,
}

/// Metrics over time.
#[derive(Serialize, ToSchema)]
#[schema(as = MetricHistory, example = json!({
    "period_seconds": 60, "times": [1_770_000_000, 1_770_000_060],
    "series": [
        {"metric": "trawl_pages_total", "label": "ok", "kind": "counter", "first": 0, "values": [1200.0, 1262.0]},
        {"metric": "trawl_browser_tabs", "label": null, "kind": "gauge", "first": 1, "values": [3.0]},
    ],
}))]
struct HistoryView {
    /// Seconds between two samples.
    period_seconds: u64,
    /// When each sample was taken, in seconds since 1970, oldest first.
    times: Vec<i64>,
    /// The series, each of one metric and one value of its label.
    series: Vec<SeriesView>,
}

/// A metric over time.
#[derive(Serialize, ToSchema)]
#[schema(as = MetricSeries)]
struct SeriesView {
    /// Its name in `/metrics`.
    metric: &'static str,
    /// Value of the label by which it is counted, such as a status; null if it has none.
    label: Option<String>,
    /// `counter` grows until the server restarts, `gauge` goes up and down.
    kind: &'static str,
    /// Index in `times` of the first value.
    first: u64,
    /// One value for each sample from there on.
    values: Vec<f64>,
}

impl From<Series> for SeriesView {
    fn from(series: Series) -> Self {
        Self {
            metric: series.metric,
            label: series.label,
            kind: if series.is_counter {
                "counter"
            } else {
                "gauge"
            },
            first: series.first as u64,
            values: series.values,
        }
    }
}

impl From<History> for HistoryView {
    fn from(history: History) -> Self {
        let times = history.times.into_iter();
        Self {
            period_seconds: SAMPLE_PERIOD.as_secs(),
            times: times.map(|at| at.unix_seconds()).collect(),
            series: history.series.into_iter().map(SeriesView::from).collect(),
        }
    }
}

#[utoipa::path(
    get,
    path = "/admin/history",
    summary = "Read the metrics of the last day",
    description = "Returns chosen metrics of the last day, sampled once a minute. They are in memory, so they begin with the start of \
        the server.",
    params(HistoryQuery),
    responses(
        (status = 200, description = "The samples", body = HistoryView),
        (status = 400, description = "`minutes` is not a positive integer", body = ref("#/components/schemas/Error"),
            example = json!({"error": "minutes: must be an integer from 1 to 1440; a larger one counts as 1440"})),
        (status = 501, description = "The server has no metrics", body = ref("#/components/schemas/Error"),
            example = json!({"error": "this server does not offer metrics: ask its operator"})),
    ),
    security(("admin" = []))
)]
pub(super) async fn history(
    State(api): State<Api>,
    Query(query): Query<HistoryQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let n_samples = match query.minutes.map(Unsigned::saturated) {
        Some(0) => {
            return Err(ApiError::Invalid(format!(
                "minutes: must be an integer from 1 to {SAMPLES_MAX}; a larger one counts as {SAMPLES_MAX}"
            )));
        }
        Some(minutes) => minutes as usize,
        None => SAMPLES_MAX,
    };
    let mut history = trawl_telemetry::history(n_samples);
    if history.times.is_empty() {
        // The server has just started.
        sample_metrics(&api.rooms).await;
        history = trawl_telemetry::history(n_samples);
    }
    if history.times.is_empty() {
        return Err(absent());
    }
    ResponseFormat::of(&headers).object(&HistoryView::from(history))
}
