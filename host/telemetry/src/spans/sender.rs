//! Sends spans to the collector: OTLP over HTTP, as protobuf.

use std::fmt;
use std::mem;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use opentelemetry::KeyValue;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::queue::count;
use super::{SCOPE, SpanExport, conventions};
use crate::TelemetryError;

/// Spans of one message.
const BATCH_MAX: usize = 512;
/// How long a span waits for others.
const DELAY_MAX: Duration = Duration::from_secs(1);
/// Time of a message, with its retries.
const EXPORT_TIME_MAX: Duration = Duration::from_secs(10);

/// Sends a request to the collector and gives its whole answer, or why there is none.
pub type Post = Box<
    dyn Fn(Request<Bytes>) -> BoxFuture<'static, Result<Response<Bytes>, String>> + Send + Sync,
>;

impl SpanExport {
    /// Spans that go to the collector at this URL, such as `http://127.0.0.1:4318/v1/traces`.
    ///
    /// # Errors
    /// [`TelemetryError::Collector`] if the URL, or a variable `OTEL_EXPORTER_OTLP_…` of the
    /// environment, is not valid.
    pub fn connect(self, endpoint: &str, post: Post) -> Result<SpanSender, TelemetryError> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client(post))
            .with_endpoint(endpoint)
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(EXPORT_TIME_MAX)
            .build();
        let mut exporter =
            exporter.map_err(|error| TelemetryError::Collector(error.to_string()))?;
        exporter.set_resource(&resource());
        Ok(SpanSender {
            spans: self.spans,
            exporter,
            is_failing: false,
        })
    }
}

/// What the spans are of: this server, and what `OTEL_RESOURCE_ATTRIBUTES` says about it.
fn resource() -> Resource {
    Resource::builder_empty()
        .with_attributes([
            KeyValue::new("service.name", SCOPE),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        ])
        .with_detectors(&[
            Box::new(TelemetryResourceDetector),
            Box::new(EnvResourceDetector::new()),
        ])
        .build()
}

/// Sends spans until it is stopped.
#[derive(Debug)]
pub struct SpanSender {
    spans: mpsc::Receiver<SpanData>,
    exporter: SpanExporter,
    /// Whether the collector did not take the last message: the log says so once.
    is_failing: bool,
}

impl SpanSender {
    /// Sends spans as they end, then those that are left when `stop` ends.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                () = &mut stop => break,
                () = fill(&mut self.spans, &mut batch) => {}
            }
            self.send(mem::take(&mut batch)).await;
        }
        while let Ok(span) = self.spans.try_recv() {
            batch.push(span);
            if batch.len() >= BATCH_MAX {
                self.send(mem::take(&mut batch)).await;
            }
        }
        if !batch.is_empty() {
            self.send(batch).await;
        }
    }

    async fn send(&mut self, batch: Vec<SpanData>) {
        let n_spans = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let spans = batch.into_iter().map(conventions::exported).collect();
        match self.exporter.export(spans).await {
            Ok(()) => {
                count("exported", n_spans);
                if mem::take(&mut self.is_failing) {
                    tracing::info!("the collector of spans takes them again");
                }
            }
            Err(error) => {
                count("failed", n_spans);
                if !mem::replace(&mut self.is_failing, true) {
                    tracing::warn!(%error, "the collector does not take the spans of requests");
                }
            }
        }
    }
}

/// Waits for a span, then shortly for more. What it has received stays in `batch` if it is dropped.
async fn fill(spans: &mut mpsc::Receiver<SpanData>, batch: &mut Vec<SpanData>) {
    if spans.recv_many(batch, BATCH_MAX).await == 0 {
        // The queue belongs to the log, which lives as long as the process.
        return std::future::pending().await;
    }
    let more = async {
        while batch.len() < BATCH_MAX {
            let room = BATCH_MAX - batch.len();
            if spans.recv_many(batch, room).await == 0 {
                break;
            }
        }
    };
    let _is_full = timeout(DELAY_MAX, more).await;
}

/// The way to the collector.
struct Client(Post);

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        (self.0)(request).await.map_err(HttpError::from)
    }
}
