//! What waits for the ledger's writer. Bounded by the holds that may be open: each has room for its reserve and for its
//! post or void, so that neither ever has to wait.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::BillingError;
use super::account::Wallet;
use super::purse::Allotment;
use trawl_model::{Charge, Nanodollars};
use trawl_store::{Entry, Written};

/// Holds that may be open at once, those included whose end is not in the ledger yet. Far above the pages that one
/// server has in flight; reached only when the ledger fails for long.
const HOLDS_MAX: usize = 16_384;
/// Items of one group. Larger groups save no time: the flush to disk is shared by hundreds already.
const GROUP_ITEMS_MAX: usize = 512;
/// How long an item that nobody waits for may wait for company. A fast page's reserve and post share a group this way.
const LINGER: Duration = Duration::from_millis(10);

/// Entries that go into one group together, and what follows when they are durable.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) entries: Vec<Entry>,
    pub(super) effect: Effect,
}

/// What follows when an item is durable.
#[derive(Debug)]
pub(super) enum Effect {
    /// Nothing: the money was set aside in memory before.
    Reserve,
    /// The hold's room is free again. Carries the charge of a post that failed, in case the ledger has it after all.
    Void {
        undone_post: Option<(Arc<Wallet>, Nanodollars)>,
    },
    /// The charge leaves the balance, the hold ends, its room is free again.
    Post {
        wallet: Arc<Wallet>,
        /// The slice that it comes out of, for a page of a run with a purse.
        slice: Option<Arc<Allotment>>,
        done: oneshot::Sender<Result<Charge, BillingError>>,
    },
    /// A post out of a slice failed. Unless the ledger has it after all, the slice has its money back with this void.
    UndonePost {
        slice: Arc<Allotment>,
        /// Boxed, because it is rare and much larger than the others.
        post: Box<Entry>,
    },
    /// Money in, or nothing at all: who waits is told what became of each entry.
    Told {
        wallet: Option<Arc<Wallet>>,
        done: oneshot::Sender<Result<Vec<Written>, BillingError>>,
    },
}

impl Item {
    pub(super) fn one(entry: Entry, effect: Effect) -> Self {
        Self {
            entries: vec![entry],
            effect,
        }
    }

    fn is_awaited(&self) -> bool {
        matches!(self.effect, Effect::Post { .. } | Effect::Told { .. })
    }
}

/// The queue in front of the writer.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Notify,
    // Holds of different processes differ in this.
    process: String,
    n_taken: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<Item>,
    n_awaited: usize,
    n_holds: usize,
    oldest: Option<Instant>,
    is_closed: bool,
    is_ended: bool,
}

impl Queue {
    pub(super) fn new(process: String) -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            process,
            n_taken: AtomicU64::new(0),
        }
    }

    /// Room for one more hold and its identifier; `None` when there is none, or the ledger is closing.
    pub(super) fn enter(&self) -> Option<String> {
        self.with(|state| {
            let has_room = state.has_room();
            state.n_holds += usize::from(has_room);
            has_room.then(|| {
                let n = self.n_taken.fetch_add(1, Ordering::Relaxed);
                format!("{}-{n:x}", self.process)
            })
        })
    }

    /// Whether a hold could be taken now.
    pub(super) fn has_room(&self) -> bool {
        self.with(|state| state.has_room())
    }

    /// The room of a hold is free again.
    pub(super) fn leave(&self) {
        self.with(|state| state.n_holds -= 1);
    }

    /// Queues an item. After the writer has ended it is dropped, and who waits for it is told so.
    pub(super) fn push(&self, item: Item) {
        let wakes = self.with(|state| {
            if state.is_ended {
                return false;
            }
            let is_awaited = item.is_awaited();
            state.n_awaited += usize::from(is_awaited);
            state.items.push_back(item);
            let is_first = state.oldest.is_none();
            state.oldest.get_or_insert_with(Instant::now);
            is_first || is_awaited || state.items.len() == GROUP_ITEMS_MAX
        });
        if wakes {
            self.changed.notify_one();
        }
    }

    /// Puts items that could not be written back to the front, in their order.
    pub(super) fn put_back(&self, items: Vec<Item>) {
        self.with(|state| {
            for item in items.into_iter().rev() {
                state.n_awaited += usize::from(item.is_awaited());
                state.items.push_front(item);
            }
            state.oldest.get_or_insert_with(Instant::now);
        });
        self.changed.notify_one();
    }

    pub(super) async fn flush(&self) -> Result<(), BillingError> {
        self.told(Vec::new(), None).await.map(drop)
    }

    /// Queues entries and waits for what becomes of them.
    pub(super) async fn told(
        &self,
        entries: Vec<Entry>,
        wallet: Option<Arc<Wallet>>,
    ) -> Result<Vec<Written>, BillingError> {
        let (done, outcome) = oneshot::channel();
        let effect = Effect::Told { wallet, done };
        self.push(Item { entries, effect });
        outcome.await.unwrap_or(Err(BillingError::Unavailable))
    }

    /// Lets the writer end once the queue is empty.
    pub(super) fn close(&self) {
        self.with(|state| state.is_closed = true);
        self.changed.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.with(|state| state.is_closed)
    }

    /// The writer ends: nothing is taken any more, who still waits is told so.
    pub(super) fn end(&self) {
        let unwritten = self.with(|state| {
            state.is_ended = true;
            std::mem::take(&mut state.items)
        });
        drop(unwritten);
    }

    /// The next group; `None` when the queue is closed and empty.
    pub(super) async fn next_group(&self) -> Option<Vec<Item>> {
        loop {
            let wait_until = match self.with(State::step) {
                Step::Write(group) => return Some(group),
                Step::End => return None,
                Step::Wait(until) => until,
            };
            match wait_until {
                Some(until) => {
                    // Either way the state is looked at again.
                    let _elapsed = tokio::time::timeout_at(until, self.changed.notified()).await;
                }
                None => self.changed.notified().await,
            }
        }
    }

    fn with<T>(&self, use_state: impl FnOnce(&mut State) -> T) -> T {
        use_state(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

enum Step {
    Write(Vec<Item>),
    Wait(Option<Instant>),
    End,
}

impl State {
    fn has_room(&self) -> bool {
        self.n_holds < HOLDS_MAX && !self.is_closed
    }

    fn step(&mut self) -> Step {
        let Some(oldest) = self.oldest else {
            // Ended in the same breath, so that nothing is queued that nobody would write.
            self.is_ended = self.is_closed;
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
