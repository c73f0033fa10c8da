//! A fake OpenTelemetry collector on loopback: OTLP over HTTP with protobuf, the way of the
//! specification (OTLP 1.5) only, and spans as the semantic conventions for HTTP have them.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use prost::Message;
use tokio::net::TcpStream;

use crate::http_server::{self, Listening, Received};

/// Where spans are posted.
const PATH: &str = "/v1/traces";
/// Upper bound on the wait for spans.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// The collector.
pub struct Collector {
    /// The address it listens on.
    pub address: SocketAddr,
    state: Arc<State>,
    _listening: Listening,
}

#[derive(Default)]
struct State {
    spans: Mutex<Vec<Span>>,
    /// What was wrong with a message.
    faults: Mutex<Vec<String>>,
    /// Headers of the messages, names in lower case.
    headers: Mutex<Vec<(String, String)>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Collector {
    /// Starts it on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let state = Arc::<State>::default();
        let listening = Listening::sharing(&state, serve).await;
        Self {
            address: listening.address,
            state,
            _listening: listening,
        }
    }

    /// The URL to which spans are exported.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// The spans so far.
    pub fn spans(&self) -> Vec<Span> {
        lock(&self.state.spans).clone()
    }

    /// Waits until there is a span with this name, and gives all spans.
    ///
    /// # Panics
    /// When there is none in time.
    pub async fn has(&self, name: &str) -> Vec<Span> {
        let asked = tokio::time::Instant::now();
        loop {
            let spans = self.spans();
            if spans.iter().any(|span| span.name == name) {
                return spans;
            }
            assert!(asked.elapsed() < WAIT_MAX, "no `{name}` in {spans:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What was wrong with the messages so far.
    pub fn faults(&self) -> Vec<String> {
        lock(&self.state.faults).clone()
    }

    /// The values of a header of the messages so far.
    pub fn header(&self, name: &str) -> Vec<String> {
        let headers = lock(&self.state.headers);
        let found = headers.iter().filter(|(sent, _)| sent == name);
        found.map(|(_, value)| value.clone()).collect()
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) -> Option<()> {
    let kind = (
        "content-type".to_owned(),
        "application/x-protobuf".to_owned(),
    );
    loop {
        let received = http_server::read(&mut stream).await?;
        lock(&state.headers).extend(received.headers());
        let status = match read(&received) {
            Ok(spans) => {
                let faults = spans.iter().filter_map(fault);
                lock(&state.faults).extend(faults);
                lock(&state.spans).extend(spans);
                200
            }
            Err(reason) => {
                lock(&state.faults).push(reason);
                400
            }
        };
        let answer = ExportTraceServiceResponse::default().encode_to_vec();
        http_server::write(&mut stream, status, std::slice::from_ref(&kind), &answer).await?;
    }
}

/// The spans of a message.
fn read(received: &Received) -> Result<Vec<Span>, String> {
    if received.first_line() != Some(("POST", PATH)) {
        return Err(format!("not a POST to {PATH}: {}", received.head));
    }
    let headers = received.headers();
    let kind = headers.iter().find(|(name, _)| name == "content-type");
    if kind.map(|(_, value)| value.as_str()) != Some("application/x-protobuf") {
        return Err(format!("content-type is {kind:?}"));
    }
    let message = ExportTraceServiceRequest::decode(received.body.as_slice());
    let message = message.map_err(|error| error.to_string())?;
    let mut spans = Vec::new();
    for of_resource in message.resource_spans {
        named(&of_resource)?;
        spans.extend(of_resource.scope_spans.into_iter().flat_map(|of| of.spans));
    }
    if spans.is_empty() {
        return Err("a message without spans".to_owned());
    }
    Ok(spans)
}

/// Refuses spans that do not say what service they are of.
fn named(spans: &ResourceSpans) -> Result<(), String> {
    let attributes = spans.resource.as_ref().map(|resource| &resource.attributes);
    let name = attributes.and_then(|attributes| text(attributes, "service.name"));
    match name.as_deref() {
        Some("trawl") => Ok(()),
        other => Err(format!("service.name is {other:?}")),
    }
}

/// What is wrong with a span.
fn fault(span: &Span) -> Option<String> {
    let is_id = |id: &[u8], length| id.len() == length && id.iter().any(|byte| *byte != 0);
    let keys: BTreeSet<&str> = span.attributes.iter().map(|one| one.key.as_str()).collect();
    let has_failed = span
        .status
        .as_ref()
        .is_some_and(|status| status.code == StatusCode::Error as i32);
    let reason = if !is_id(&span.trace_id, 16) || !is_id(&span.span_id, 8) {
        "an id is not one"
    } else if !span.parent_span_id.is_empty() && !is_id(&span.parent_span_id, 8) {
        "the parent's id is not one"
    } else if span.name.is_empty() || span.kind == SpanKind::Unspecified as i32 {
        "the name or the kind is missing"
    } else if span.start_time_unix_nano == 0 || span.end_time_unix_nano < span.start_time_unix_nano
    {
        "it ends before it starts"
    } else if keys.len() < span.attributes.len() {
        "an attribute is there twice"
    } else if has_failed && !keys.contains("error.type") {
        "it failed without error.type"
    } else {
        return missing(span, &keys);
    };
    Some(format!("{reason}: {span:?}"))
}

/// What the conventions require of a span of this kind and is missing.
fn missing(span: &Span, keys: &BTreeSet<&str>) -> Option<String> {
    let required: &[&str] = if span.kind == SpanKind::Server as i32 {
        &[
            "http.request.method",
            "url.path",
            "url.scheme",
            "http.response.status_code",
        ]
    } else if span.kind == SpanKind::Client as i32 {
        &[
            "http.request.method",
            "url.full",
            "server.address",
            "server.port",
        ]
    } else {
        &[]
    };
    let missing = required.iter().find(|name| !keys.contains(*name));
    if let Some(name) = missing {
        return Some(format!("{name} is missing: {span:?}"));
    }
    let url = text(&span.attributes, "url.full")?;
    let is_bare = !url.contains(['?', '#', '@']);
    (!is_bare).then(|| format!("{url} is not without secrets"))
}

/// An attribute as text; numbers in digits.
pub fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|one| one.key == name)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}
