//! The store behind webhooks: undelivered events and the secrets that sign them.

use std::fmt;

use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;

use crate::account::AccountId;
use crate::future::StoreFuture;
use crate::paging::{PageRange, Rows};

/// Length of a secret in bytes: that of the hash in a signature.
const SECRET_BYTES: usize = 32;
/// Prefix of a secret, by which secret scanners recognise it.
const SECRET_PREFIX: &str = "whsec_";

/// Webhook events that have not been delivered. Every operation is atomic, and durable once its
/// future returns `Ok`.
pub trait OutboxStore: WebhookSecrets + fmt::Debug + Send + Sync + 'static {
    /// Adds events; those whose id exists are skipped. Returns the number of new ones.
    fn outbox_push<'a>(&'a self, rows: &'a [OutboxRow]) -> StoreFuture<'a, u64>;

    /// The oldest due events of one destination that is not in `busy`, in order of arrival.
    fn outbox_due<'a>(
        &'a self,
        now: Timestamp,
        busy: &'a [String],
        count_max: u32,
    ) -> StoreFuture<'a, Vec<OutboxRow>>;

    /// When the next event of a destination that is not in `busy` is due.
    fn outbox_next<'a>(&'a self, busy: &'a [String]) -> StoreFuture<'a, Option<Timestamp>>;

    /// Number of undelivered events.
    fn outbox_count(&self) -> StoreFuture<'_, u64>;

    /// Deletes delivered events. Returns how many there were.
    fn outbox_done<'a>(&'a self, ids: &'a [String]) -> StoreFuture<'a, u64>;

    /// Postpones all events of a destination until a time, increments the attempts of the events
    /// that were tried, and deletes its events created at or before `expired`. Returns how many
    /// were deleted.
    fn outbox_postpone<'a>(
        &'a self,
        destination: &'a str,
        tried: &'a [String],
        until: Timestamp,
        expired: Timestamp,
    ) -> StoreFuture<'a, u64>;

    /// Undelivered events of an account, in order of arrival.
    fn outbox_rows<'a>(
        &'a self,
        account: &'a AccountId,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<OutboxRow>>;
}

/// The secrets that sign webhook events. Billing shows and renews them, webhooks sign with them.
pub trait WebhookSecrets {
    /// The signing secret of an account; generated and stored on first use.
    fn webhook_secret<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Secret>;

    /// Replaces the signing secret of an account by a new one.
    fn renew_webhook_secret<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Secret>;
}

/// An undelivered event.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// When the next attempt is due.
    pub due: Timestamp,
    /// Failed delivery attempts.
    pub n_attempts: u32,
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
