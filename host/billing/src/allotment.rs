//! The allotment of a run: money reserved for many pages at once, so that a page needs one ledger
//! entry instead of two.
//!
//! The allotment grows by reserves when pages need more than is left of it, shrinks by the charges
//! of its pages, and ends with a void that returns the rest. All its entries name it as their
//! reservation.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio_util::sync::CancellationToken;

use trawl_model::clock::{Clock, Timestamp};
use trawl_model::{Charge, Nanodollars};
use trawl_store::{Consumed, EntryKind, LedgerEntry};

use crate::funds::{Cap, FundsError, Shortfall};
use crate::key_wallet::{KeyWallet, Wallets};
use crate::queue::{ChargeSource, Effect, Item, Payee, Queue};
use crate::reserved_pages::ReservedPages;
use crate::wallet::{ReturnUnused, Wallet};

/// Prefix of an allotment's name, by which the store finds outstanding allotments.
const NAME_PREFIX: &str = "p:";
/// Pages that an allotment's reserve is for: with 64, a page in 64 has a reserve in the ledger.
const PAGES_AHEAD: i64 = 64;
/// Reason in the void that returns unused money.
const UNUSED: &str = "not needed";

/// Money that one run has reserved in its account.
#[derive(Debug)]
pub(crate) struct Allotment {
    pub(crate) wallet: Arc<Wallet>,
    /// The wallet of the key that the run was requested with. Its lock is never taken while the
    /// state is locked.
    pub(crate) key: Arc<KeyWallet>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) clock: Clock,
    pub(crate) run: Arc<str>,
    /// The `reservation` of all its entries.
    pub(crate) name: String,
    /// Maximum cost of the whole run.
    ceiling: Nanodollars,
    state: Mutex<AllotmentState>,
    released: Notify,
    /// The pages of the run that have a portion.
    pub(crate) reserved_pages: ReservedPages,
    /// Cancelled when no page of the run waits for money any more.
    pub(crate) waits_end: CancellationToken,
}

#[derive(Debug, Default)]
struct AllotmentState {
    /// Reserved in the account, but for no page.
    unused: Nanodollars,
    /// Reserved for pages in flight.
    in_flight: Nanodollars,
    /// Charged so far, including earlier processes.
    spent: Nanodollars,
    n_entries: u64,
    is_closed: bool,
}

impl AllotmentState {
    /// What the run may still reserve for pages.
    fn allowed(&self, ceiling: Nanodollars) -> Nanodollars {
        (ceiling - self.spent - self.in_flight).max(Nanodollars::ZERO)
    }
}

impl Allotment {
    /// An empty allotment for a run that may cost `ceiling` and was charged `spent` before.
    /// `unique` names it in the ledger.
    pub(crate) fn new(
        wallets: Wallets,
        queue: Arc<Queue>,
        clock: Clock,
        (run, unique): (&str, &str),
        (ceiling, spent): (Nanodollars, Nanodollars),
    ) -> Self {
        Self {
            wallet: wallets.account,
            key: wallets.key,
            queue,
            clock,
            run: Arc::from(run),
            name: format!("{NAME_PREFIX}{unique}"),
            ceiling,
            state: Mutex::new(AllotmentState {
                spent,
                ..AllotmentState::default()
            }),
            released: Notify::new(),
            reserved_pages: ReservedPages::default(),
            waits_end: CancellationToken::new(),
        }
    }

    /// What keeps a page with the portion `own` from having this much in all.
    pub(crate) fn shortfall(&self, wanted: Nanodollars, own: Nanodollars) -> Shortfall {
        self.with(|state| self.shortfall_of(state, wanted, own))
    }

    fn shortfall_of(
        &self,
        state: &AllotmentState,
        wanted: Nanodollars,
        own: Nanodollars,
    ) -> Shortfall {
        if own + state.allowed(self.ceiling) < wanted {
            return Shortfall {
                cap: Cap::Run,
                wanted,
                of: self.ceiling,
                spent: state.spent,
                elsewhere: state.in_flight - own,
            };
        }
        self.wallet.shortfall(wanted, own + state.unused)
    }

    /// The most that the run may still be charged, pages in flight included.
    pub(crate) fn left(&self) -> Nanodollars {
        self.with(|state| (self.ceiling - state.spent).max(Nanodollars::ZERO))
    }

    /// Wakes the waiting pages of the run.
    pub(crate) fn notify(&self) {
        self.released.notify_waiters();
    }

    /// Reclaims the unused money of the account's other runs.
    pub(crate) fn reclaim_elsewhere(&self) {
        let own: &dyn ReturnUnused = self;
        self.wallet.reclaim(Some(own));
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

    /// Reserves for a page what it is likely to cost; less only if that is all there is and nothing
    /// of it is reserved for other pages.
    pub(crate) fn reserve(&self, likely: Nanodollars) -> Result<Nanodollars, FundsError> {
        self.with(|state| {
            if state.is_closed {
                return Err(FundsError::CeilingReached);
            }
            if likely <= Nanodollars::ZERO {
                return Ok(Nanodollars::ZERO);
            }
            // Pages in flight that wait for more have priority.
            if self.reserved_pages.is_starving() || self.wallet.reserved_pages.is_starving() {
                return Err(FundsError::AllHeld);
            }
            let within_ceiling = likely.min(state.allowed(self.ceiling));
            if within_ceiling < likely && state.in_flight > Nanodollars::ZERO {
                return Err(FundsError::AllHeld);
            }
            if within_ceiling == Nanodollars::ZERO {
                return Err(FundsError::CeilingReached);
            }
            self.grow(state, within_ceiling);
            if state.unused < within_ceiling {
                let is_held_elsewhere = self.wallet.funds().held > state.unused;
                if is_held_elsewhere {
                    return Err(FundsError::AllHeld);
                }
                if state.unused == Nanodollars::ZERO {
                    return Err(FundsError::Empty);
                }
            }
            let amount = within_ceiling.min(state.unused);
            state.unused = state.unused - amount;
            state.in_flight += amount;
            Ok(amount)
        })
    }

    /// Adds to a page's portion `own`, until it is at least `needed`, and `preferred` if so much is
    /// available. Returns the new portion.
    pub(crate) fn grow_page(
        &self,
        own: Nanodollars,
        needed: Nanodollars,
        preferred: Nanodollars,
    ) -> Result<Nanodollars, Shortfall> {
        self.with(|state| {
            let room = own + state.allowed(self.ceiling);
            if room < needed {
                return Err(self.shortfall_of(state, needed, own));
            }
            let preferred = preferred.min(room);
            self.grow(state, preferred - own);
            let portion = preferred.min(own + state.unused);
            if portion < needed {
                return Err(self.shortfall_of(state, needed, own));
            }
            state.unused = state.unused - (portion - own);
            state.in_flight += portion - own;
            Ok(portion)
        })
    }

    /// Makes sure that `requested` is unused, if the account has so much. `requested` is within
    /// the ceiling. More is reserved than this page needs, so that the next ones need no reserve
    /// of their own for a while; not while others wait for money.
    fn grow(&self, state: &mut AllotmentState, requested: Nanodollars) {
        if state.unused >= requested {
            return;
        }
        let room = (state.allowed(self.ceiling) - state.unused).max(Nanodollars::ZERO);
        let missing = requested - state.unused;
        let wanted = if self.wallet.has_waiters() {
            missing
        } else {
            Nanodollars(requested.0.saturating_mul(PAGES_AHEAD))
        };
        let wanted = wanted.min(room);
        let entry = self.entry(state, EntryKind::Reserve, Nanodollars::ZERO);
        let grown = self.wallet.change(|funds| {
            let grown = wanted.min(funds.available());
            if grown > Nanodollars::ZERO {
                funds.held += grown;
                // Queued under the lock, so that the ledger has the decisions in their order.
                let reserve = LedgerEntry {
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
    fn entry(&self, state: &mut AllotmentState, kind: EntryKind, held: Nanodollars) -> LedgerEntry {
        state.n_entries += 1;
        LedgerEntry {
            id: format!("{}/{:x}", self.name, state.n_entries),
            account: self.wallet.account.id.clone(),
            kind,
            amount: Nanodollars::ZERO,
            held,
            reservation: self.name.clone(),
            run: Arc::clone(&self.run),
            url: Arc::from(""),
            key: self.key.prefix(),
            charge: Charge::default(),
            consumed: Consumed::default(),
            reason: String::new(),
            at: self.clock.now(),
        }
    }

    fn with<T>(&self, use_state: impl FnOnce(&mut AllotmentState) -> T) -> T {
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
            let void = LedgerEntry {
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

impl Payee for Allotment {
    /// A refund: the account has this much back of what the run was charged.
    fn receive(&self, amount: Nanodollars, at: Timestamp) {
        self.wallet.change(|funds| funds.balance += amount);
        self.with(|state| state.spent = state.spent - amount);
        self.key.uncharge(amount, at);
        self.released.notify_waiters();
    }
}

impl ChargeSource for Allotment {
    fn wallet(&self) -> &Arc<Wallet> {
        &self.wallet
    }

    fn uncharge(&self, charge: Nanodollars, at: Timestamp) {
        self.with(|state| {
            state.spent = state.spent - charge;
            state.unused += charge;
        });
        self.key.uncharge(charge, at);
        self.after_page();
    }

    fn page_void(&self, post: &LedgerEntry, reason: &str) -> LedgerEntry {
        let entry = self.with(|state| self.entry(state, EntryKind::Void, Nanodollars::ZERO));
        LedgerEntry {
            id: format!("v:{}", entry.id),
            url: Arc::clone(&post.url),
            reason: reason.to_owned(),
            consumed: post.consumed,
            ..entry
        }
    }
}
