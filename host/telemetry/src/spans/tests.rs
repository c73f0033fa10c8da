use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span as ExportedSpan;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message;
use tracing::Span;
use tracing::field::Empty;
use tracing_subscriber::layer::SubscriberExt;

use trawl_model::TraceContext;

use super::{Post, begin_trace, exported_context, layer, note_answer};

const URL: &str = "http://collector.test:4318/v1/traces";
const SENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The requests that a collector gets.
type Requests = Arc<Mutex<Vec<Request<Bytes>>>>;

/// A collector that answers with this status.
fn collector(status: u16) -> (Post, Requests) {
    let requests = Requests::default();
    let kept = Arc::clone(&requests);
    let post = move |request: Request<Bytes>| {
        kept.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(request);
        let answer = Response::builder().status(status).body(Bytes::new());
        ready(answer.map_err(|error| error.to_string())).boxed()
    };
    (Box::new(post), requests)
}

/// The spans that a collector gets from work of which this share of the traces is exported.
async fn exported(share: f64, work: impl FnOnce()) -> Vec<ExportedSpan> {
    let (layer, export) = layer(share);
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::with_default(subscriber, work);
    let (post, requests) = collector(200);
    let sender = export.connect(URL, post).expect("a URL");
    sender.run(ready(())).await;
    let mut spans = Vec::new();
    for request in requests.lock().expect("requests").iter() {
        assert_eq!(request.uri(), URL);
        assert_eq!(request.headers()["content-type"], "application/x-protobuf");
        let message = ExportTraceServiceRequest::decode(request.body().clone());
        for of_resource in message.expect("protobuf").resource_spans {
            let resource = of_resource.resource.expect("a resource");
            let mut about = resource.attributes.iter();
            assert!(about.any(|one| one.key == "service.version"));
            spans.extend(of_resource.scope_spans.into_iter().flat_map(|of| of.spans));
        }
    }
    spans
}

fn named<'s>(spans: &'s [ExportedSpan], name: &str) -> &'s ExportedSpan {
    let found = spans.iter().find(|span| span.name == name);
    found.unwrap_or_else(|| panic!("{name} in {spans:?}"))
}

/// An attribute as text.
fn attribute(span: &ExportedSpan, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|one| one.key == name)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{name} is {other:?}"),
    }
}

fn request_span() -> Span {
    tracing::info_span!(
        "request",
        request_id = "r1",
        method = "POST",
        path = "/v1/scrape",
        trace_id = Empty
    )
}

#[tokio::test]
async fn a_request_is_a_trace_with_the_names_of_the_conventions() {
    let mut sent = None;
    let spans = exported(1.0, || {
        let request = request_span();
        let own = begin_trace(&request, TraceContext::parse(SENT)).expect("exported");
        request.record("trace_id", own.trace_id());
        let page = request.in_scope(|| tracing::debug_span!("page", host = "a.example"));
        page.in_scope(|| {
            tracing::info!(secret = "canary", "a line of the log");
            let http = tracing::debug_span!(
                "http",
                method = "GET",
                url = "https://a.example/",
                host = "a.example",
                port = 443_i64,
                status = Empty,
            );
            sent = exported_context(&http);
            http.record("status", 404_i64);
            tracing::trace_span!("detail").in_scope(|| ());
        });
        note_answer(&request, "/scrape", 200);
    })
    .await;
    assert_eq!(spans.len(), 3, "{spans:?}");
    let (server, page, client) = (
        named(&spans, "POST /scrape"),
        named(&spans, "page"),
        named(&spans, "GET"),
    );
    let caller = TraceContext::parse(SENT).expect("a context");
    let (trace_id, caller_id, _) = caller.parts();
    for span in [server, page, client] {
        assert_eq!(span.trace_id, trace_id.to_be_bytes());
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
        assert!(span.events.is_empty(), "lines of the log stay there");
    }
    assert_eq!(server.parent_span_id, caller_id.to_be_bytes());
    assert_eq!(page.parent_span_id, server.span_id);
    assert_eq!(client.parent_span_id, page.span_id);
    let (_, sent_id, flags) = sent.expect("a context").parts();
    assert_eq!(client.span_id, sent_id.to_be_bytes());
    assert_eq!(flags & 1, 1);

    assert_eq!(server.kind, SpanKind::Server as i32);
    for (name, expected) in [
        ("http.request.method", "POST"),
        ("http.route", "/scrape"),
        ("http.response.status_code", "200"),
        ("url.path", "/v1/scrape"),
        ("url.scheme", "http"),
        ("trawl.request.id", "r1"),
    ] {
        assert_eq!(attribute(server, name).as_deref(), Some(expected), "{name}");
    }
    assert_eq!(attribute(server, "trace_id"), None);
    let status = |span: &ExportedSpan| span.status.as_ref().map(|status| status.code);
    assert_ne!(status(server), Some(StatusCode::Error as i32));
    assert_eq!(page.kind, SpanKind::Internal as i32);
    assert_eq!(
        attribute(page, "server.address").as_deref(),
        Some("a.example")
    );
    assert_eq!(client.kind, SpanKind::Client as i32);
    for (name, expected) in [
        ("http.request.method", "GET"),
        ("url.full", "https://a.example/"),
        ("server.address", "a.example"),
        ("server.port", "443"),
        ("http.response.status_code", "404"),
        ("error.type", "404"),
    ] {
        assert_eq!(attribute(client, name).as_deref(), Some(expected), "{name}");
    }
    assert_eq!(status(client), Some(StatusCode::Error as i32));
}

#[tokio::test]
async fn methods_that_are_made_up_name_no_span() {
    let spans = exported(1.0, || {
        let span = tracing::info_span!("request", method = "CANARY", path = "/");
        note_answer(&span, "unknown", 503);
    })
    .await;
    let span = named(&spans, "HTTP unknown");
    let method = attribute(span, "http.request.method");
    assert_eq!(method.as_deref(), Some("_OTHER"));
    assert_eq!(attribute(span, "error.type").as_deref(), Some("503"));
}

#[tokio::test]
async fn traces_begin_with_a_request_and_callers_decide_about_theirs() {
    let alone = exported(1.0, || {
        tracing::debug_span!("http", method = "POST").in_scope(|| ());
    });
    assert!(alone.await.is_empty(), "no request caused it");
    let unsampled = SENT.replace("-01", "-00");
    let not_sampled = exported(1.0, || {
        let span = request_span();
        let own = begin_trace(&span, TraceContext::parse(&unsampled)).expect("a context");
        assert_eq!(own.parts().2 & 1, 0);
        span.in_scope(|| tracing::debug_span!("page").in_scope(|| ()));
    });
    assert!(not_sampled.await.is_empty());
    let none = exported(0.0, || {
        assert!(begin_trace(&request_span(), None).is_some());
    });
    assert!(none.await.is_empty());
    let sampled = exported(0.0, || {
        begin_trace(&request_span(), TraceContext::parse(SENT));
    });
    assert_eq!(sampled.await.len(), 1);
}

#[tokio::test]
async fn more_spans_than_wait_are_dropped_and_a_collector_may_fail() {
    const N_SPANS: usize = 5_000;
    let all = exported(1.0, || {
        for _ in 0..N_SPANS {
            request_span().in_scope(|| ());
        }
    });
    assert_eq!(all.await.len(), 4_096);

    let (layer, export) = layer(1.0);
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::with_default(subscriber, || request_span().in_scope(|| ()));
    let (post, requests) = collector(400);
    let sender = export.connect(URL, post).expect("a URL");
    sender.run(ready(())).await;
    assert_eq!(requests.lock().expect("requests").len(), 1, "not repeated");
}

#[test]
fn a_collector_has_a_url() {
    let (_, export) = layer(1.0);
    let (post, _) = collector(200);
    let refused = export.connect("no URL", post).expect_err("not a URL");
    assert!(refused.to_string().contains("no URL"), "{refused}");
}
