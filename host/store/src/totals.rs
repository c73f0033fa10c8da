//! What each account has stored, counted as it is written.

use std::fmt;

use crate::account::AccountId;
use crate::future::StoreFuture;

/// What accounts have stored. The totals change in the same transaction as the rows they count, so
/// reading them costs the same for every account.
pub trait TotalsStore: fmt::Debug + Send + Sync + 'static {
    /// What an account has stored; zeros for an unknown account.
    fn totals<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, AccountTotals>;
}

/// Rows and bytes that one account has stored. Bytes are counted for texts, bodies and page logs,
/// with a flat number for each row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountTotals {
    /// Crawls, until they expire; batches are among them.
    pub n_crawls: u64,
    /// Batches, until they expire.
    pub n_batches: u64,
    /// Pages of crawls.
    pub n_pages: u64,
    /// Pages of background crawls.
    pub n_background_pages: u64,
    /// Requests, URLs and page logs of crawls.
    pub crawl_bytes: u64,
    /// Stored answers of idempotent requests.
    pub n_answers: u64,
    /// Their bytes.
    pub answer_bytes: u64,
    /// Contacts.
    pub n_contacts: u64,
    /// Their bytes.
    pub contact_bytes: u64,
    /// Webhook events that are not delivered yet.
    pub n_events: u64,
    /// Their bytes.
    pub event_bytes: u64,
}

impl AccountTotals {
    /// All bytes of the account.
    pub const fn stored_bytes(&self) -> u64 {
        self.crawl_bytes + self.answer_bytes + self.contact_bytes + self.event_bytes
    }
}
