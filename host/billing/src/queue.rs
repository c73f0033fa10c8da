//! The queue in front of the ledger's writer. It is bounded by the number of open reservations:
//! each has capacity for its reserve and for its post or void, so neither ever waits for capacity.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use trawl_model::clock::Timestamp;
use trawl_model::{Charge, Nanodollars};
use trawl_store::{LedgerEntry, Written};

use crate::error::BillingError;
use crate::key_wallet::KeyWallet;
use crate::wallet::Wallet;

/// Reservations that may be open at once, including those whose settlement is not yet in the
/// ledger. Far above the number of pages in flight; reached only if the ledger fails for long.
const RESERVATIONS_MAX: usize = 16_384;
/// Items per group. Larger groups save no time: hundreds of items already share one fsync.
const GROUP_ITEMS_MAX: usize = 512;
/// How long an item without a waiter is held back for batching. The reserve and the post of a fast
/// page thus share a group.
const LINGER: Duration = Duration::from_millis(10);

/// The allotment of a run, as the writer sees it.
pub(crate) trait ChargeSource: fmt::Debug + Send + Sync {
    /// The wallet of its account.
    fn wallet(&self) -> &Arc<Wallet>;

    /// Takes back a charge of this time that the ledger did not accept.
    fn uncharge(&self, charge: Nanodollars, at: Timestamp);

    /// The void of a page whose post was not accepted. The money stays in the allotment.
    fn page_void(&self, post: &LedgerEntry, reason: &str) -> LedgerEntry;
}

/// Who gets the new money of entries: an account, or an allotment whose page is refunded.
pub(crate) trait Payee: fmt::Debug + Send + Sync {
    /// Adds the amount of an entry of this time, which is durable.
    fn receive(&self, amount: Nanodollars, at: Timestamp);
}

impl Payee for Wallet {
    fn receive(&self, amount: Nanodollars, _at: Timestamp) {
        self.change(|funds| funds.balance += amount);
    }
}

/// Entries that are written in the same group, and what to do once they are durable.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) entries: Vec<LedgerEntry>,
    pub(crate) effect: Effect,
}

/// What to do once an item is durable.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Nothing: the money was reserved or returned in memory before.
    Reserve,
    /// Release the capacity of the reservation. Carries the charge of a failed post, in case that
    /// the ledger has it after all.
    Void { undone_post: Option<UndonePost> },
    /// Deduct the charge from the balance, end the reservation, release its capacity.
    Post {
        wallet: Arc<Wallet>,
        /// The wallet of the key that is charged. An allotment returns a charge to it by itself.
        key: Arc<KeyWallet>,
        /// The allotment that is charged, for a page of a run with a budget.
        source: Option<Arc<dyn ChargeSource>>,
        done: oneshot::Sender<Result<Charge, BillingError>>,
    },
    /// Return the charge of a failed post to its allotment, unless the ledger has the post after
    /// all.
    UndonePost {
        source: Arc<dyn ChargeSource>,
        /// Boxed, because this variant is rare and would be the largest.
        post: Box<LedgerEntry>,
    },
    /// Nothing to write: add the money of entries whose group failed, if the ledger has them after
    /// all.
    UndoneMoney {
        payee: Arc<dyn Payee>,
        entries: Vec<LedgerEntry>,
    },
    /// Report the result of each entry, and give new money to the payee.
    Report {
        payee: Option<Arc<dyn Payee>>,
        done: oneshot::Sender<Result<Vec<Written>, BillingError>>,
    },
}

/// A failed post of a page without an allotment.
#[derive(Debug)]
pub(crate) struct UndonePost {
    pub(crate) wallet: Arc<Wallet>,
    pub(crate) key: Arc<KeyWallet>,
    pub(crate) charge: Nanodollars,
    pub(crate) at: Timestamp,
}

impl Item {
    pub(crate) fn one(entry: LedgerEntry, effect: Effect) -> Self {
        Self {
            entries: vec![entry],
            effect,
        }
    }

    fn is_awaited(&self) -> bool {
        matches!(self.effect, Effect::Post { .. } | Effect::Report { .. })
    }
}

/// The queue in front of the writer.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    changed: Notify,
    // Makes the ids of different processes unique.
    process: String,
    n_acquired: AtomicU64,
    is_failing: AtomicBool,
}

#[derive(Debug, Default)]
struct QueueState {
    items: VecDeque<Item>,
    n_awaited: usize,
    n_open: usize,
    oldest: Option<Instant>,
    is_closed: bool,
    has_ended: bool,
}

impl Queue {
    pub(crate) fn new(process: String) -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            process,
            n_acquired: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
        }
    }

    /// Acquires capacity for a reservation and returns its id; `None` if there is none, or the
    /// ledger is closing.
    pub(crate) fn acquire(&self) -> Option<String> {
        self.with(|state| {
            let has_capacity = state.has_capacity();
            state.n_open += usize::from(has_capacity);
            has_capacity.then(|| {
                let n = self.n_acquired.fetch_add(1, Ordering::Relaxed);
                format!("{}-{n:x}", self.process)
            })
        })
    }

    /// Whether there is capacity for a reservation.
    pub(crate) fn has_capacity(&self) -> bool {
        self.with(|state| state.has_capacity())
    }

    /// Releases the capacity of a reservation.
    pub(crate) fn release(&self) {
        self.with(|state| state.n_open -= 1);
    }

    /// Queues an item. After the writer has ended, the item is dropped and its waiter gets an
    /// error.
    pub(crate) fn push(&self, item: Item) {
        let wakes_writer = self.with(|state| {
            if state.has_ended {
                return false;
            }
            let is_awaited = item.is_awaited();
            state.n_awaited += usize::from(is_awaited);
            state.items.push_back(item);
            let is_first = state.oldest.is_none();
            state.oldest.get_or_insert_with(Instant::now);
            is_first || is_awaited || state.items.len() == GROUP_ITEMS_MAX
        });
        if wakes_writer {
            self.changed.notify_one();
        }
    }

    /// Puts items that could not be written back to the front, in order.
    pub(crate) fn requeue(&self, items: Vec<Item>) {
        self.with(|state| {
            for item in items.into_iter().rev() {
                state.n_awaited += usize::from(item.is_awaited());
                state.items.push_front(item);
            }
            state.oldest.get_or_insert_with(Instant::now);
        });
        self.changed.notify_one();
    }

    /// Reports whether the ledger accepted the last group.
    pub(crate) fn set_failing(&self, is_failing: bool) {
        self.is_failing.store(is_failing, Ordering::Relaxed);
    }

    /// Whether the ledger did not accept the last group.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Waits until everything queued before is durable.
    pub(crate) async fn flush(&self) -> Result<(), BillingError> {
        self.write(Vec::new(), None).await.map(drop)
    }

    /// Queues entries, waits until they are durable, and returns the result of each. New money is
    /// given to `payee`, also if an error is returned and the entries turn out to be durable.
    pub(crate) async fn write(
        &self,
        entries: Vec<LedgerEntry>,
        payee: Option<Arc<dyn Payee>>,
    ) -> Result<Vec<Written>, BillingError> {
        let (done, outcome) = oneshot::channel();
        let effect = Effect::Report { payee, done };
        self.push(Item { entries, effect });
        outcome.await.unwrap_or(Err(BillingError::Unavailable))
    }

    /// Ends the writer once the queue is empty.
    pub(crate) fn close(&self) {
        self.with(|state| state.is_closed = true);
        self.changed.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.with(|state| state.is_closed)
    }

    /// Ends the queue: drops all items, so that their waiters get an error, and accepts no more.
    pub(crate) fn end(&self) {
        let unwritten = self.with(|state| {
            state.has_ended = true;
            std::mem::take(&mut state.items)
        });
        drop(unwritten);
    }

    /// The next group; `None` when the queue is closed and empty.
    pub(crate) async fn next_group(&self) -> Option<Vec<Item>> {
        loop {
            let wait_until = match self.with(QueueState::step) {
                Step::Write(group) => return Some(group),
                Step::End => return None,
                Step::Wait(until) => until,
            };
            match wait_until {
                Some(until) => {
                    // The state is checked again, whether it changed or the time has elapsed.
                    let _elapsed = tokio::time::timeout_at(until, self.changed.notified()).await;
                }
                None => self.changed.notified().await,
            }
        }
    }

    fn with<T>(&self, use_state: impl FnOnce(&mut QueueState) -> T) -> T {
        use_state(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

enum Step {
    Write(Vec<Item>),
    Wait(Option<Instant>),
    End,
}

impl QueueState {
    fn has_capacity(&self) -> bool {
        self.n_open < RESERVATIONS_MAX && !self.is_closed
    }

    fn step(&mut self) -> Step {
        let Some(oldest) = self.oldest else {
            // Ended in the same step, so that no later item can be queued that is never written.
            self.has_ended = self.is_closed;
            return if self.is_closed {
                Step::End
            } else {
                Step::Wait(None)
            };
        };
        let write_at = oldest + LINGER;
        let is_due = self.n_awaited > 0
            || self.is_closed
            || self.items.len() >= GROUP_ITEMS_MAX
            || Instant::now() >= write_at;
        if is_due {
            Step::Write(self.take_group())
        } else {
            Step::Wait(Some(write_at))
        }
    }

    fn take_group(&mut self) -> Vec<Item> {
        let n_items = self.items.len().min(GROUP_ITEMS_MAX);
        let group: Vec<Item> = self.items.drain(..n_items).collect();
        self.n_awaited -= group.iter().filter(|item| item.is_awaited()).count();
        if self.items.is_empty() {
            self.oldest = None;
        }
        group
    }
}
