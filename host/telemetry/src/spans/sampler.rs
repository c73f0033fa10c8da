//! Which traces are exported.

use opentelemetry::trace::{Link, SpanKind, TraceId, TraceState};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{
    ParentBasedSampler, Sampler, SamplingDecision, SamplingResult, ShouldSample,
};

/// Spans with which a trace begins. What the server does on its own account, such as sending
/// webhooks and the spans themselves, is in no trace.
const FIRST: [&str; 2] = ["request", "crawl"];

/// Exports what a caller has sampled, and this share of the traces that begin here, 0 to 1.
pub(super) fn of(share: f64) -> ParentBasedSampler {
    ParentBasedSampler::new(Beginning {
        share: Sampler::TraceIdRatioBased(share),
    })
}

/// Decides about a span without a parent.
#[derive(Clone, Debug)]
struct Beginning {
    share: Sampler,
}

impl ShouldSample for Beginning {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        trace_id: TraceId,
        name: &str,
        kind: &SpanKind,
        attributes: &[KeyValue],
        links: &[Link],
    ) -> SamplingResult {
        if FIRST.contains(&name) {
            let share = &self.share;
            return share.should_sample(parent, trace_id, name, kind, attributes, links);
        }
        SamplingResult {
            decision: SamplingDecision::Drop,
            attributes: Vec::new(),
            trace_state: TraceState::default(),
        }
    }
}
