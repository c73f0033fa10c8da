//! The end of a server: what is in flight is finished, the rest is put down.

use std::time::{Duration, Instant};

use super::App;

/// How long requests in flight may go on after the server was told to stop, and how long what is behind them may take afterwards.
/// Service managers kill after 90 seconds or so.
const DRAIN_MAX: Duration = Duration::from_secs(30);
/// After which part of it crawls that stream to a caller take no more pages, so that their answers end whole.
const STREAMS_MAX: Duration = Duration::from_secs(20);
/// What connections have at least to close, with the last bytes of their answers.
const CLOSE_MIN: Duration = Duration::from_secs(1);

impl App {
    /// Ends what runs and closes the ledger, the page cache and the store. Crawls in the background go on at the next start.
    pub async fn close(&self) {
        self.stop.cancel();
        self.last_call.cancel();
        let until = Instant::now() + DRAIN_MAX;
        self.crawls.finish(DRAIN_MAX).await;
        self.billing.close().await;
        self.settled.cancel();
        self.tasks.close();
        let _late = tokio::time::timeout_at(until.into(), self.tasks.wait()).await;
        if let Some(renderer) = &self.renderer {
            renderer.close().await;
        }
        if let Some(pages) = &self.pages {
            let _late = tokio::time::timeout_at(until.into(), pages.flush()).await;
        }
        self.store.close().await;
    }

    /// Returns when the server was told to stop and every request is answered, or the time for it is over: how long connections
    /// may still take to send what they have.
    pub(super) async fn drain(&self) -> Duration {
        self.stop.cancelled().await;
        let stopped = Instant::now();
        self.in_flight.close();
        let answered = tokio::time::timeout(STREAMS_MAX, self.in_flight.wait()).await;
        self.last_call.cancel();
        let left = DRAIN_MAX - STREAMS_MAX;
        if answered.is_err()
            && tokio::time::timeout(left, self.in_flight.wait())
                .await
                .is_err()
        {
            tracing::warn!(
                n_requests = self.in_flight.len(),
                "requests were still in flight when the time to drain was over"
            );
        }
        DRAIN_MAX.saturating_sub(stopped.elapsed()).max(CLOSE_MIN)
    }
}
