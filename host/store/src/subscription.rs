//! Seats of an account and the month they are paid for, as they are stored.

use super::AccountId;
use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;

/// Whether an account may use its seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubscriptionState {
    /// It may, to the end of the period.
    Active,
    /// An operator has stopped it.
    Suspended,
    /// The balance did not cover the next period, or there was to be none.
    Lapsed,
}

impl SubscriptionState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Active, Self::Suspended, Self::Lapsed];

    /// Its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Lapsed => "lapsed",
        }
    }

    /// The state with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// The seats of one account: at most one subscription an account. What was paid stands in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Who has the seats.
    pub account: AccountId,
    /// Requests that may be in flight at once in this period. 0 in a subscription that is over.
    pub seats: u32,
    /// Seats from the next renewal on; 0 ends it then.
    pub next_seats: u32,
    /// Begin of the first of its periods that follow each other: every period ends at this day of a month.
    pub begun: Timestamp,
    /// Begin of the period.
    pub from: Timestamp,
    /// End of the period, not included.
    pub to: Timestamp,
    /// What was paid for the period.
    pub price: Nanodollars,
    /// Whether the seats may be used.
    pub state: SubscriptionState,
}
