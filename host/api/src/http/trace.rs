//! Trace context of requests. W3C Trace Context: `traceparent` comes with a request, and
//! `traceresponse` goes back with its response.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use tracing::Span;

use trawl_model::trace::TRACEPARENT;
use trawl_model::{RequestTrace, TraceContext};

/// The span of the request, for its caller. Source: the draft of W3C Trace Context with headers of
/// responses.
const TRACERESPONSE: HeaderName = HeaderName::from_static("traceresponse");

/// The one trace context of these headers.
fn sent(headers: &HeaderMap) -> Option<TraceContext> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    let (value, None) = (values.next()?, values.next()) else {
        return None;
    };
    TraceContext::parse(value.to_str().ok()?)
}

/// Where the trace context of a request is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceSettings {
    /// With the response, as `traceresponse`.
    pub in_responses: bool,
    /// With requests for its pages, as `traceparent`.
    pub in_requests: bool,
    /// With its webhooks, as `traceparent`.
    pub in_webhooks: bool,
}

/// A request within a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traced {
    /// The span of the caller; `None` if the trace begins here.
    pub(crate) parent: Option<TraceContext>,
    /// The span of the request, and where it is sent.
    pub(crate) trace: RequestTrace,
}

impl Traced {
    /// Writes the ids into the span of the log.
    pub(crate) fn record(self, span: &Span) {
        let own = self.trace.context;
        span.record("trace_id", own.trace_id());
        if let Some(parent) = self.parent {
            span.record("parent_span_id", parent.span_id());
        }
        span.record("span_id", own.span_id());
    }
}

impl TraceSettings {
    /// The trace of a request with this span. `None` if it has no valid `traceparent`, or several,
    /// unless spans are exported: then it begins one. One that is not valid is as good as none.
    pub(crate) fn of(self, headers: &HeaderMap, span: &Span) -> Option<Traced> {
        let parent = sent(headers);
        let exported = trawl_telemetry::begin_trace(span, parent);
        let child = || Some(parent?.child(getrandom::u64().ok()?));
        let trace = RequestTrace {
            context: exported.or_else(child)?,
            in_requests: self.in_requests,
            in_webhooks: self.in_webhooks,
        };
        Some(Traced { parent, trace })
    }

    /// Adds the span of a request to its response.
    pub(crate) fn respond(self, traced: Traced, headers: &mut HeaderMap) {
        if self.in_responses
            && let Ok(value) = HeaderValue::try_from(traced.trace.context.to_string())
        {
            headers.insert(TRACERESPONSE, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn headers(values: &[&'static str]) -> HeaderMap {
        let values = values.iter().copied().map(HeaderValue::from_static);
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(TRACEPARENT, value);
        }
        headers
    }

    #[test]
    fn a_request_is_a_span_below_its_callers() {
        let settings = TraceSettings {
            in_responses: true,
            in_webhooks: true,
            ..TraceSettings::default()
        };
        let none = Span::none();
        let traced = settings.of(&headers(&[SENT]), &none).expect("a trace");
        let parent = traced.parent.expect("the caller's span");
        let own = traced.trace.context;
        assert_eq!(parent.to_string(), SENT);
        assert_eq!(own.trace_id(), parent.trace_id());
        assert_ne!(own.span_id(), parent.span_id());
        assert_eq!(traced.trace.for_webhooks(), Some(own));
        assert_eq!(traced.trace.for_requests(), None);
        let mut response = HeaderMap::new();
        settings.respond(traced, &mut response);
        assert_eq!(response["traceresponse"], own.to_string());
        let mut response = HeaderMap::new();
        TraceSettings::default().respond(traced, &mut response);
        assert!(response.is_empty());
    }

    #[test]
    fn other_headers_are_no_trace() {
        let settings = TraceSettings::default();
        for wrong in [&[][..], &["00-1-2-01"], &[SENT, SENT]] {
            let traced = settings.of(&headers(wrong), &Span::none());
            assert!(traced.is_none(), "{wrong:?}");
        }
    }
}
