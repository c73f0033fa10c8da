//! Money set aside for one page. It ends in exactly one of two ways: posted, or voided with a reason.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::BillingError;
use super::account::{Funds, Wallet};
use super::purse::Allotment;
use super::queue::{Effect, Item, Queue};
use trawl_model::clock::Clock;
use trawl_model::{Charge, Nanodollars};
use trawl_store::{Consumed, Entry, EntryKind};

/// Longest address that goes into the ledger, in bytes; the rest is cut off.
const URL_BYTES_MAX: usize = 2048;
/// Longest reason that goes into the ledger, in bytes; the rest is cut off.
const REASON_BYTES_MAX: usize = 512;
const ABANDONED: &str = "abandoned";

/// Money set aside for one page. Dropping it gives the money back with the reason `abandoned`.
#[derive(Debug)]
#[must_use = "a dropped hold is voided"]
pub struct Hold {
    id: String,
    amount: Nanodollars,
    wallet: Arc<Wallet>,
    queue: Arc<Queue>,
    clock: Clock,
    run: Arc<str>,
    url: Arc<str>,
    /// The slice it is a share of, for a page of a run with a purse.
    share: Option<Reservation>,
    consumed: Consumed,
    is_open: bool,
}

#[derive(Debug)]
struct Reservation {
    slice: Arc<Allotment>,
    post_id: String,
    shortage: Option<Shortage>,
}

/// Why a page got less than it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// The run is near its ceiling.
    Ceiling,
    /// The account is near its end.
    Balance,
}

/// Why nothing could be set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FundsError {
    /// The balance is used up. Decision D74.
    #[error("balance is zero")]
    Empty,
    /// All that is left is set aside for pages in flight.
    #[error("the ceiling cannot be reserved: the whole balance is set aside for pages in flight")]
    AllHeld,
    /// The run has spent all that it may, or its purse is closed.
    #[error("the run has spent all that `max_credits_allowed` allows")]
    CeilingReached,
    /// There is no such account.
    #[error("the account does not exist")]
    UnknownAccount,
    /// More pages are in flight than the ledger takes, or it is closing; try again later.
    #[error("too many pages are in flight")]
    Busy,
}

impl Hold {
    pub(super) fn take(
        wallet: Arc<Wallet>,
        queue: &Arc<Queue>,
        clock: &Clock,
        ceiling: Nanodollars,
        url: &str,
        run: &str,
    ) -> Result<Self, FundsError> {
        let id = queue.enter().ok_or(FundsError::Busy)?;
        let mut hold = Self {
            id,
            amount: Nanodollars::ZERO,
            wallet: Arc::clone(&wallet),
            queue: Arc::clone(queue),
            clock: clock.clone(),
            run: Arc::from(run),
            url: Arc::from(cut(url, URL_BYTES_MAX)),
            share: None,
            consumed: Consumed::default(),
            is_open: false,
        };
        // The reserve is queued before anyone else can decide, so the ledger sees decisions in their order.
        let reserved = wallet.change(|funds| {
            hold.amount = reservable(funds, ceiling)?;
            funds.held += hold.amount;
            if hold.amount > Nanodollars::ZERO {
                queue.push(Item::one(hold.reserve(), Effect::Reserve));
            }
            Ok(())
        });
        match reserved {
            Ok(()) => {
                hold.is_open = true;
                Ok(hold)
            }
            Err(error) => {
                queue.leave();
                Err(error)
            }
        }
    }

    /// A page's share of a slice. Its room in the queue was entered before.
    pub(super) fn of_purse(
        slice: Arc<Allotment>,
        id: String,
        amount: Nanodollars,
        shortage: Option<Shortage>,
        url: &str,
        post_id: String,
    ) -> Self {
        Self {
            id,
            amount,
            wallet: Arc::clone(slice.wallet()),
            queue: Arc::clone(slice.queue()),
            clock: slice.clock().clone(),
            run: Arc::clone(slice.run()),
            url: Arc::from(cut(url, URL_BYTES_MAX)),
            share: Some(Reservation {
                slice,
                post_id,
                shortage,
            }),
            consumed: Consumed::default(),
            is_open: true,
        }
    }

    /// Why less is set aside than the page asked for; `None` when it is all, or when the page is no part of a run.
    pub fn shortage(&self) -> Option<Shortage> {
        self.share.as_ref()?.shortage
    }

    /// Its identifier: that of the reserve, post and void in the ledger.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What is set aside: the most that the page may cost.
    pub fn ceiling(&self) -> Nanodollars {
        self.amount
    }

    /// The same with what the page consumed, which stands in the ledger beside what it costs, also when it failed.
    pub fn with_consumed(mut self, consumed: Consumed) -> Self {
        self.consumed = consumed;
        self
    }

    /// Takes the charge and gives the rest back; ends once that is durable. Content is released after that.
    ///
    /// Returns the charge that stands in the ledger: another than the one given when a page of a run with a purse was paid
    /// before, in which case nothing is charged again.
    ///
    /// When the future is dropped after it was polled, the charge may still be taken. A page that nothing was set aside for
    /// costs nothing, and does not wait.
    ///
    /// # Errors
    /// [`BillingError::OutgrewCeiling`] when the charge is more than was set aside, [`BillingError::Unavailable`] when
    /// the ledger did not take it. Nothing is charged then, and the hold is voided.
    pub async fn post(mut self, charge: &Charge) -> Result<Charge, BillingError> {
        let total = charge.total();
        if total > self.amount || total < Nanodollars::ZERO {
            let error = BillingError::OutgrewCeiling {
                charge: total,
                ceiling: self.amount,
            };
            self.give_back(&error.to_string());
            return Err(error);
        }
        if self.amount == Nanodollars::ZERO {
            self.note(charge);
            return Ok(*charge);
        }
        let (done, outcome) = oneshot::channel();
        let effect = Effect::Post {
            wallet: Arc::clone(&self.wallet),
            slice: self.share.as_ref().map(|share| Arc::clone(&share.slice)),
            done,
        };
        let entry = Entry {
            charge: *charge,
            ..self.settling(EntryKind::Post, -total, String::new())
        };
        self.is_open = false;
        self.queue.push(Item::one(entry, effect));
        if let Some(share) = &self.share {
            share.slice.end_page(self.amount, total);
        }
        outcome.await.unwrap_or(Err(BillingError::Unavailable))
    }

    /// Notes a page that costs nothing and that nothing was set aside for. No money moves, so nobody has to wait for the
    /// disk: after a crash the last of such lines may be missing.
    fn note(&mut self, charge: &Charge) {
        self.is_open = false;
        let entry = Entry {
            charge: *charge,
            ..self.settling(EntryKind::Post, Nanodollars::ZERO, String::new())
        };
        self.queue
            .push(Item::one(entry, Effect::Void { undone_post: None }));
        if let Some(share) = &self.share {
            share.slice.end_page(self.amount, Nanodollars::ZERO);
        }
    }

    /// Gives everything back, for a page that failed. Does not wait for the ledger.
    pub fn void(mut self, reason: &str) {
        self.give_back(reason);
    }

    fn give_back(&mut self, reason: &str) {
        self.is_open = false;
        let reason = cut(reason, REASON_BYTES_MAX).to_owned();
        let void = self.settling(EntryKind::Void, Nanodollars::ZERO, reason);
        // Queued first: what the money is reserved for next comes after it in the ledger.
        self.queue
            .push(Item::one(void, Effect::Void { undone_post: None }));
        match &self.share {
            Some(share) => share.slice.end_page(self.amount, Nanodollars::ZERO),
            None => self
                .wallet
                .change(|funds| funds.held = funds.held - self.amount),
        }
    }

    fn reserve(&self) -> Entry {
        Entry {
            id: format!("r:{}", self.id),
            held: self.amount,
            consumed: Consumed::default(),
            ..self.settling(EntryKind::Reserve, Nanodollars::ZERO, String::new())
        }
    }

    fn settling(&self, kind: EntryKind, amount: Nanodollars, reason: String) -> Entry {
        let (id, held, hold) = match &self.share {
            None => (settling_id(&self.id), -self.amount, self.id.clone()),
            // The charge comes out of the slice, which keeps the rest; a page that failed leaves it as it is.
            Some(share) => {
                let id = match kind {
                    EntryKind::Post => share.post_id.clone(),
                    _ => format!("v:{}", self.id),
                };
                (id, amount, share.slice.name().to_owned())
            }
        };
        Entry {
            id,
            account: self.wallet.account.id.clone(),
            kind,
            amount,
            held,
            hold,
            run: Arc::clone(&self.run),
            url: Arc::clone(&self.url),
            charge: Charge::default(),
            consumed: self.consumed,
            reason,
            at: self.clock.now(),
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.is_open {
            self.give_back(ABANDONED);
        }
    }
}

/// Post and void of a hold share this id, so the ledger takes only one of them, once.
pub(super) fn settling_id(hold: &str) -> String {
    format!("s:{hold}")
}

fn reservable(funds: &Funds, ceiling: Nanodollars) -> Result<Nanodollars, FundsError> {
    let ceiling = ceiling.max(Nanodollars::ZERO);
    match funds.available() {
        left if left > Nanodollars::ZERO || ceiling == Nanodollars::ZERO => Ok(ceiling.min(left)),
        _ if funds.held > Nanodollars::ZERO => Err(FundsError::AllHeld),
        _ => Err(FundsError::Empty),
    }
}

fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
