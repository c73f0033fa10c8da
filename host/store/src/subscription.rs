//! Subscriptions as they are stored: the seats of an account and the paid period.

use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;

use crate::account::AccountId;

/// Whether an account may use its seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubscriptionState {
    /// Usable until the end of the period.
    Active,
    /// Suspended by an operator.
    Suspended,
    /// Not renewed: the balance did not cover the next period, or the subscription was ended.
    Lapsed,
}

impl SubscriptionState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Active, Self::Suspended, Self::Lapsed];

    /// Name on the wire and in the store.
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

/// The subscription of one account; an account has at most one. Payments are ledger entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Account that owns the seats.
    pub account: AccountId,
    /// Requests that may be in flight at once in this period; 0 after the end.
    pub seats: u32,
    /// Seats after the next renewal; 0 ends the subscription.
    pub next_seats: u32,
    /// Start of the first of an unbroken series of periods; fixes the day of the month on which
    /// periods end.
    pub begun: Timestamp,
    /// Start of the period.
    pub from: Timestamp,
    /// End of the period, exclusive.
    pub to: Timestamp,
    /// Price paid for the period.
    pub price: Nanodollars,
    /// Whether the seats may be used.
    pub state: SubscriptionState,
}
