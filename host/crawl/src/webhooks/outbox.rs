//! The outbox: events that wait in the store for delivery.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::sync::Notify;

use trawl_model::TraceContext;
use trawl_model::clock::Clock;
use trawl_store::{AccountId, OutboxRow, SigningSecrets, Store, StoreError};

use super::deliveries::{Deliveries, Delivery};
use super::event::Event;
use super::traces::Traces;

/// Most events that wait, over all accounts, so that unreachable receivers cannot fill the disk.
pub const WAITING_MAX: u64 = 1_000_000;
/// Events of an account that may wait whatever others have waiting.
pub const WAITING_FLOOR: u64 = 1_000;
/// How long delivery of an event is retried; then it is dropped.
pub const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a replaced secret signs events along with the new one: receivers change over in this
/// time.
pub const ROTATION: Duration = Duration::from_secs(24 * 60 * 60);

/// Events of one account that may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookLimits {
    /// Number of events.
    pub events: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Events of all accounts. One account may have as many as are still free, [`WAITING_FLOOR`]
    /// at least: accounts at their limits leave room for others.
    pub all: u64,
}

impl Default for WebhookLimits {
    fn default() -> Self {
        Self {
            // A crawl of a hundred thousand pages whose receiver is down.
            events: 100_000,
            // As many events of ten kilobytes, which most pages have as markdown.
            bytes: 1 << 30,
            all: WAITING_MAX,
        }
    }
}

/// An account has as many undelivered events as it may. The text is for its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name}: the account has {used} of {limit} waiting for delivery, see `GET /data/webhooks`: repair the receiver, wait until they are delivered or a day old, or crawl without `webhooks`"
)]
pub struct WebhooksFull {
    /// Name of the limit, as in `GET /account`.
    pub name: &'static str,
    /// What waits.
    pub used: u64,
    /// What may wait.
    pub limit: u64,
}

/// Stores and delivers events. One for the whole server.
pub struct Webhooks {
    pub(super) store: Arc<dyn Store>,
    limits: WebhookLimits,
    pub(super) clock: Clock,
    /// Notified when events were stored.
    pub(super) wake: Notify,
    /// Number of stored events, approximately.
    pub(super) waiting: AtomicU64,
    /// Traces of crawls whose events carry them.
    pub(super) traces: Traces,
    /// What was sent last.
    pub(super) deliveries: Deliveries,
}

impl Webhooks {
    /// Webhooks on this store. Delivery starts with [`Self::run`].
    pub fn new(store: Arc<dyn Store>, clock: Clock, limits: WebhookLimits) -> Arc<Self> {
        Arc::new(Self {
            store,
            limits,
            clock,
            wake: Notify::new(),
            waiting: AtomicU64::new(0),
            traces: Traces::default(),
            deliveries: Deliveries::default(),
        })
    }

    /// Has the events of a crawl carry a trace context below this one, while this process lives.
    pub(crate) fn note_trace(&self, crawl_id: &str, trace: TraceContext) {
        self.traces.note(crawl_id, trace);
    }

    /// Stores events for delivery; they are durable when this returns. An event whose id is stored
    /// already is ignored. At a limit of the account events are dropped and logged.
    ///
    /// # Errors
    /// [`StoreError`] when the store fails; then none is stored.
    pub async fn push(&self, events: Vec<Event>) -> Result<(), StoreError> {
        self.push_rows(&self.rows(events)).await
    }

    /// The rows of events, for [`Self::push_rows`].
    pub(crate) fn rows(&self, events: Vec<Event>) -> Vec<OutboxRow> {
        let now = self.clock.now();
        let rows = events.into_iter().map(|event| event.into_row(now));
        rows.collect()
    }

    /// As [`Self::push`], of events that are needed again if the store fails.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub(crate) async fn push_rows(&self, rows: &[OutboxRow]) -> Result<(), StoreError> {
        let Some(account) = rows.first().map(|row| &row.account) else {
            return Ok(());
        };
        if let Some(full) = self.full(account).await? {
            log_dropped(rows.len() as u64, full.name);
            return Ok(());
        }
        let n_stored = self.store.outbox_push(rows).await?;
        self.waiting.fetch_add(n_stored, Relaxed);
        self.wake.notify_one();
        Ok(())
    }

    /// Events of one account that may wait.
    pub fn limits(&self) -> WebhookLimits {
        self.limits
    }

    /// The last attempts to deliver events of an account, newest first.
    pub fn deliveries(&self, account: &AccountId) -> Vec<Delivery> {
        self.deliveries.of(account)
    }

    /// The limit that an account has reached.
    ///
    /// # Errors
    /// [`StoreError`] when the store fails.
    pub async fn full(&self, account: &AccountId) -> Result<Option<WebhooksFull>, StoreError> {
        let totals = self.store.totals(account).await?;
        let free = self.limits.all.saturating_sub(self.waiting.load(Relaxed));
        let events = self.limits.events.min(free.max(WAITING_FLOOR));
        let limits = [
            ("webhook_events", totals.n_events, events),
            ("webhook_bytes", totals.event_bytes, self.limits.bytes),
        ];
        let reached = limits.into_iter().find(|(_, used, limit)| used >= limit);
        Ok(reached.map(|(name, used, limit)| WebhooksFull { name, used, limit }))
    }

    /// Age of the oldest undelivered event, zero if there is none.
    ///
    /// # Errors
    /// [`StoreError`] when the store fails.
    pub async fn oldest_age(&self) -> Result<Duration, StoreError> {
        let oldest = self.store.outbox_oldest().await?;
        let millis = oldest.map_or(0, |created| self.clock.now().0.saturating_sub(created.0));
        Ok(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
    }

    /// The secrets that sign this account's events now; the first is created at first use.
    ///
    /// # Errors
    /// [`StoreError`] when the store fails.
    pub async fn secrets(&self, account: &AccountId) -> Result<SigningSecrets, StoreError> {
        let since = self.clock.now().before(ROTATION);
        self.store.signing_secrets(account, since).await
    }
}

/// Counts and logs dropped events.
pub(super) fn log_dropped(count: u64, reason: &'static str) {
    metrics::counter!("trawl_webhooks_total", "outcome" => "dropped").increment(count);
    tracing::warn!(count, reason, "webhook events were dropped");
}
