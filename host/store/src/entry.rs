//! Ledger entries: each is one immutable change of an account.

use std::sync::Arc;
use std::time::Duration;

use trawl_model::clock::Timestamp;
use trawl_model::{Charge, Nanodollars};

use crate::account::{AccountId, KeyPrefix};

/// Reason of a void by which a page returns its money until its host is ready. The page
/// continues, so it has not failed.
pub const WAITS_FOR_HOST: &str = "waits for its host";

/// The kind of a ledger entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// Money paid in.
    TopUp,
    /// Bonus for a large top-up. Spec S13.
    Bonus,
    /// Money reserved for a page.
    Reserve,
    /// The charge of a page; releases the rest of its reservation. With a positive amount, the
    /// refund of an earlier one.
    Post,
    /// The release of a whole reservation, with the reason.
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

    /// Name in the store and in statements.
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

/// Resources that a page consumed, whatever their price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consumed {
    /// Decoded bytes of content before transformation.
    pub n_bytes: u64,
    /// Total CPU time, stored to the microsecond.
    pub cpu: Duration,
}

/// One change of an account. The balance is the sum of `amount`, the reserved money the sum of
/// `held`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Globally unique id, chosen by the writer: writing the same id again changes nothing.
    pub id: String,
    /// Account that changes.
    pub account: AccountId,
    /// The kind of change.
    pub kind: EntryKind,
    /// Change of the balance: positive for money in and refunds, negative for a charge, zero for
    /// reserve and void.
    pub amount: Nanodollars,
    /// Change of the reserved money: positive for a reserve, negative for its post or void.
    pub held: Nanodollars,
    /// Id of the reservation or the allotment that reserve, post and void belong to; empty
    /// otherwise.
    pub reservation: String,
    /// The run (one request, one crawl) of the page; empty without a page.
    pub run: Arc<str>,
    /// URL of the page; empty without one.
    pub url: Arc<str>,
    /// Key that the page was requested with; empty without a page, and where it is not known.
    pub key: KeyPrefix,
    /// Components of a post's charge, negative for a refund; zero otherwise.
    pub charge: Charge,
    /// Resources that the page consumed, even if it was not charged; zero without a page.
    pub consumed: Consumed,
    /// Why a reservation was voided or a page refunded, which seats were paid, or a note on money
    /// in.
    pub reason: String,
    /// Creation time.
    pub at: Timestamp,
}

/// An entry in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Sequence number in write order, from 1.
    pub seq: i64,
    /// The entry.
    pub entry: LedgerEntry,
}

/// The result of writing one entry of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The entry was added.
    New,
    /// An entry with this id existed; nothing changed.
    AlreadyThere,
    /// The entry violates a constraint; nothing changed.
    Refused {
        /// The constraint, in the words of the database.
        rule: String,
    },
}

/// A reserve without a post or void.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenReserve {
    /// Account whose money is reserved.
    pub account: AccountId,
    /// Id of the reservation or the allotment.
    pub reservation: String,
    /// Amount still reserved.
    pub held: Nanodollars,
    /// Run of the reservation.
    pub run: Arc<str>,
    /// URL of its page; empty for the allotment of a run.
    pub url: Arc<str>,
    /// Key that the page or the run was requested with.
    pub key: KeyPrefix,
}
