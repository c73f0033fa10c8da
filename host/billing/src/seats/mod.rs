//! Seats: paid concurrency, subscribed by the month. Spec S24.
//!
//! [`slots`] counts the seats in use, [`price`] prices them, [`subscription`] buys, renews,
//! suspends and resumes them. The charge of a month and the subscription row are written in one
//! transaction, under an id made of account and period start: a month is paid once, even after a
//! crash.

mod period;
mod price;
mod purchase;
mod registry;
mod slots;
mod subscription;
#[cfg(test)]
mod tests;

use trawl_store::{AccountId, Subscription};

use crate::Billing;

pub use price::{SEATS_MAX, SeatPrices};
pub use slots::{Count, Slot};
pub use subscription::SubscriptionError;

pub(crate) use registry::Seats;

impl Billing {
    /// The same billing with these seat prices instead of the defaults.
    #[must_use]
    pub fn with_seat_prices(self, prices: SeatPrices) -> Self {
        Self {
            seat_prices: std::sync::Arc::new(prices),
            ..self
        }
    }

    /// The subscription of an account; `None` if it has none or it has ended.
    pub fn subscription(&self, account: &AccountId) -> Option<Subscription> {
        self.seats
            .row(account)
            .filter(|row| !period::has_ended(row))
    }

    /// Takes a slot for a request without waiting.
    ///
    /// # Errors
    /// The current counts if no slot is free. An account without an active subscription has no
    /// slots.
    pub fn take_slot(&self, account: &AccountId) -> Result<Slot, Count> {
        match self.seats.subscribed(account) {
            Some(subscribed) => subscribed.slots.take(),
            None => Err(Count::default()),
        }
    }

    /// Waits for a slot, for a crawl that had one before a restart. It has priority over new
    /// requests. For an account without a subscription, it waits until there is one.
    pub async fn slot_when_free(&self, account: &AccountId) -> Slot {
        match self.seats.subscribed(account) {
            Some(subscribed) => subscribed.slots.take_when_free().await,
            None => std::future::pending().await,
        }
    }

    /// The current slot counts of an account.
    pub fn slots(&self, account: &AccountId) -> Count {
        let subscribed = self.seats.subscribed(account);
        subscribed
            .map(|subscribed| subscribed.slots.count())
            .unwrap_or_default()
    }
}
