//! Graceful shutdown: requests in flight finish, background work is suspended.

use std::time::{Duration, Instant};

use super::App;

/// How long requests in flight may take after the stop signal, and how long closing everything
/// behind them may take afterwards. Service managers kill a process after about 90 seconds.
const DRAIN_MAX: Duration = Duration::from_secs(30);
/// When streaming crawls stop fetching pages, so that their responses end in time.
const STREAMS_MAX: Duration = Duration::from_secs(20);
/// How long connections have at least to send the rest of their responses and close, also when
/// requests took all the time there is.
const SEND_MIN: Duration = Duration::from_secs(1);
/// How long what is in flight when everything closes may still take. After a drain that is only
/// what was aborted, and has nothing left to do but give back what it reserved.
const ABORTED_MAX: Duration = Duration::from_secs(1);

impl App {
    /// Stops all work and closes the ledger, the page cache and the store. Background crawls resume
    /// at the next start.
    pub async fn close(&self) {
        self.stop.cancel();
        self.drain_deadline.cancel();
        let until = Instant::now() + DRAIN_MAX;
        self.crawls.finish(DRAIN_MAX).await;
        // Pages whose callers are gone give back what they have reserved, each in its own task.
        self.in_flight.close();
        let _late = tokio::time::timeout(ABORTED_MAX, self.in_flight.wait()).await;
        self.billing.close().await;
        self.settled.cancel();
        self.tasks.close();
        let _late = tokio::time::timeout_at(until.into(), self.tasks.wait()).await;
        if let Some(renderer) = &self.renderer {
            renderer.close().await;
        }
        if let Some(page_cache) = &self.page_cache {
            let _late = tokio::time::timeout_at(until.into(), page_cache.flush()).await;
        }
        self.store.close().await;
    }

    /// Waits for the stop signal, and then until all requests are served or the time is up. Returns
    /// how long connections may still take to send their responses.
    pub(super) async fn drain(&self) -> Duration {
        self.stop.cancelled().await;
        let stopped = Instant::now();
        self.in_flight.close();
        let served = tokio::time::timeout(STREAMS_MAX, self.in_flight.wait()).await;
        self.drain_deadline.cancel();
        let left = DRAIN_MAX - STREAMS_MAX;
        if served.is_err()
            && tokio::time::timeout(left, self.in_flight.wait())
                .await
                .is_err()
        {
            tracing::warn!(
                n_left = self.in_flight.len(),
                "timed out waiting for requests in flight and their pages"
            );
        }
        DRAIN_MAX.saturating_sub(stopped.elapsed()).max(SEND_MIN)
    }
}
