//! The allotment of a run: money reserved for many pages at once, so that a page needs one ledger
//! entry instead of two.
//!
//! The allotment grows by reserves when pages need more than is left of it, shrinks by the charges
//! of its pages, and ends with a void that returns the rest. All its entries name it as their
//! reservation.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use trawl_model::clock::Clock;
use trawl_model::{Charge, Nanodollars};
use trawl_store::{Consumed, Entry, EntryKind};

use crate::funds::FundsError;
use crate::queue::{ChargeSource, Effect, Item, Queue};
use crate::wallet::{ReturnUnused, Wallet};

/// Prefix of an allotment's name, by which the store finds outstanding allotments.
const NAME_PREFIX: &str = "p:";
/// Reason in the void that returns unused money.
const UNUSED: &str = "not needed";

/// Money that one run has reserved in its account.
#[derive(Debug)]
pub(crate) struct Allotment {
    pub(crate) wallet: Arc<Wallet>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) clock: Clock,
    pub(crate) run: Arc<str>,
    /// The `reservation` of all its entries.
    pub(crate) name: String,
    /// Maximum cost of the whole run.
    ceiling: Nanodollars,
    state: Mutex<State>,
    released: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Reserved in the account, but for no page.
    unused: Nanodollars,
    /// Reserved for pages in flight.
    in_flight: Nanodollars,
    /// Charged so far, including earlier processes.
    spent: Nanodollars,
    n_entries: u64,
    is_closed: bool,
}

/// The portion of an allotment that a page gets.
pub(crate) struct Portion {
    pub(crate) amount: Nanodollars,
    /// Why it is less than the page requested.
    pub(crate) shortage: Option<Shortage>,
}

/// Why a page got less than it requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// The run is near its ceiling.
    Ceiling,
    /// The balance of the account is nearly used up.
    Balance,
}

impl State {
    /// What the run may still reserve for pages.
    fn allowed(&self, ceiling: Nanodollars) -> Nanodollars {
        (ceiling - self.spent - self.in_flight).max(Nanodollars::ZERO)
    }
}

impl Allotment {
    /// An empty allotment for a run that may cost `ceiling` and was charged `spent` before.
    /// `unique` names it in the ledger.
    pub(crate) fn new(
        wallet: Arc<Wallet>,
        queue: Arc<Queue>,
        clock: Clock,
        run: &str,
        unique: &str,
        (ceiling, spent): (Nanodollars, Nanodollars),
    ) -> Self {
        Self {
            wallet,
            queue,
            clock,
            run: Arc::from(run),
            name: format!("{NAME_PREFIX}{unique}"),
            ceiling,
            state: Mutex::new(State {
                spent,
                ..State::default()
            }),
            released: Notify::new(),
        }
    }

    /// What the run has been charged so far.
    pub(crate) fn spent(&self) -> Nanodollars {
        self.with(|state| state.spent)
    }

    /// Resolves when a page of the run ends after this call.
    pub(crate) fn released(&self) -> Notified<'_> {
        self.released.notified()
    }

    /// Returns the unused money and accepts no more pages.
    pub(crate) fn close(&self) {
        self.with(|state| state.is_closed = true);
        self.return_unused();
    }

    /// Whether allotment and account together have less than a page would get within the ceiling.
    pub(crate) fn is_short_of(&self, requested: Nanodollars) -> bool {
        let (within_ceiling, unused) = self.with(|state| {
            let allowed = state.allowed(self.ceiling);
            (requested.min(allowed), state.unused)
        });
        unused < within_ceiling && self.wallet.funds().available() < within_ceiling - unused
    }

    /// Reserves the requested amount for a page, or what is left if that is less.
    pub(crate) fn reserve(&self, requested: Nanodollars) -> Result<Portion, FundsError> {
        self.with(|state| {
            if state.is_closed {
                return Err(FundsError::CeilingReached);
            }
            let allowed = state.allowed(self.ceiling);
            let within_ceiling = requested.min(allowed);
            if within_ceiling == Nanodollars::ZERO && requested > Nanodollars::ZERO {
                return Err(match state.in_flight {
                    Nanodollars::ZERO => FundsError::CeilingReached,
                    _ => FundsError::AllHeld,
                });
            }
            if state.unused < within_ceiling {
                self.grow(state, within_ceiling.min(allowed - state.unused));
            }
            let amount = within_ceiling.min(state.unused);
            if amount == Nanodollars::ZERO && requested > Nanodollars::ZERO {
                let funds = self.wallet.funds();
                return Err(match funds.held {
                    Nanodollars::ZERO => FundsError::Empty,
                    _ => FundsError::AllHeld,
                });
            }
            state.unused = state.unused - amount;
            state.in_flight += amount;
            let shortage = if amount < within_ceiling {
                Some(Shortage::Balance)
            } else if within_ceiling < requested {
                Some(Shortage::Ceiling)
            } else {
                None
            };
            Ok(Portion { amount, shortage })
        })
    }

    /// Reserves another page's worth on top of what is unused. Nearly all pages cost less than
    /// their ceilings, so the next ones need no reserve of their own for a while.
    fn grow(&self, state: &mut State, requested: Nanodollars) {
        let entry = self.entry(state, EntryKind::Reserve, Nanodollars::ZERO);
        let grown = self.wallet.change(|funds| {
            let grown = requested.min(funds.available());
            if grown > Nanodollars::ZERO {
                funds.held += grown;
                // Queued under the lock, so that the ledger has the decisions in their order.
                let reserve = Entry {
                    id: format!("r:{}", entry.id),
                    held: grown,
                    ..entry
                };
                self.queue.push(Item::one(reserve, Effect::Reserve));
            }
            grown
        });
        state.unused += grown.max(Nanodollars::ZERO);
    }

    /// Ends a page: `charge` of its portion is spent, the rest is unused again.
    pub(crate) fn end_page(&self, portion: Nanodollars, charge: Nanodollars) {
        self.with(|state| {
            state.in_flight = state.in_flight - portion;
            state.spent += charge;
            state.unused += portion - charge;
        });
        self.after_page();
    }

    /// Returns unused money to the account if another page waits for it.
    fn after_page(&self) {
        if self.wallet.has_waiters() || self.with(|state| state.is_closed) {
            self.return_unused();
        }
        self.released.notify_waiters();
    }

    /// An entry of the allotment itself, with an id that still lacks the prefix of its kind.
    fn entry(&self, state: &mut State, kind: EntryKind, held: Nanodollars) -> Entry {
        state.n_entries += 1;
        Entry {
            id: format!("{}/{:x}", self.name, state.n_entries),
            account: self.wallet.account.id.clone(),
            kind,
            amount: Nanodollars::ZERO,
            held,
            reservation: self.name.clone(),
            run: Arc::clone(&self.run),
            url: Arc::from(""),
            charge: Charge::default(),
            consumed: Consumed::default(),
            reason: String::new(),
            at: self.clock.now(),
        }
    }

    fn with<T>(&self, use_state: impl FnOnce(&mut State) -> T) -> T {
        use_state(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ReturnUnused for Allotment {
    fn return_unused(&self) -> bool {
        self.with(|state| {
            let unused = std::mem::take(&mut state.unused);
            if unused == Nanodollars::ZERO {
                return false;
            }
            let entry = self.entry(state, EntryKind::Void, -unused);
            let void = Entry {
                id: format!("v:{}", entry.id),
                reason: UNUSED.to_owned(),
                ..entry
            };
            // Queued before the money is available, so that the ledger has its next reserve later.
            self.queue.push(Item::one(void, Effect::Reserve));
            self.wallet.change(|funds| funds.held = funds.held - unused);
            true
        })
    }
}

impl ChargeSource for Allotment {
    fn wallet(&self) -> &Arc<Wallet> {
        &self.wallet
    }

    fn uncharge(&self, charge: Nanodollars) {
        self.with(|state| {
            state.spent = state.spent - charge;
            state.unused += charge;
        });
        self.after_page();
    }

    fn page_void(&self, post: &Entry, reason: &str) -> Entry {
        let entry = self.with(|state| self.entry(state, EntryKind::Void, Nanodollars::ZERO));
        Entry {
            id: format!("v:{}", entry.id),
            url: Arc::clone(&post.url),
            reason: reason.to_owned(),
            consumed: post.consumed,
            ..entry
        }
    }
}
