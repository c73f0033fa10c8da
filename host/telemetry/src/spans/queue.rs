//! Spans that have ended and wait to be sent.

use std::time::Duration;

use opentelemetry::{Context, Value};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tokio::sync::mpsc;

/// Spans that wait at most; more are dropped, since a collector that is down must cost no page
/// anything. With texts of their longest, 20 MiB.
const QUEUE_MAX: usize = 4_096;
/// Most bytes of a text in a span; a URL can be as long as a request's head.
const TEXT_BYTES_MAX: usize = 512;

/// Takes each span when it ends.
#[derive(Debug)]
pub(super) struct Queue {
    spans: mpsc::Sender<SpanData>,
}

impl Queue {
    /// A queue, and its other end.
    pub(super) fn new() -> (Self, mpsc::Receiver<SpanData>) {
        let (spans, ended) = mpsc::channel(QUEUE_MAX);
        (Self { spans }, ended)
    }
}

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, mut span: SpanData) {
        for attribute in &mut span.attributes {
            cut(&mut attribute.value);
        }
        if self.spans.try_send(span).is_err() {
            count("dropped", 1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Cuts a text that is too long.
fn cut(value: &mut Value) {
    if let Value::String(text) = value
        && text.as_str().len() > TEXT_BYTES_MAX
    {
        let text = text.as_str();
        let kept = text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned();
        *value = Value::from(kept);
    }
}

/// Counts spans that were exported, that the collector did not take, or that had no room.
pub(super) fn count(outcome: &'static str, n_spans: u64) {
    metrics::counter!("trawl_spans_total", "outcome" => outcome).increment(n_spans);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let mut value = Value::from("ä".repeat(TEXT_BYTES_MAX));
        cut(&mut value);
        assert_eq!(value, Value::from("ä".repeat(TEXT_BYTES_MAX / 2)));
        for kept in [Value::from("short"), Value::I64(7)] {
            let mut value = kept.clone();
            cut(&mut value);
            assert_eq!(value, kept);
        }
    }
}
