//! The outbox: events that wait in the store for delivery.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use trawl_model::clock::Clock;
use trawl_model::secret::Secret;
use trawl_store::{AccountId, OutboxRow, OutboxStore, StoreError};

use super::event::Event;

/// Most events that wait, over all accounts, so that an unreachable receiver cannot fill the disk.
pub const WAITING_MAX: u64 = 1_000_000;
/// How long delivery of an event is retried; then it is dropped.
pub const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Stores and delivers events. One for the whole server.
pub struct Webhooks {
    pub(super) store: Arc<dyn OutboxStore>,
    pub(super) clock: Clock,
    /// Notified when events were stored.
    pub(super) wake: Notify,
    /// Number of stored events, approximately.
    pub(super) waiting: AtomicU64,
}

impl Webhooks {
    /// Webhooks on this store. Delivery starts with [`Self::run`].
    pub fn new(store: Arc<dyn OutboxStore>, clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            store,
            clock,
            wake: Notify::new(),
            waiting: AtomicU64::new(0),
        })
    }

    /// Stores events for delivery; they are durable when this returns. An event whose id is stored
    /// already is ignored. Beyond [`WAITING_MAX`] events are dropped and logged.
    ///
    /// # Errors
    /// [`StoreError`] when the store fails; then none is stored.
    pub async fn push(&self, events: Vec<Event>) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let count = events.len() as u64;
        if self.waiting.load(Ordering::Relaxed) + count > WAITING_MAX {
            log_dropped(count, "too many events are waiting");
            return Ok(());
        }
        let now = self.clock.now();
        let rows: Vec<OutboxRow> = events
            .into_iter()
            .map(|event| event.into_row(now))
            .collect();
        let n_stored = self.store.outbox_push(&rows).await?;
        self.waiting.fetch_add(n_stored, Ordering::Relaxed);
        self.wake.notify_one();
        Ok(())
    }

    /// The secret that signs this account's events; created at first use.
    ///
    /// # Errors
    /// [`StoreError`] when the store fails.
    pub async fn secret(&self, account: &AccountId) -> Result<Secret, StoreError> {
        self.store.webhook_secret(account).await
    }
}

/// Counts and logs dropped events.
pub(super) fn log_dropped(count: u64, reason: &'static str) {
    metrics::counter!("trawl_webhooks_total", "outcome" => "dropped").increment(count);
    tracing::warn!(count, reason, "webhook events were dropped");
}
