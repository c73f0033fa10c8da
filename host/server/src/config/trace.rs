//! Where trace context is sent.

use serde::Deserialize;

/// `[trace]`: what becomes of the trace context of a request that has one (`traceparent`). It is in
/// the log in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceConfig {
    /// Whether responses have a `traceresponse`.
    pub responses: bool,
    /// Whether requests to sites, providers and the model have a `traceparent`: then a site can
    /// tell which requests belong together.
    pub requests: bool,
    /// Whether webhooks of crawls have one.
    pub webhooks: bool,
}
