//! Statements, usage sums and audits over the ledger.

use trawl_model::clock::Timestamp;
use trawl_model::{Charge, Nanodollars};

use crate::account::{AccountId, KeyPrefix};
use crate::entry::{Consumed, EntryKind, Posted};

/// Selects entries of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start time, inclusive.
    pub from: Timestamp,
    /// End time, exclusive.
    pub to: Timestamp,
    /// Only entries after this sequence number; 0 starts at the first, and so does
    /// [`Window::WITHOUT_SUMS`].
    pub after: i64,
    /// Maximum number of entries.
    pub limit: u32,
}

impl Window {
    /// Value of `after` that starts at the first entry and leaves out the sums, which take as long
    /// as reading the whole window.
    pub const WITHOUT_SUMS: i64 = -1;
}

/// Sum of the entries of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindSum {
    /// The kind.
    pub kind: EntryKind,
    /// Number of entries.
    pub n_entries: u64,
    /// Sum of their amounts.
    pub amount: Nanodollars,
}

/// One page of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementPage {
    /// Entries in write order.
    pub entries: Vec<Posted>,
    /// Sums by kind over the whole time window; on the first page only (`after` is 0).
    pub sums: Vec<KindSum>,
    /// Sequence number of the newest entry of the account, in the window or not; 0 for none.
    pub last: i64,
    /// Materialised balance of the account.
    pub balance: Nanodollars,
    /// Money reserved for pages in flight.
    pub held: Nanodollars,
}

/// The result of adding up the whole ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Number of accounts checked.
    pub n_accounts: u64,
    /// Number of entries added up.
    pub n_entries: u64,
    /// Accounts whose sums differ; empty if the ledger is consistent.
    pub disagreements: Vec<Disagreement>,
    /// Keys whose sums differ; empty if the ledger is consistent.
    pub key_disagreements: Vec<KeyDisagreement>,
}

/// A key whose entries do not add up to what it has spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDisagreement {
    /// Account of the key.
    pub account: AccountId,
    /// First characters of the key.
    pub key: KeyPrefix,
    /// Materialised spending in the month of its last charge.
    pub month_spent: Nanodollars,
    /// Sum of its charges since that month began.
    pub entries_spent: Nanodollars,
}

/// An account whose entries do not add up to its balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The account.
    pub account: AccountId,
    /// Materialised balance.
    pub balance: Nanodollars,
    /// Sum of the amounts of its entries.
    pub entries_balance: Nanodollars,
    /// Materialised reserved money.
    pub held: Nanodollars,
    /// Sum of `held` of its entries.
    pub entries_held: Nanodollars,
}

/// Resources that an account consumed, and what it paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountUsage {
    /// The account.
    pub account: AccountId,
    /// Number of charged pages, including those at zero under the Unlimited plan.
    pub n_pages: u64,
    /// Number of failed pages, which are not charged.
    pub n_failed: u64,
    /// Resources consumed by all pages.
    pub consumed: Consumed,
    /// Charges for pages, by component.
    pub charge: Charge,
    /// Top-ups.
    pub top_ups: Nanodollars,
    /// Bonuses.
    pub bonuses: Nanodollars,
    /// Charges for seats.
    pub seats: Nanodollars,
}

impl AccountUsage {
    /// Adds what the account used at another time.
    pub fn add(&mut self, other: &Self) {
        self.n_pages += other.n_pages;
        self.n_failed += other.n_failed;
        self.consumed.n_bytes += other.consumed.n_bytes;
        self.consumed.cpu += other.consumed.cpu;
        let Charge {
            ai,
            compute,
            file,
            bytes_transferred,
            transform,
            vendor_billed,
        } = other.charge;
        let charge = &mut self.charge;
        charge.ai += ai;
        charge.compute += compute;
        charge.file += file;
        charge.bytes_transferred += bytes_transferred;
        charge.transform += transform;
        charge.vendor_billed += vendor_billed;
        self.top_ups += other.top_ups;
        self.bonuses += other.bonuses;
        self.seats += other.seats;
    }
}
