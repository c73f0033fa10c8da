//! Events of crawls and of balances, told to a server of the caller: kept in the store until they
//! are delivered, signed, at least once. Decision D106.
//!
//! An event is one POST with a JSON body. Three headers go along: `X-Trawl-Event` (its kind), `X-Trawl-Event-Id` (the same
//! whenever it is sent again) and `X-Trawl-Signature: t=<unix seconds>,v1=<hex>`, the HMAC-SHA256 of `<t>.<body>` under the
//! account's webhook secret. Any 2xx is a receipt; everything else is tried again, later and later.

mod deliver;
mod event;
mod sign;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

pub use deliver::ANSWER_TIME_MAX;
pub use event::{CONTENT_BYTES_MAX, Event, EventKind, FoundPage};
pub use sign::signature;

use trawl_model::clock::Clock;
use trawl_model::secret::Secret;
use trawl_store::{AccountId, OutboxRow, Store, StoreError};

/// Events that wait at most, over all accounts. A receiver that is away for a day must not fill the disk.
pub const WAITING_MAX: u64 = 1_000_000;
/// How long an event is tried to be delivered; then it is dropped.
pub const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The events that wait, and who delivers them. One for the whole server.
pub struct Webhooks {
    store: Arc<dyn Store>,
    clock: Clock,
    wake: Notify,
    /// Events in the store, about.
    waiting: AtomicU64,
}

impl Webhooks {
    /// Events kept in this store. Nobody delivers them before [`Self::run`].
    pub fn new(store: Arc<dyn Store>, clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            store,
            clock,
            wake: Notify::new(),
            waiting: AtomicU64::new(0),
        })
    }

    /// Keeps events for delivery; they are durable when this has returned. An event whose id is waiting already changes
    /// nothing. Over [`WAITING_MAX`] they are dropped, and the log says so.
    ///
    /// # Errors
    /// [`StoreError`] when the store fails; then none was kept.
    pub async fn push(&self, events: Vec<Event>) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let count = events.len() as u64;
        if self.waiting.load(Ordering::Relaxed) + count > WAITING_MAX {
            dropped(count, "too many events are waiting");
            return Ok(());
        }
        let now = self.clock.now();
        let rows: Vec<OutboxRow> = events
            .into_iter()
            .map(|event| event.into_row(now))
            .collect();
        let kept = self.store.outbox_push(&rows).await?;
        self.waiting.fetch_add(kept, Ordering::Relaxed);
        self.wake.notify_one();
        Ok(())
    }

    /// The secret that this account's events are signed with; made when it is first asked for.
    ///
    /// # Errors
    /// [`StoreError`] when the store fails.
    pub async fn secret(&self, account: &AccountId) -> Result<Secret, StoreError> {
        self.store.webhook_secret(account).await
    }
}

fn dropped(count: u64, why: &'static str) {
    metrics::counter!("trawl_webhooks_total", "outcome" => "dropped").increment(count);
    tracing::warn!(count, why, "webhook events were dropped");
}

#[cfg(test)]
mod tests;
