//! Exports the spans of requests to the collector that the configuration names.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use trawl_telemetry::{Post, SpanExport};

use super::App;
use crate::config::TraceConfig;

/// Longest answer of a collector: a few numbers, or a sentence about what it did not take.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Time of an answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// Time for the spans that are left when the server has stopped.
const LAST_TIME_MAX: Duration = Duration::from_secs(5);

/// Sets up the log, and the spans of requests if there is a collector. Without one there are none.
///
/// # Errors
/// `[trace]` is not valid, or the log cannot be set up.
pub(crate) fn start_logs(
    filter: Option<&str>,
    config: &TraceConfig,
) -> anyhow::Result<Option<SpanExport>> {
    let share = f64::from(config.sampled_percent) / 100.0;
    anyhow::ensure!(
        share <= 1.0,
        "trace.sampled_percent is {}; write 0 to 100",
        config.sampled_percent
    );
    let Some(endpoint) = &config.endpoint else {
        trawl_telemetry::start_logs(filter)?;
        return Ok(None);
    };
    let url = Url::parse(endpoint).context("trace.endpoint is not a URL")?;
    anyhow::ensure!(
        matches!(url.scheme(), "http" | "https") && url.username().is_empty(),
        "trace.endpoint is no http or https URL without a user name; \
         OTEL_EXPORTER_OTLP_HEADERS is for credentials"
    );
    Ok(Some(trawl_telemetry::start_logs_and_spans(filter, share)?))
}

/// Spans that are being exported.
pub(crate) struct Exporting {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Exporting {
    /// Sends what is left, within a bounded time.
    pub(crate) async fn finish(self) {
        self.stop.cancel();
        if timeout(LAST_TIME_MAX, self.task).await.is_err() {
            tracing::warn!("the collector did not take the last spans in time");
        }
    }
}

impl App {
    /// Exports spans from now on. Their requests go out as those to other services of the operator
    /// do.
    ///
    /// # Errors
    /// The URL of the collector, or a variable of the environment about it, is not valid.
    pub(crate) fn export_spans(&self, spans: SpanExport) -> anyhow::Result<Exporting> {
        let egress = Arc::clone(&self.egress);
        let post: Post = Box::new(move |request| {
            let egress = Arc::clone(&egress);
            let answer = async move {
                let answer = egress.post_to_service(request, ANSWER_BYTES_MAX);
                match timeout(ANSWER_TIME_MAX, answer).await {
                    Ok(answer) => answer.map_err(|error| error.to_string()),
                    Err(_) => Err("it does not answer".to_owned()),
                }
            };
            answer.boxed()
        });
        let endpoint = self.config.trace.endpoint.as_deref().unwrap_or_default();
        let sender = spans.connect(endpoint, post)?;
        let stop = CancellationToken::new();
        let task = tokio::spawn(sender.run(stop.clone().cancelled_owned()));
        Ok(Exporting { stop, task })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_settings_are_refused_before_the_log_begins() {
        let with = |endpoint: Option<&str>, sampled_percent| TraceConfig {
            endpoint: endpoint.map(str::to_owned),
            sampled_percent,
            ..TraceConfig::default()
        };
        for (config, word) in [
            (with(None, 101), "trace.sampled_percent is 101"),
            (with(Some("collector:4318"), 100), "trace.endpoint"),
            (with(Some("grpc://a.example/"), 100), "http or https"),
            (
                with(Some("http://u:canary@a.example/"), 100),
                "OTEL_EXPORTER_OTLP_HEADERS",
            ),
            (with(Some("/v1/traces"), 100), "not a URL"),
        ] {
            let refused = start_logs(None, &config).expect_err("refused");
            let refused = format!("{refused:#}");
            assert!(refused.contains(word), "{refused}");
            assert!(!refused.contains("canary"), "{refused}");
        }
    }
}
