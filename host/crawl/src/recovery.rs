//! What is kept for the crawls of the last process until they continue: their places, the bytes of
//! their requests, and their slots, which new requests must not take.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::sync::watch;

use trawl_billing::{AccountId, Slot};

use super::limits::CrawlPlaces;
use super::lock;
use super::queued::QueuedBytes;

/// The recovery of this process.
#[derive(Debug)]
pub(super) struct Recovery {
    held: Mutex<HashMap<AccountId, Held>>,
    is_done: watch::Sender<bool>,
}

/// What is kept for the crawls of one account.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) places: CrawlPlaces,
    pub(super) bytes: QueuedBytes,
    /// Fewer than its crawls under the Unlimited plan if it has fewer seats.
    pub(super) slots: Vec<Slot>,
}

impl Default for Recovery {
    /// Nothing is to be recovered.
    fn default() -> Self {
        Self {
            held: Mutex::default(),
            is_done: watch::Sender::new(true),
        }
    }
}

impl Recovery {
    /// Begins: the crawls of the last process are not known yet.
    pub(super) fn begin(&self) {
        self.is_done.send_replace(false);
    }

    /// Keeps this for the crawls of an account.
    pub(super) fn hold(&self, account: AccountId, held: Held) {
        lock(&self.held).insert(account, held);
    }

    /// Takes out what one crawl of an account needs, with a slot if it is of the Unlimited plan and
    /// one is left. `None` if no place is kept for it.
    pub(super) fn take(
        &self,
        account: &AccountId,
        request_bytes: u64,
        is_unlimited: bool,
    ) -> Option<(CrawlPlaces, QueuedBytes, Option<Slot>)> {
        let mut all = lock(&self.held);
        let held = all.get_mut(account)?;
        if held.places.is_empty() {
            return None;
        }
        let slot = if is_unlimited { held.slots.pop() } else { None };
        Some((held.places.split(), held.bytes.split(request_bytes), slot))
    }

    /// Ends: what was not taken is given back.
    pub(super) fn end(&self) {
        let left = std::mem::take(&mut *lock(&self.held));
        drop(left);
        self.is_done.send_replace(true);
    }

    /// Whether every crawl of the last process is known.
    pub(super) fn is_done(&self) -> bool {
        *self.is_done.borrow()
    }

    /// Waits until every crawl of the last process is known.
    pub(super) async fn done(&self) {
        let mut is_done = self.is_done.subscribe();
        // The sender is part of `self`, so it does not close.
        let _is_closed = is_done.wait_for(|is_done| *is_done).await.is_err();
    }
}
