//! The store behind webhooks: undelivered events and the secrets that sign them.

use std::fmt;

use trawl_model::clock::Timestamp;
use trawl_model::memory::{Held, PageMemory};
use trawl_model::redact::shown_url;
use trawl_model::secret::Secret;

use crate::account::AccountId;
use crate::future::StoreFuture;
use crate::paging::{PageRange, RowBytes, Rows, text_bytes};

/// Length of a secret in bytes: as long as the hash in a signature.
const SECRET_BYTES: usize = 32;
/// Prefix of a secret, by which secret scanners recognise it.
const SECRET_PREFIX: &str = "whsec_";

/// Webhook events that have not been delivered. Every operation is atomic, and durable once its
/// future returns `Ok`.
pub trait OutboxStore: WebhookSecrets + fmt::Debug + Send + Sync + 'static {
    /// Adds events; those whose id exists are skipped. Returns the number of new ones.
    fn outbox_push<'a>(&'a self, rows: &'a [OutboxRow]) -> StoreFuture<'a, u64>;

    /// The channel that is due first and not busy.
    fn outbox_due<'a>(&'a self, now: Timestamp, busy: &'a Busy)
    -> StoreFuture<'a, Option<Channel>>;

    /// The oldest events of a channel, in order of arrival. Memory for them is taken before they
    /// are read; [`StoreError::Memory`](crate::StoreError::Memory) if there is none in time.
    fn outbox_batch<'a>(
        &'a self,
        channel: &'a Channel,
        size: BatchSize,
        memory: &'a PageMemory,
    ) -> StoreFuture<'a, Held<Vec<OutboxRow>>>;

    /// When the next channel that is not busy is due.
    fn outbox_next<'a>(&'a self, busy: &'a Busy) -> StoreFuture<'a, Option<Timestamp>>;

    /// When the undelivered event that arrived first happened.
    fn outbox_oldest(&self) -> StoreFuture<'_, Option<Timestamp>>;

    /// Number of undelivered events.
    fn outbox_count(&self) -> StoreFuture<'_, u64>;

    /// Deletes delivered events of a channel, and moves the channel behind those that are due
    /// before `now`. Returns how many there were.
    fn outbox_done<'a>(
        &'a self,
        channel: &'a Channel,
        ids: &'a [String],
        now: Timestamp,
    ) -> StoreFuture<'a, u64>;

    /// Postpones a channel until a time because of this failure, increments the attempts of the
    /// events that were tried, and deletes its events created at or before `expired`. Returns how
    /// many were deleted.
    fn outbox_postpone<'a>(
        &'a self,
        channel: &'a Channel,
        tried: &'a [String],
        failure: &'a DeliveryFailure,
        until: Timestamp,
        expired: Timestamp,
    ) -> StoreFuture<'a, u64>;

    /// Undelivered events of an account, in order of arrival.
    fn outbox_rows<'a>(
        &'a self,
        account: &'a AccountId,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<EventSummary>>;
}

/// How large a batch of events is: as many as fit, and one at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// Number of events.
    pub events: u32,
    /// Bytes of their bodies together.
    pub bytes: u64,
}

impl BatchSize {
    /// The last of the events, of which the numbers and the bytes of the bodies are given in order,
    /// that fit into the batch, and the bytes of their bodies. `None` if there are none.
    pub(crate) fn window(&self, events: &[(i64, i64)]) -> Option<(i64, usize)> {
        let mut sum = 0;
        let mut last = None;
        for (seq, length) in events {
            sum += length.unsigned_abs();
            if last.is_some() && sum > self.bytes {
                sum -= length.unsigned_abs();
                break;
            }
            last = Some(*seq);
        }
        Some((last?, usize::try_from(sum).ok()?))
    }
}

/// The secrets that sign webhook events. Billing shows and renews them, webhooks sign with them.
pub trait WebhookSecrets {
    /// The signing secret of an account; generated and stored on first use.
    fn webhook_secret<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Secret>;

    /// The secrets that sign an event of an account now. The one before the current one is among
    /// them if it was replaced after `since`.
    fn signing_secrets<'a>(
        &'a self,
        account: &'a AccountId,
        since: Timestamp,
    ) -> StoreFuture<'a, SigningSecrets>;

    /// Replaces the signing secret of an account by a new one at this time.
    fn renew_webhook_secret<'a>(
        &'a self,
        account: &'a AccountId,
        now: Timestamp,
    ) -> StoreFuture<'a, Secret>;
}

/// The secrets that sign an event: two while a receiver changes from one to the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningSecrets {
    /// The secret that the account is shown.
    pub current: Secret,
    /// The one that it replaced not long ago.
    pub previous: Option<Secret>,
}

/// The events of one account to one destination. They are delivered in order, and a failure
/// postpones them together; what another account sends there is another channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// The account.
    pub account: AccountId,
    /// URL of the receiver.
    pub destination: String,
}

/// What is being delivered, and is not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Channels with a batch in flight.
    pub channels: Vec<Channel>,
    /// Accounts that may have no further batch in flight.
    pub accounts: Vec<AccountId>,
}

/// A failed delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryFailure {
    /// Why it failed, for the owner of the account.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// An undelivered event.
#[derive(Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// Unique id of the event.
    pub id: String,
    /// Account that the event belongs to.
    pub account: AccountId,
    /// URL of the receiver.
    pub destination: String,
    /// Type of the event.
    pub event: String,
    /// Request body.
    pub body: String,
    /// When the event happened.
    pub created: Timestamp,
    /// When the next attempt is due: its channel's, once it is stored.
    pub due: Timestamp,
    /// Failed delivery attempts.
    pub n_attempts: u32,
    /// The last failure of its channel.
    pub last_failure: Option<DeliveryFailure>,
}

/// An undelivered event in a list: without its body, which may have a megabyte.
#[derive(Clone, PartialEq, Eq)]
pub struct EventSummary {
    /// Unique id of the event.
    pub id: String,
    /// URL of the receiver.
    pub destination: String,
    /// Type of the event.
    pub event: String,
    /// When the event happened.
    pub created: Timestamp,
    /// When the next attempt of its channel is due.
    pub due: Timestamp,
    /// Failed delivery attempts.
    pub n_attempts: u32,
    /// The last failure of its channel.
    pub last_failure: Option<DeliveryFailure>,
}

impl RowBytes for EventSummary {
    fn bytes(&self) -> usize {
        let texts = self.id.capacity() + self.destination.capacity() + self.event.capacity();
        let reason = self.last_failure.as_ref().map(|failure| &failure.reason);
        size_of::<Self>() + texts + text_bytes(reason)
    }
}

impl fmt::Debug for EventSummary {
    /// Without the receiver's secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSummary")
            .field("id", &self.id)
            .field("destination", &shown_url(&self.destination))
            .field("event", &self.event)
            .field("due", &self.due)
            .field("n_attempts", &self.n_attempts)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for OutboxRow {
    /// Without the receiver's secrets and the page in the body.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxRow")
            .field("id", &self.id)
            .field("account", &self.account)
            .field("destination", &shown_url(&self.destination))
            .field("event", &self.event)
            .field("due", &self.due)
            .field("n_attempts", &self.n_attempts)
            .finish_non_exhaustive()
    }
}

/// A new signing secret.
pub(crate) fn new_webhook_secret() -> Secret {
    let mut bytes = [0_u8; SECRET_BYTES];
    getrandom::fill(&mut bytes).expect("the operating system provides random numbers");
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let hex = digits.filter_map(|digit| char::from_digit(u32::from(digit), 16));
    Secret::new(format!("{SECRET_PREFIX}{}", hex.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ() {
        let (a, b) = (new_webhook_secret(), new_webhook_secret());
        assert_ne!(a, b);
        assert_eq!(a.expose().len(), SECRET_PREFIX.len() + 2 * SECRET_BYTES);
    }
}
