//! Ledger entries: each is one immutable change of an account.

use std::sync::Arc;
use std::time::Duration;

use super::AccountId;
use trawl_model::clock::Timestamp;
use trawl_model::{Charge, Nanodollars};

/// Why an account changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// Money paid in.
    TopUp,
    /// Extra money for a large top-up. Spec S13.
    Bonus,
    /// Money set aside for a page.
    Reserve,
    /// A page's charge taken, the rest of its reserve given back.
    Post,
    /// A reserve given back whole, with the reason.
    Void,
    /// A charge for seats. Spec S25.
    Seats,
}

impl EntryKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::TopUp,
        Self::Bonus,
        Self::Reserve,
        Self::Post,
        Self::Void,
        Self::Seats,
    ];

    /// Its name in the store and in statements.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TopUp => "top_up",
            Self::Bonus => "bonus",
            Self::Reserve => "reserve",
            Self::Post => "post",
            Self::Void => "void",
            Self::Seats => "seats",
        }
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What a page consumed, beside what it cost: sums of it are the same whatever the prices were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consumed {
    /// Decoded bytes of content before transformation.
    pub n_bytes: u64,
    /// CPU time in all, kept to the microsecond.
    pub cpu: Duration,
}

/// One change of an account. The balance is the sum of all `amount`s, what is set aside the sum of all `held`s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Made by the writer of the entry, unique for ever: writing the same id again changes nothing.
    pub id: String,
    /// Account that changes.
    pub account: AccountId,
    /// Why it changes.
    pub kind: EntryKind,
    /// Change of the balance: positive for money in, negative for a charge, zero for reserve and void.
    pub amount: Nanodollars,
    /// Change of what is set aside: positive for a reserve, negative for its post or void.
    pub held: Nanodollars,
    /// The hold that reserve, post and void belong to; empty otherwise.
    pub hold: String,
    /// The run (one request, one crawl) that the page belongs to; empty without a page.
    pub run: Arc<str>,
    /// Address of the page; empty without one.
    pub url: Arc<str>,
    /// Parts of a post's charge; zeros otherwise.
    pub charge: Charge,
    /// What the page consumed, whether it was charged or not; zeros without a page.
    pub consumed: Consumed,
    /// Why a reserve was voided, which seats were paid, or a note on money in.
    pub reason: String,
    /// When it was made.
    pub at: Timestamp,
}

/// An entry as it stands in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Its place in the order of writing, from 1.
    pub seq: i64,
    /// The entry.
    pub entry: Entry,
}

/// What became of one entry of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is in the ledger now.
    New,
    /// An entry with its id was there before; nothing changed.
    AlreadyThere,
    /// It would break a rule; nothing changed.
    Refused {
        /// The rule, in the words of the database.
        rule: String,
    },
}

/// A reserve without post or void.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenReserve {
    /// Account that it was taken from.
    pub account: AccountId,
    /// The hold.
    pub hold: String,
    /// What it set aside.
    pub held: Nanodollars,
    /// Its run.
    pub run: Arc<str>,
    /// Its page.
    pub url: Arc<str>,
}

/// Which entries of an account to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Earliest time, included.
    pub from: Timestamp,
    /// Latest time, not included.
    pub to: Timestamp,
    /// Only entries after this place; 0 begins at the first.
    pub after: i64,
    /// Most entries to show.
    pub limit: u32,
}

/// Sums over the entries of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindSum {
    /// The kind.
    pub kind: EntryKind,
    /// How many entries.
    pub n_entries: u64,
    /// Sum of their amounts.
    pub amount: Nanodollars,
}

/// Part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementPage {
    /// Entries in the order of writing.
    pub entries: Vec<Posted>,
    /// Sums by kind over the whole time window, whatever `after` and `limit` are.
    pub sums: Vec<KindSum>,
    /// Balance of the account as materialised.
    pub balance: Nanodollars,
    /// What its open reserves hold.
    pub held: Nanodollars,
}

/// The result of adding everything up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Accounts looked at.
    pub n_accounts: u64,
    /// Entries added up.
    pub n_entries: u64,
    /// Accounts whose sums differ; empty when all is well.
    pub disagreements: Vec<Disagreement>,
}

/// An account whose entries do not add up to its balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The account.
    pub account: AccountId,
    /// Balance as materialised.
    pub balance: Nanodollars,
    /// Sum of the amounts of its entries.
    pub entries_balance: Nanodollars,
    /// Set aside as materialised.
    pub held: Nanodollars,
    /// Sum of what its entries have set aside.
    pub entries_held: Nanodollars,
}
