//! Names of spans and of what they hold, as collectors expect them. Source: OpenTelemetry semantic
//! conventions for HTTP spans, 1.29.

use opentelemetry::trace::{SpanKind, Status};
use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::trace::SpanData;

/// The pattern of the path of a request.
pub(super) const ROUTE: &str = "http.route";
/// The status of a response.
pub(super) const STATUS: &str = "http.response.status_code";
const METHOD: &str = "http.request.method";
const ERROR: &str = "error.type";

/// Fields of the log's spans, by the names that they have at the collector; `None` for those that
/// the span itself has.
const FIELDS: &[(&str, Option<&str>)] = &[
    ("method", Some(METHOD)),
    ("status", Some(STATUS)),
    ("path", Some("url.path")),
    ("url", Some("url.full")),
    ("host", Some("server.address")),
    ("port", Some("server.port")),
    ("error", Some(ERROR)),
    ("request_id", Some("trawl.request.id")),
    ("account", Some("trawl.account")),
    ("crawl", Some("trawl.crawl.id")),
    ("kind", Some("trawl.plugin.kind")),
    ("name", Some("trawl.plugin.name")),
    ("trace_id", None),
    ("span_id", None),
    ("parent_span_id", None),
    ("sent_span_id", None),
];

/// Methods that the conventions know; others are `_OTHER`, so that callers cannot make names up.
const METHODS: [&str; 9] = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
];

/// The span as it is exported.
pub(super) fn exported(mut span: SpanData) -> SpanData {
    let attributes = span.attributes.into_iter().filter_map(renamed);
    span.attributes = attributes.collect();
    match &*span.name {
        "request" => request(span),
        "http" => sent(span),
        _ => {
            span.status = status_of(has(&span, ERROR), span.status);
            span
        }
    }
}

/// An attribute under the name of the conventions.
fn renamed(attribute: KeyValue) -> Option<KeyValue> {
    let KeyValue { key, value, .. } = attribute;
    let mut fields = FIELDS.iter();
    match fields.find(|(field, _)| *field == key.as_str()) {
        Some((_, name)) => name.map(|name| KeyValue::new(name, value)),
        None => Some(KeyValue::new(key, value)),
    }
}

/// A request to this server. It fails only with a status of 500 or more: others are its caller's.
fn request(mut span: SpanData) -> SpanData {
    span.span_kind = SpanKind::Server;
    let method = method(&mut span);
    let route = text(&span, ROUTE).map(str::to_owned);
    span.name = match route {
        Some(route) => format!("{method} {route}").into(),
        None => method.into(),
    };
    span.attributes.push(KeyValue::new("url.scheme", "http"));
    failed_from(500, span)
}

/// A request of this server. It fails with a status of 400 or more.
fn sent(mut span: SpanData) -> SpanData {
    span.span_kind = SpanKind::Client;
    span.name = method(&mut span).into();
    failed_from(400, span)
}

/// The span with an error if its status is at least this.
fn failed_from(least: i64, mut span: SpanData) -> SpanData {
    let status = span.attributes.iter().find_map(|attribute| {
        let is_status = attribute.key.as_str() == STATUS;
        match attribute.value {
            Value::I64(status) if is_status => Some(status),
            _ => None,
        }
    });
    let failed = status.filter(|status| *status >= least);
    if let Some(status) = failed
        && !has(&span, ERROR)
    {
        let error = KeyValue::new(ERROR, status.to_string());
        span.attributes.push(error);
    }
    span.status = status_of(has(&span, ERROR), span.status);
    span
}

/// The method of a span, which replaces one that is not known. What names a span that has none.
fn method(span: &mut SpanData) -> String {
    let sent = text(span, METHOD).unwrap_or_default().to_owned();
    if METHODS.contains(&sent.as_str()) {
        return sent;
    }
    for attribute in &mut span.attributes {
        if attribute.key.as_str() == METHOD {
            attribute.value = Value::from("_OTHER");
        }
    }
    "HTTP".to_owned()
}

fn status_of(has_failed: bool, status: Status) -> Status {
    match has_failed {
        true => Status::error(""),
        false => status,
    }
}

fn has(span: &SpanData, name: &str) -> bool {
    let mut attributes = span.attributes.iter();
    attributes.any(|attribute| attribute.key.as_str() == name)
}

/// An attribute that is a text.
fn text<'s>(span: &'s SpanData, name: &str) -> Option<&'s str> {
    let mut attributes = span.attributes.iter();
    let found = attributes.find(|attribute| attribute.key.as_str() == name)?;
    match &found.value {
        Value::String(text) => Some(text.as_str()),
        _ => None,
    }
}
