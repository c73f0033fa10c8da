//! Outgoing requests as parts of a trace: their spans, and their trace context.

use http::HeaderValue;
use reqwest::Request;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use trawl_model::redact::shown_url;
use trawl_model::trace::{TRACEPARENT, TraceContext};

use super::{EgressError, Reply};

tokio::task_local! {
    /// The span for which the current task sends requests; `None` if they carry none.
    static TRACE: Option<TraceContext>;
}

/// Runs work whose requests carry a trace context below this one.
pub fn traced<F: Future>(
    trace: Option<TraceContext>,
    work: F,
) -> impl Future<Output = F::Output> + use<F> {
    TRACE.scope(trace, work)
}

/// Sends a request as a span of its own, up to the head of its response, and with a `traceparent`
/// if the requests of its task carry one.
pub(super) async fn spanned<F>(
    mut request: Request,
    send: impl FnOnce(Request) -> F,
) -> Result<Reply, EgressError>
where
    F: Future<Output = Result<Reply, EgressError>>,
{
    let url = request.url();
    let span = tracing::debug_span!(
        "http",
        method = request.method().as_str(),
        url = shown_url(url.as_str()),
        host = url.host_str(),
        port = url.port_or_known_default().map(i64::from),
        status = Empty,
        error = Empty,
    );
    add(&mut request, &span);
    let sent = send(request).instrument(span.clone()).await;
    match &sent {
        Ok(reply) => span.record("status", i64::from(reply.status().as_u16())),
        Err(error) => span.record("error", error.cause().name()),
    };
    sent
}

/// Adds a `traceparent` to a request, if its task has a trace and it has none itself. Its id is
/// that of the request's span if that is exported; the span around it in the log gets it, too.
fn add(request: &mut Request, span: &Span) {
    let trace = TRACE.try_with(|trace| *trace).ok().flatten();
    let Some(trace) = trace.filter(|_| !request.headers().contains_key(TRACEPARENT)) else {
        return;
    };
    let exported = trawl_telemetry::exported_context(span);
    let Some(own) = exported.or_else(|| Some(trace.child(getrandom::u64().ok()?))) else {
        return;
    };
    if let Ok(value) = HeaderValue::try_from(own.to_string()) {
        request.headers_mut().insert(TRACEPARENT, value);
        Span::current().record("sent_span_id", own.span_id());
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use url::Url;

    use super::*;

    fn sent(more: Option<&'static str>) -> Option<String> {
        let url = Url::parse("http://a.example/").expect("a URL");
        let mut request = Request::new(Method::GET, url);
        if let Some(value) = more {
            let value = HeaderValue::from_static(value);
            request.headers_mut().insert(TRACEPARENT, value);
        }
        add(&mut request, &Span::none());
        let value = request.headers().get(TRACEPARENT)?;
        Some(value.to_str().expect("text").to_owned())
    }

    #[tokio::test]
    async fn each_request_of_a_traced_task_is_a_span() {
        let own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let trace = TraceContext::parse(own);
        assert!(trace.is_some());
        let both = traced(trace, async { [sent(None), sent(None)] }).await;
        let both = both.map(|value| TraceContext::parse(&value.expect("a header")));
        let ids = both.map(|context| context.expect("valid").trace_id());
        assert_eq!(ids[0], "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(ids[0], ids[1]);
        assert_ne!(both[0], both[1]);
        assert_ne!(both[0], trace);
        let callers = traced(trace, async { sent(Some("mine")) }).await;
        assert_eq!(callers.as_deref(), Some("mine"));
        assert_eq!(traced(None, async { sent(None) }).await, None);
        assert_eq!(sent(None), None, "the server's own");
    }
}
