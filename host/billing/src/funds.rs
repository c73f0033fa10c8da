//! The funds of an account.

use trawl_model::Nanodollars;

/// Balance and reserved money of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Funds {
    /// Sum of its ledger entries.
    pub balance: Nanodollars,
    /// Money reserved for pages in flight; never more than the balance.
    pub held: Nanodollars,
}

impl Funds {
    /// The available balance: what is not reserved.
    pub fn available(&self) -> Nanodollars {
        self.balance - self.held
    }
}

/// Why nothing could be reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FundsError {
    /// The balance is used up. Decision D74.
    #[error("balance is zero")]
    Empty,
    /// The whole remaining balance is reserved for pages in flight.
    #[error("the ceiling cannot be reserved: the whole balance is reserved for pages in flight")]
    AllHeld,
    /// The run has reached its ceiling, or its budget is closed.
    #[error("the run has spent all that `max_credits_allowed` allows")]
    CeilingReached,
    /// There is no such account.
    #[error("the account does not exist")]
    UnknownAccount,
    /// The ledger has too many open reservations, or it is closing. Retry later.
    #[error("too many pages are in flight")]
    Busy,
}
