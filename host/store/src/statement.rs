//! Statements, usage sums and audits over the ledger.

use std::collections::BTreeMap;

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

/// An account's id, balance and reserved money; the sums of the amounts and of `held` of its
/// entries, and their number.
pub(crate) type AuditRow = (String, i64, i64, i64, i64, i64);

impl Audit {
    /// Compares balances with the sums of entries.
    pub(crate) fn of(rows: Vec<AuditRow>, key_disagreements: Vec<KeyDisagreement>) -> Self {
        Self {
            n_accounts: rows.len() as u64,
            n_entries: rows.iter().map(|row| row.5.unsigned_abs()).sum(),
            disagreements: rows
                .into_iter()
                .filter(|(_, balance, held, amounts, helds, _)| balance != amounts || held != helds)
                .map(|(id, balance, held, amounts, helds, _)| Disagreement {
                    account: AccountId::new(id),
                    balance: Nanodollars(balance),
                    entries_balance: Nanodollars(amounts),
                    held: Nanodollars(held),
                    entries_held: Nanodollars(helds),
                })
                .collect(),
            key_disagreements,
        }
    }

    /// A line for each disagreement.
    pub(crate) fn lines(&self) -> Vec<String> {
        let accounts = self.disagreements.iter().map(|one| {
            format!(
                "{}: balance {} but entries {}, reserved {} but entries {}",
                one.account, one.balance, one.entries_balance, one.held, one.entries_held
            )
        });
        let keys = self.key_disagreements.iter().map(|one| {
            format!(
                "{}: key {} has spent {} in the month of its last charge but entries {}",
                one.account, one.key, one.month_spent, one.entries_spent
            )
        });
        accounts.chain(keys).collect()
    }
}

/// Compares what each key has spent in the month of its last charge with its entries since the
/// first one of that month. A later entry counts in that month whatever its time, as in the trigger
/// `entries_count_for_keys`.
#[derive(Default)]
pub(crate) struct KeyAudit(BTreeMap<KeyPrefix, KeySums>);

/// What a key has spent in a month, by its own row and by its entries.
struct KeySums {
    account: AccountId,
    /// Beginning of the month in Unix milliseconds.
    month: i64,
    month_spent: Nanodollars,
    entries_spent: Nanodollars,
    /// Whether its first charge of the month was read.
    has_begun: bool,
}

impl KeyAudit {
    /// Adds a key by its prefix, with its account, the month of its last charge and what it has
    /// spent in that.
    pub(crate) fn add_key(&mut self, (prefix, account, month, spent): (String, String, i64, i64)) {
        let sums = KeySums {
            account: AccountId::new(account),
            month,
            month_spent: Nanodollars(spent),
            entries_spent: Nanodollars::ZERO,
            has_begun: false,
        };
        self.0.insert(KeyPrefix::new(&prefix), sums);
    }

    /// Adds a charge, or a refund, of a key. They come in the order of the ledger.
    pub(crate) fn add_post(&mut self, prefix: &str, amount: i64, at: i64) {
        let Some(sums) = self.0.get_mut(&KeyPrefix::new(prefix)) else {
            return;
        };
        sums.has_begun |= at >= sums.month;
        if sums.has_begun {
            sums.entries_spent += Nanodollars(-amount);
        }
    }

    /// The keys whose sums differ.
    pub(crate) fn disagreements(self) -> Vec<KeyDisagreement> {
        let wrong = self
            .0
            .into_iter()
            .filter(|(_, sums)| sums.month_spent != sums.entries_spent);
        let disagreements = wrong.map(|(key, sums)| KeyDisagreement {
            account: sums.account,
            key,
            month_spent: sums.month_spent,
            entries_spent: sums.entries_spent,
        });
        disagreements.collect()
    }
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
