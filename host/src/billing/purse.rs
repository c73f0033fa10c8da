//! The money of a run of many pages: set aside a slice at a time, so that a page needs one entry in the ledger and not two.
//!
//! The slice grows by reserves when pages need more than is left of it, shrinks by the charges of its pages, and ends with a
//! void that gives back the rest. Its reserves, posts and voids have the same `hold` in the ledger.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::account::Wallet;
use super::hold::{FundsError, Hold, Shortage, settling_id};
use super::queue::{Effect, Item, Queue};
use super::{Billing, key};
use crate::clock::Clock;
use crate::model::{Charge, Nanodollars};
use crate::store::{AccountId, Entry, EntryKind};

/// Begin of a slice's name; the store finds what slices have set aside by it.
pub(crate) const SLICE: &str = "p:";
const GIVEN_BACK: &str = "not needed";

/// The money of one run. Dropping it without [`Purse::close`] leaves what it holds set aside until the next start.
#[derive(Debug)]
pub struct Purse(Arc<Slice>);

#[derive(Debug)]
pub(super) struct Slice {
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
struct Share {
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
    ) -> Result<Purse, FundsError> {
        let wallet = self
            .book
            .wallet(account)
            .ok_or(FundsError::UnknownAccount)?;
        let unique = key::unique().map_err(|_| FundsError::Busy)?;
        Ok(Purse(Arc::new(Slice {
            wallet,
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
        })))
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

impl Purse {
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
        loop {
            // Asked for before the decision, so that money which comes free in between is not missed.
            let (freed, freed_elsewhere) = (slice.freed.notified(), slice.wallet.freed());
            match slice.promise(ceiling.max(Nanodollars::ZERO)) {
                Ok(share) => {
                    let id = match slice.queue.enter() {
                        Some(id) => id,
                        None => {
                            slice.take_back(share.amount);
                            return Err(FundsError::Busy);
                        }
                    };
                    return Ok(Hold::of_purse(
                        Arc::clone(slice),
                        id,
                        share.amount,
                        share.shortage,
                        page_url,
                        page_post_id(&slice.run, page_id),
                    ));
                }
                Err(FundsError::AllHeld) => {}
                Err(error) => return Err(error),
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

    /// What the run has cost so far.
    pub fn spent(&self) -> Nanodollars {
        self.0.with(|state| state.spent)
    }

    /// Gives back what is left. Pages still in flight give back theirs when they end.
    pub fn close(&self) {
        self.0.with(|state| state.is_closed = true);
        self.0.give_back_rest();
    }
}

impl Slice {
    fn promise(&self, wanted: Nanodollars) -> Result<Share, FundsError> {
        self.with(|state| {
            let allowed = self.ceiling - state.spent - state.promised;
            let of_ceiling = wanted.min(allowed.max(Nanodollars::ZERO));
            if of_ceiling == Nanodollars::ZERO && wanted > Nanodollars::ZERO {
                return Err(match state.promised {
                    Nanodollars::ZERO => FundsError::CeilingReached,
                    _ => FundsError::AllHeld,
                });
            }
            if state.left < of_ceiling {
                self.grow(state, of_ceiling);
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
            Ok(Share { amount, shortage })
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

    fn take_back(&self, share: Nanodollars) {
        self.end_page(share, Nanodollars::ZERO);
    }

    /// Money that nobody here needs now is not kept from other runs that wait for it.
    fn after_page(&self) {
        let is_wanted = self.wallet.funds().available() <= Nanodollars::ZERO;
        if is_wanted || self.with(|state| state.is_closed) {
            self.give_back_rest();
        }
        self.freed.notify_waiters();
    }

    fn give_back_rest(&self) {
        self.with(|state| {
            let rest = std::mem::take(&mut state.left);
            if rest == Nanodollars::ZERO {
                return;
            }
            let entry = self.entry(state, EntryKind::Void, -rest);
            let id = match state.is_closed && state.promised == Nanodollars::ZERO {
                true => settling_id(&self.name),
                false => format!("v:{}", entry.id),
            };
            let void = Entry {
                id,
                reason: GIVEN_BACK.to_owned(),
                ..entry
            };
            // Queued first: what the money is reserved for next comes after it in the ledger.
            self.queue.push(Item::one(void, Effect::Reserve));
            self.wallet.change(|funds| funds.held = funds.held - rest);
        });
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
