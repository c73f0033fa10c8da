//! The trace context of outgoing requests.

use http::HeaderValue;
use reqwest::Request;

use trawl_model::trace::{TRACEPARENT, TraceContext};

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

/// Adds a `traceparent` to a request, if its task has a trace and it has none itself. Each request
/// is a span of its own, whose id the span of the log gets, too.
pub(super) fn add(request: &mut Request) {
    let trace = TRACE.try_with(|trace| *trace).ok().flatten();
    let Some(trace) = trace.filter(|_| !request.headers().contains_key(TRACEPARENT)) else {
        return;
    };
    let Ok(random) = getrandom::u64() else {
        return;
    };
    let span = trace.child(random);
    if let Ok(value) = HeaderValue::try_from(span.to_string()) {
        request.headers_mut().insert(TRACEPARENT, value);
        tracing::Span::current().record("sent_span_id", span.span_id());
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
        add(&mut request);
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
