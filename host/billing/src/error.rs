//! Why a billing operation failed.

use trawl_model::Nanodollars;
use trawl_store::StoreError;

use crate::SEATS_MAX;

/// Why money could not be moved, or an account, key or subscription not be changed.
#[derive(Debug, thiserror::Error)]
pub enum BillingError {
    /// The page cost more than was reserved for it. The reservation was voided.
    #[error("the page costs {charge}, more than its ceiling of {ceiling}")]
    OutgrewCeiling {
        /// Cost of the page.
        charge: Nanodollars,
        /// Reserved amount.
        ceiling: Nanodollars,
    },
    /// The ledger did not accept the entry. Nothing was charged.
    #[error("the ledger is not available, nothing was charged")]
    Unavailable,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such account.
    #[error("there is no account `{account}`: `trawl account list` shows all accounts")]
    UnknownAccount {
        /// Identifier or name in the request.
        account: String,
    },
    /// Not a valid account name.
    #[error("`{name}` is not a valid account name: {reason}")]
    BadName {
        /// The name.
        name: String,
        /// The rule it breaks.
        reason: &'static str,
    },
    /// Another account has this name.
    #[error("`{name}` is taken: an account of this name exists already")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// Not a valid key name.
    #[error("`{name}` is not a valid key name: {reason}")]
    BadKeyName {
        /// The name.
        name: String,
        /// The rule it breaks.
        reason: &'static str,
    },
    /// The account has no such active key.
    #[error("`{account}` has no key `{key}`, or it is revoked: list its keys")]
    UnknownKey {
        /// Name of the account.
        account: String,
        /// First characters of the key in the request.
        key: String,
    },
    /// A negative budget of a key.
    #[error("the budget {budget} is negative: choose zero or more")]
    BadBudget {
        /// The budget.
        budget: Nanodollars,
    },
    /// A negative threshold.
    #[error("the threshold {below} is negative: choose zero or more")]
    BadThreshold {
        /// The threshold.
        below: Nanodollars,
    },
    /// Not a valid top-up id.
    #[error("the id of a top-up has 1 to {max} bytes, this one has {len}")]
    BadTopUpId {
        /// Its length in bytes.
        len: usize,
        /// Maximum length in bytes.
        max: usize,
    },
    /// Not a valid top-up amount.
    #[error("{amount} cannot be paid in: {reason}")]
    BadAmount {
        /// The amount.
        amount: Nanodollars,
        /// The rule it breaks.
        reason: &'static str,
    },
    /// The id of a top-up was used before with another amount.
    #[error("a top-up with the id `{id}` was made before, of {amount}: choose another id")]
    IdTaken {
        /// The id.
        id: String,
        /// Amount of the earlier top-up.
        amount: Nanodollars,
    },
    /// More seats than an account can have.
    #[error("{seats} seats cannot be bought: an account has at most {SEATS_MAX}")]
    BadSeats {
        /// Requested number of seats.
        seats: u32,
    },
    /// The available balance does not cover the seats.
    #[error(
        "the seats cost {price}, but only {available} is available: top up with `trawl account top-up`"
    )]
    NotCovered {
        /// Price of the seats.
        price: Nanodollars,
        /// Available balance.
        available: Nanodollars,
    },
    /// The account has no subscription.
    #[error("`{account}` has no seats: `trawl account seats` buys them")]
    NoSubscription {
        /// Name of the account.
        account: String,
    },
    /// An empty or too long idempotency key.
    #[error("an idempotency key has 1 to {max} bytes, this one has {len}")]
    BadIdempotencyKey {
        /// Its length in bytes.
        len: usize,
        /// Maximum length in bytes.
        max: usize,
    },
    /// The operating system's random number generator failed.
    #[error("the operating system provided no random numbers")]
    Random(#[source] getrandom::Error),
}
