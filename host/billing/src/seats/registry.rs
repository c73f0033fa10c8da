//! The subscriptions of all accounts in memory, with their slots.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::Notify;

use trawl_store::{AccountId, Subscription, SubscriptionState};

use super::slots::Slots;

/// The subscriptions of all accounts, as they are in the store.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    by_account: RwLock<HashMap<AccountId, Arc<Subscribed>>>,
    /// Serialises changes of subscriptions, so that each decision sees the last one.
    pub(super) changing: tokio::sync::Mutex<()>,
    /// Notified when a top-up may have made a renewal possible.
    pub(super) topped_up: Notify,
}

/// The subscription of one account and its slots.
#[derive(Debug)]
pub(super) struct Subscribed {
    row: Mutex<Subscription>,
    pub(super) slots: Arc<Slots>,
}

impl Subscribed {
    fn row(&self) -> Subscription {
        let row = self.row.lock();
        row.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Seats {
    pub(crate) fn new(rows: Vec<Subscription>) -> Self {
        let seats = Self::default();
        for row in rows {
            seats.put(row);
        }
        seats
    }

    /// Checks for lapsed subscriptions that a top-up may cover.
    pub(crate) fn money_arrived(&self) {
        self.topped_up.notify_one();
    }

    pub(super) fn subscribed(&self, account: &AccountId) -> Option<Arc<Subscribed>> {
        let by_account = self.by_account.read();
        by_account
            .unwrap_or_else(PoisonError::into_inner)
            .get(account)
            .map(Arc::clone)
    }

    pub(super) fn row(&self, account: &AccountId) -> Option<Subscription> {
        self.subscribed(account).map(|subscribed| subscribed.row())
    }

    pub(super) fn rows(&self) -> Vec<Subscription> {
        let by_account = self.by_account.read();
        let by_account = by_account.unwrap_or_else(PoisonError::into_inner);
        by_account
            .values()
            .map(|subscribed| subscribed.row())
            .collect()
    }

    /// Replaces a row by the one in the store, and adjusts its slots.
    pub(super) fn put(&self, row: Subscription) {
        let mut by_account = self
            .by_account
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let subscribed = by_account.entry(row.account.clone()).or_insert_with(|| {
            Arc::new(Subscribed {
                row: Mutex::new(row.clone()),
                slots: Arc::default(),
            })
        });
        let usable = match row.state {
            SubscriptionState::Active => row.seats,
            SubscriptionState::Suspended | SubscriptionState::Lapsed => 0,
        };
        *subscribed
            .row
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = row;
        subscribed.slots.set_seats(usable);
    }
}
