//! Spans for an OpenTelemetry collector: what became of a request, as a trace. Decision D610.

mod conventions;
mod queue;
mod sampler;
mod sender;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry::Context;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider,
};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData};
use tokio::sync::mpsc;
use tracing::{Level, Metadata, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::{Layer, Registry};

use trawl_model::TraceContext;

use queue::Queue;

pub use sender::{Post, SpanSender};

/// Name of the library in the exported spans.
const SCOPE: &str = "trawl";

/// Whether spans are exported. Until then, nothing looks for them.
static IS_EXPORTING: AtomicBool = AtomicBool::new(false);

/// Finished spans on their way to the collector, see [`SpanExport::connect`].
#[derive(Debug)]
pub struct SpanExport {
    spans: mpsc::Receiver<SpanData>,
}

/// The part of the subscriber that makes spans of ours exportable, and where they come out once
/// they have ended. Of the traces that begin here, this share is exported, 0 to 1.
pub(crate) fn layer(share: f64) -> (impl Layer<Registry> + Send + Sync, SpanExport) {
    let (queue, spans) = Queue::new();
    let provider = SdkTracerProvider::builder()
        .with_sampler(sampler::of(share))
        .with_span_processor(queue)
        .build();
    let layer = tracing_opentelemetry::layer::<Registry>()
        .with_tracer(provider.tracer(SCOPE))
        .with_location(false)
        .with_threads(false)
        .with_level(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_context_activation(false)
        .with_filter(filter_fn(is_exported).with_max_level_hint(LevelFilter::DEBUG));
    IS_EXPORTING.store(true, Ordering::Relaxed);
    (layer, SpanExport { spans })
}

/// Whether a span is exported. Lines of the log are not: they may have secrets, which are removed
/// where the log is written.
fn is_exported(metadata: &Metadata<'_>) -> bool {
    metadata.is_span()
        && *metadata.level() <= Level::DEBUG
        && metadata.target().starts_with("trawl")
}

/// Makes a span part of its caller's trace, or the first of a trace of its own, before it has any
/// spans below it. Gives the context of the span; `None` if spans are not exported.
pub fn begin_trace(span: &Span, parent: Option<TraceContext>) -> Option<TraceContext> {
    if !IS_EXPORTING.load(Ordering::Relaxed) {
        return None;
    }
    if let Some(parent) = parent {
        let (trace_id, span_id, flags) = parent.parts();
        let remote = SpanContext::new(
            TraceId::from_bytes(trace_id.to_be_bytes()),
            SpanId::from_bytes(span_id.to_be_bytes()),
            TraceFlags::new(flags),
            true,
            TraceState::default(),
        );
        let parent = Context::new().with_remote_span_context(remote);
        if let Err(error) = span.set_parent(parent) {
            tracing::debug!(%error, "a span has no parent");
        }
    }
    exported_context(span)
}

/// The context that an exported span has at the collector; `None` if it is not exported.
pub fn exported_context(span: &Span) -> Option<TraceContext> {
    if !IS_EXPORTING.load(Ordering::Relaxed) {
        return None;
    }
    let context = span.context();
    let exported = context.span();
    let own = exported.span_context();
    TraceContext::new(
        u128::from_be_bytes(own.trace_id().to_bytes()),
        u64::from_be_bytes(own.span_id().to_bytes()),
        own.trace_flags().to_u8(),
    )
}

/// Adds the answer to the exported span of a request: the pattern of its path, and the status. It
/// is not in the log's span, whose lines have both where they matter.
pub fn note_answer(span: &Span, route: &str, status: u16) {
    if IS_EXPORTING.load(Ordering::Relaxed) {
        span.set_attribute(conventions::ROUTE, route.to_owned());
        span.set_attribute(conventions::STATUS, i64::from(status));
    }
}
