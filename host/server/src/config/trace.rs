//! Traces: where trace context is sent, and the spans of requests.

use serde::Deserialize;

/// `[trace]`: what becomes of the trace context of a request that has one (`traceparent`), which is
/// in the log in any case, and a collector of spans.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceConfig {
    /// Whether responses have a `traceresponse`.
    pub responses: bool,
    /// Whether requests to sites, providers and the model have a `traceparent`: then a site can
    /// tell which requests belong together.
    pub requests: bool,
    /// Whether webhooks of crawls have one.
    pub webhooks: bool,
    /// URL to which spans are exported (OTLP over HTTP, protobuf), such as
    /// `http://127.0.0.1:4318/v1/traces`. None by default.
    pub endpoint: Option<String>,
    /// Percent of the traces that begin here which are exported; 100 by default. A request with a
    /// `traceparent` is exported if its caller has sampled it.
    pub sampled_percent: u8,
}

impl Default for TraceConfig {
    fn default() -> Self {
        Self {
            responses: false,
            requests: false,
            webhooks: false,
            endpoint: None,
            sampled_percent: 100,
        }
    }
}
