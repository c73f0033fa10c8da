//! Periods of a subscription.

use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_store::{AccountId, Subscription, SubscriptionState};

/// Whether a subscription was ended, and is not to be renewed.
pub(super) fn has_ended(row: &Subscription) -> bool {
    row.seats == 0 && row.state == SubscriptionState::Lapsed
}

/// A month of seats that starts at `from`; `begun` fixes the day of the month on which periods end.
pub(super) fn month(
    account: AccountId,
    seats: u32,
    begun: Timestamp,
    from: Timestamp,
) -> Subscription {
    // Counted from the first period, so that one that ends on 28 February does not shift the rest.
    let mut ends = (1..).map(|n| begun.months_later(n));
    Subscription {
        account,
        seats,
        next_seats: seats,
        begun,
        from,
        to: ends.find(|end| *end > from).unwrap_or(Timestamp::MAX),
        price: Nanodollars::ZERO,
        state: SubscriptionState::Active,
    }
}
