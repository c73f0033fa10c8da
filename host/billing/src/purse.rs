//! The money of a run of many pages: set aside a slice at a time, so that a page needs one entry in the ledger and not two.
//!
//! The slice grows by reserves when pages need more than is left of it, shrinks by the charges of its pages, and ends with a
//! void that gives back the rest. Its reserves, posts and voids have the same `hold` in the ledger.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::account::Wallet;
use super::hold::{FundsError, Hold, Shortage};
use super::queue::{Effect, Item, Queue};
use super::{Billing, key};
use trawl_model::clock::Clock;
use trawl_model::{Charge, Nanodollars};
use trawl_store::{AccountId, Consumed, Entry, EntryKind, StoreError};

/// Begin of a slice's name; the store finds what slices have set aside by it.
const SLICE: &str = "p:";
const GIVEN_BACK: &str = "not needed";

/// The money of one run. Dropping it gives back what it holds for no page.
#[derive(Debug)]
pub struct RunBudget(Arc<Allotment>);

impl Drop for RunBudget {
    fn drop(&mut self) {
        self.close();
    }
}

#[derive(Debug)]
pub(super) struct Allotment {
    wallet: Arc<Wallet>,
    queue: Arc<Queue>,
    clock: Clock,
    run: Arc<str>,
    /// The `hold` of all its entries.
    name: String,
    /// Most the whole run may cost.
    ceiling: Nanodollars,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Set aside in the account and promised to no page.
    left: Nanodollars,
    /// Promised to pages in flight.
    promised: Nanodollars,
    /// Charged so far, by earlier processes too.
    spent: Nanodollars,
    n_entries: u64,
    is_closed: bool,
}

/// What a page would like and what it gets.
struct Reservation {
    amount: Nanodollars,
    shortage: Option<Shortage>,
}

impl Billing {
    /// A purse for a run that may cost `ceiling` and has cost `spent` before.
    ///
    /// # Errors
    /// [`FundsError::UnknownAccount`], or [`FundsError::Busy`] when the operating system gives no random numbers.
    pub fn purse(
        &self,
        account: &AccountId,
        run: &str,
        ceiling: Nanodollars,
        spent: Nanodollars,
    ) -> Result<RunBudget, FundsError> {
        let wallet = self
            .book
            .wallet(account)
            .ok_or(FundsError::UnknownAccount)?;
        let unique = key::unique().map_err(|_| FundsError::Busy)?;
        let slice = Arc::new(Allotment {
            wallet: Arc::clone(&wallet),
            queue: Arc::clone(&self.queue),
            clock: self.clock.clone(),
            run: Arc::from(run),
            name: format!("{SLICE}{unique}"),
            ceiling,
            state: Mutex::new(State {
                spent,
                ..State::default()
            }),
            freed: Notify::new(),
        });
        wallet.add_slice(&slice);
        Ok(RunBudget(slice))
    }

    /// What the pages of a run have cost, by the ledger: what a purse for the rest of the run is told as `spent`.
    ///
    /// # Errors
    /// The store failed.
    pub async fn spent_by_run(&self, run: &str) -> Result<Nanodollars, StoreError> {
        self.store.run_spent(run).await
    }

    /// What a page of a run was charged before, by this or an earlier process.
    ///
    /// # Errors
    /// The store failed.
    pub async fn charged(
        &self,
        run: &str,
        page_id: &str,
    ) -> Result<Option<Charge>, super::BillingError> {
        let entry = self.store.entry(&page_post_id(run, page_id)).await?;
        let post = entry.filter(|posted| posted.entry.kind == EntryKind::Post);
        Ok(post.map(|posted| posted.entry.charge))
    }
}

impl RunBudget {
    /// Promises a page its ceiling, or what is left when that is less; waits while pages in flight have all that is left.
    /// `page_id` names the page within the run for ever: a page with the same name is charged once.
    ///
    /// # Errors
    /// [`FundsError::CeilingReached`] when the run has spent its ceiling, otherwise as [`Billing::hold_when_free`].
    pub async fn hold(
        &self,
        ceiling: Nanodollars,
        page_url: &str,
        page_id: &str,
        deadline: Instant,
    ) -> Result<Hold, FundsError> {
        let slice = &self.0;
        let mut waiting = None;
        loop {
            // Asked for before the decision, so that money which comes free in between is not missed.
            let (freed, freed_elsewhere) = (slice.freed.notified(), slice.wallet.freed());
            match self.hold_now(ceiling, page_url, page_id) {
                Err(FundsError::AllHeld) => {}
                decided => return decided,
            }
            if waiting.is_none() {
                // Once more, now that other runs give back what they do not need.
                waiting = Some(slice.wallet.wait());
                continue;
            }
            let freed = async {
                tokio::select! {
                    () = freed => {}
                    () = freed_elsewhere => {}
                }
            };
            if tokio::time::timeout_at(deadline, freed).await.is_err() {
                return Err(FundsError::AllHeld);
            }
        }
    }

    fn hold_now(
        &self,
        ceiling: Nanodollars,
        page_url: &str,
        page_id: &str,
    ) -> Result<Hold, FundsError> {
        let slice = &self.0;
        let wanted = ceiling.max(Nanodollars::ZERO);
        // Room first: without it nothing may change, or a ledger that fails for long would be asked for more and more.
        let id = slice.queue.enter().ok_or(FundsError::Busy)?;
        if slice.lacks(wanted) {
            slice.wallet.reclaim(Some(slice));
        }
        match slice.promise(wanted) {
            Ok(share) => Ok(Hold::of_purse(
                Arc::clone(slice),
                id,
                share.amount,
                share.shortage,
                page_url,
                page_post_id(&slice.run, page_id),
            )),
            Err(error) => {
                slice.queue.leave();
                Err(error)
            }
        }
    }

    /// What the run has cost so far.
    pub fn spent(&self) -> Nanodollars {
        self.0.with(|state| state.spent)
    }

    /// Gives back what is left and takes no more pages. Pages still in flight give back theirs when they end.
    pub fn close(&self) {
        self.0.with(|state| state.is_closed = true);
        self.0.give_back_rest();
    }
}

impl State {
    /// What the run may still promise to pages.
    fn allowed(&self, ceiling: Nanodollars) -> Nanodollars {
        (ceiling - self.spent - self.promised).max(Nanodollars::ZERO)
    }
}

impl Allotment {
    /// Whether slice and account together have less than a page would get of the ceiling.
    fn lacks(&self, wanted: Nanodollars) -> bool {
        let (of_ceiling, left) = self.with(|state| {
            let allowed = state.allowed(self.ceiling);
            (wanted.min(allowed), state.left)
        });
        left < of_ceiling && self.wallet.funds().available() < of_ceiling - left
    }

    fn promise(&self, wanted: Nanodollars) -> Result<Reservation, FundsError> {
        self.with(|state| {
            if state.is_closed {
                return Err(FundsError::CeilingReached);
            }
            let allowed = state.allowed(self.ceiling);
            let of_ceiling = wanted.min(allowed);
            if of_ceiling == Nanodollars::ZERO && wanted > Nanodollars::ZERO {
                return Err(match state.promised {
                    Nanodollars::ZERO => FundsError::CeilingReached,
                    _ => FundsError::AllHeld,
                });
            }
            if state.left < of_ceiling {
                self.grow(state, of_ceiling.min(allowed - state.left));
            }
            let amount = of_ceiling.min(state.left);
            if amount == Nanodollars::ZERO && wanted > Nanodollars::ZERO {
                let funds = self.wallet.funds();
                return Err(match funds.held {
                    Nanodollars::ZERO => FundsError::Empty,
                    _ => FundsError::AllHeld,
                });
            }
            state.left = state.left - amount;
            state.promised += amount;
            let shortage = if amount < of_ceiling {
                Some(Shortage::Balance)
            } else if of_ceiling < wanted {
                Some(Shortage::Ceiling)
            } else {
                None
            };
            Ok(Reservation { amount, shortage })
        })
    }

    /// Sets more aside: what a page wants once more, so that pages which cost less than their ceilings, as nearly all do,
    /// need no reserve of their own for long.
    fn grow(&self, state: &mut State, wanted: Nanodollars) {
        let entry = self.entry(state, EntryKind::Reserve, Nanodollars::ZERO);
        let grown = self.wallet.change(|funds| {
            let grown = wanted.min(funds.available());
            if grown > Nanodollars::ZERO {
                funds.held += grown;
                // Queued before anyone else can decide, so the ledger sees decisions in their order.
                let reserve = Entry {
                    id: format!("r:{}", entry.id),
                    held: grown,
                    ..entry
                };
                self.queue.push(Item::one(reserve, Effect::Reserve));
            }
            grown
        });
        state.left += grown.max(Nanodollars::ZERO);
    }

    /// A page has ended: `charged` of its share is spent, the rest is free again.
    pub(super) fn end_page(&self, share: Nanodollars, charged: Nanodollars) {
        self.with(|state| {
            state.promised = state.promised - share;
            state.spent += charged;
            state.left += share - charged;
        });
        self.after_page();
    }

    /// A charge was not taken: it is free again.
    pub(super) fn uncharge(&self, charge: Nanodollars) {
        self.with(|state| {
            state.spent = state.spent - charge;
            state.left += charge;
        });
        self.after_page();
    }

    /// Money that nobody here needs now is not kept from who waits for it.
    fn after_page(&self) {
        if self.wallet.is_waited_for() || self.with(|state| state.is_closed) {
            self.give_back_rest();
        }
        self.freed.notify_waiters();
    }

    /// Gives back what is promised to no page; whether there was anything.
    pub(super) fn give_back_rest(&self) -> bool {
        self.with(|state| {
            let rest = std::mem::take(&mut state.left);
            if rest == Nanodollars::ZERO {
                return false;
            }
            let entry = self.entry(state, EntryKind::Void, -rest);
            let void = Entry {
                id: format!("v:{}", entry.id),
                reason: GIVEN_BACK.to_owned(),
                ..entry
            };
            // Queued first: what the money is reserved for next comes after it in the ledger.
            self.queue.push(Item::one(void, Effect::Reserve));
            self.wallet.change(|funds| funds.held = funds.held - rest);
            true
        })
    }

    /// The void of a page whose post was not taken. The money stays in the slice.
    pub(super) fn page_void(&self, post: &Entry, reason: &str) -> Entry {
        let entry = self.with(|state| self.entry(state, EntryKind::Void, Nanodollars::ZERO));
        Entry {
            id: format!("v:{}", entry.id),
            url: Arc::clone(&post.url),
            reason: reason.to_owned(),
            consumed: post.consumed,
            ..entry
        }
    }

    /// An entry of the slice itself; its id still lacks its kind.
    fn entry(&self, state: &mut State, kind: EntryKind, held: Nanodollars) -> Entry {
        state.n_entries += 1;
        Entry {
            id: format!("{}/{:x}", self.name, state.n_entries),
            account: self.wallet.account.id.clone(),
            kind,
            amount: Nanodollars::ZERO,
            held,
            hold: self.name.clone(),
            run: Arc::clone(&self.run),
            url: Arc::from(""),
            charge: Charge::default(),
            consumed: Consumed::default(),
            reason: String::new(),
            at: self.clock.now(),
        }
    }

    pub(super) fn wallet(&self) -> &Arc<Wallet> {
        &self.wallet
    }

    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn run(&self) -> &Arc<str> {
        &self.run
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn with<T>(&self, use_state: impl FnOnce(&mut State) -> T) -> T {
        use_state(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The one id that a page of a run is charged under.
fn page_post_id(run: &str, page_id: &str) -> String {
    format!("c:{run}:{page_id}")
}
