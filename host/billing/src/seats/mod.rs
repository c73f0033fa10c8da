//! Seats: requests in flight that an account has paid for by the month. Spec S24.
//!
//! [`slots`] counts what is in use, [`price`] says what seats cost, [`desk`] buys, renews, stops and resumes. A month is
//! charged in one transaction with the row that says so, under an id made of account and begin: it is paid once, whatever
//! happens in between.

mod desk;
mod price;
mod slots;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::Notify;

use super::Billing;
use trawl_model::clock::Timestamp;
use trawl_store::{AccountId, Subscription, SubscriptionState};

pub use desk::SubscriptionError;
pub use price::{SEATS_MAX, SeatPrices};
pub use slots::{Count, Slot};

use slots::Slots;

/// The subscriptions of all accounts, as they are in the store.
#[derive(Debug, Default)]
pub(super) struct Seats {
    by_account: RwLock<HashMap<AccountId, Arc<Held>>>,
    /// Held while a subscription changes, so that each decision is made on what the last one left.
    changing: tokio::sync::Mutex<()>,
    /// Told when a renewal may have become possible.
    paid_in: Notify,
}

/// The subscription of one account and its slots.
#[derive(Debug)]
struct Held {
    row: Mutex<Subscription>,
    slots: Arc<Slots>,
}

impl Held {
    fn row(&self) -> Subscription {
        let row = self.row.lock();
        row.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Seats {
    pub(super) fn new(rows: Vec<Subscription>) -> Self {
        let seats = Self::default();
        for row in rows {
            seats.put(row);
        }
        seats
    }

    /// Told of money that came in.
    pub(super) fn money_came(&self) {
        self.paid_in.notify_one();
    }

    fn held(&self, account: &AccountId) -> Option<Arc<Held>> {
        let by_account = self.by_account.read();
        by_account
            .unwrap_or_else(PoisonError::into_inner)
            .get(account)
            .map(Arc::clone)
    }

    fn row(&self, account: &AccountId) -> Option<Subscription> {
        self.held(account).map(|held| held.row())
    }

    fn rows(&self) -> Vec<Subscription> {
        let by_account = self.by_account.read();
        let by_account = by_account.unwrap_or_else(PoisonError::into_inner);
        by_account.values().map(|held| held.row()).collect()
    }

    /// Takes over a row that is in the store, and opens or closes its slots.
    fn put(&self, row: Subscription) {
        let mut by_account = self
            .by_account
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let held = by_account.entry(row.account.clone()).or_insert_with(|| {
            Arc::new(Held {
                row: Mutex::new(row.clone()),
                slots: Arc::default(),
            })
        });
        let usable = match row.state {
            SubscriptionState::Active => row.seats,
            SubscriptionState::Suspended | SubscriptionState::Lapsed => 0,
        };
        *held.row.lock().unwrap_or_else(PoisonError::into_inner) = row;
        held.slots.set_seats(usable);
    }
}

/// Whether a subscription has ended for good: it was to have no seats in its next period.
fn is_over(row: &Subscription) -> bool {
    row.seats == 0 && row.state == SubscriptionState::Lapsed
}

/// A month of seats that begins at `from`; `begun` gives the day of a month that periods end at.
fn month(account: AccountId, seats: u32, begun: Timestamp, from: Timestamp) -> Subscription {
    // Counted from the first period, so that one which ends on the 28th of February does not make the next end there.
    let mut ends = (1..).map(|n| begun.months_later(n));
    Subscription {
        account,
        seats,
        next_seats: seats,
        begun,
        from,
        to: ends.find(|end| *end > from).unwrap_or(Timestamp::MAX),
        price: trawl_model::Nanodollars::ZERO,
        state: SubscriptionState::Active,
    }
}

impl Billing {
    /// The same with other prices of seats than the usual ones.
    #[must_use]
    pub fn with_seat_prices(self, prices: SeatPrices) -> Self {
        Self {
            seat_prices: Arc::new(prices),
            ..self
        }
    }

    /// The account's subscription; `None` when it never had one, or has none any more.
    pub fn subscription(&self, account: &AccountId) -> Option<Subscription> {
        self.seats.row(account).filter(|row| !is_over(row))
    }

    /// Takes a slot for a request, at once or not at all: then what there is and what is in use.
    ///
    /// # Errors
    /// All are in use. Without seats, because there is no active subscription, there are none.
    pub fn take_slot(&self, account: &AccountId) -> Result<Slot, Count> {
        match self.seats.held(account) {
            Some(held) => held.slots.take(),
            None => Err(Count::default()),
        }
    }

    /// Takes a slot when one is free: for a crawl that had one before the server stopped. It comes before new requests. An
    /// account without a subscription has none until it gets one.
    pub async fn slot_when_free(&self, account: &AccountId) -> Slot {
        match self.seats.held(account) {
            Some(held) => held.slots.take_when_free().await,
            None => std::future::pending().await,
        }
    }

    /// The account's slots now.
    pub fn slots(&self, account: &AccountId) -> Count {
        let held = self.seats.held(account);
        held.map(|held| held.slots.count()).unwrap_or_default()
    }
}
