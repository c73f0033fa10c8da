//! Money reserved for one page. It is either posted, or voided with a reason.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use trawl_model::clock::Clock;
use trawl_model::{Charge, Nanodollars};
use trawl_store::{Consumed, EntryKind, LedgerEntry, WAITS_FOR_HOST};

use crate::allotment::Allotment;
use crate::error::BillingError;
use crate::funds::{Cap, Funds, FundsError, Shortfall};
use crate::key_wallet::{KeyWallet, Wallets};
use crate::queue::{ChargeSource, Effect, Item, Queue};
use crate::waiting::{Growth, released, wait_in_run};
use crate::wallet::Wallet;

/// URLs are truncated to this length in the ledger, in bytes.
pub(crate) const URL_BYTES_MAX: usize = 2048;
/// Reasons are truncated to this length in the ledger, in bytes.
pub(crate) const REASON_BYTES_MAX: usize = 512;
/// Reason in the void of a dropped reservation.
const ABANDONED: &str = "abandoned";

/// Money reserved for one page. Dropping it voids it with the reason `abandoned`.
#[derive(Debug)]
#[must_use = "a dropped reservation is voided"]
pub struct Reservation {
    id: String,
    amount: Nanodollars,
    wallet: Arc<Wallet>,
    key: Arc<KeyWallet>,
    queue: Arc<Queue>,
    clock: Clock,
    run: Arc<str>,
    url: Arc<str>,
    /// The allotment that it is a portion of, for a page of a run with a budget.
    source: Option<Portion>,
    consumed: Consumed,
    /// Reserves of its own in the ledger; a portion of an allotment has none.
    n_reserves: u32,
    is_open: bool,
}

#[derive(Debug)]
struct Portion {
    allotment: Arc<Allotment>,
    post_id: String,
}

/// A page as its ledger entries name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageOfRun<'a> {
    /// Its URL.
    pub(crate) url: &'a str,
    /// The id of its run.
    pub(crate) run: &'a str,
}

impl Reservation {
    /// Reserves money in an account, within the budget of a key.
    pub(crate) fn of_account(
        wallets: Wallets,
        queue: &Arc<Queue>,
        clock: &Clock,
        ceiling: Nanodollars,
        page: PageOfRun<'_>,
    ) -> Result<Self, FundsError> {
        let id = queue.acquire().ok_or(FundsError::Busy)?;
        let Wallets {
            account: wallet,
            key,
        } = wallets;
        let mut reservation = Self {
            id,
            amount: Nanodollars::ZERO,
            wallet: Arc::clone(&wallet),
            key: Arc::clone(&key),
            queue: Arc::clone(queue),
            clock: clock.clone(),
            run: Arc::from(page.run),
            url: Arc::from(truncated(page.url, URL_BYTES_MAX)),
            source: None,
            consumed: Consumed::default(),
            n_reserves: 0,
            is_open: false,
        };
        // Queued under the lock, so that the ledger has the decisions in their order.
        let reserve = |within: Nanodollars| -> Result<Nanodollars, FundsError> {
            wallet.change(|funds| {
                let amount = reservable(funds, within)?;
                funds.held += amount;
                if amount > Nanodollars::ZERO {
                    let reserve = reservation.reserve(amount);
                    queue.push(Item::one(reserve, Effect::Reserve));
                    reservation.n_reserves = 1;
                }
                Ok(amount)
            })
        };
        match key.reserve(ceiling, clock.now(), reserve) {
            Ok(amount) => {
                reservation.amount = amount;
                reservation.is_open = true;
                reservation.enter();
                Ok(reservation)
            }
            Err(error) => {
                queue.release();
                Err(error)
            }
        }
    }

    /// A page's portion of an allotment. Its capacity in the queue was acquired before.
    pub(crate) fn within(
        allotment: Arc<Allotment>,
        id: String,
        portion: Nanodollars,
        url: &str,
        post_id: String,
    ) -> Self {
        let reservation = Self {
            id,
            amount: portion,
            wallet: Arc::clone(&allotment.wallet),
            key: Arc::clone(&allotment.key),
            queue: Arc::clone(&allotment.queue),
            clock: allotment.clock.clone(),
            run: Arc::clone(&allotment.run),
            url: Arc::from(truncated(url, URL_BYTES_MAX)),
            source: Some(Portion { allotment, post_id }),
            consumed: Consumed::default(),
            n_reserves: 0,
            is_open: true,
        };
        reservation.enter();
        reservation
    }

    /// Reserves more, until it is at least `needed`, and `preferred` if so much is available. Waits
    /// until `deadline`, or [`RunBudget::end_waits`](crate::RunBudget::end_waits), while others
    /// hold what is missing, but not when all of them wait too.
    ///
    /// # Errors
    /// [`FundsError::Short`] names the cap. The reservation stays as it is.
    pub async fn grow(
        &mut self,
        needed: Nanodollars,
        preferred: Nanodollars,
        deadline: Instant,
    ) -> Result<(), FundsError> {
        if needed <= self.amount {
            return Ok(());
        }
        let (wallet, key) = (Arc::clone(&self.wallet), Arc::clone(&self.key));
        let allotment = self.source.as_ref().map(|one| Arc::clone(&one.allotment));
        let mut waiting: Option<Growth<'_>> = None;
        let mut others_return = None;
        loop {
            // Created before the decision, so that no release in between is missed.
            let released = released(&wallet, allotment.as_deref());
            let Err(short) = self.try_grow(needed, preferred) else {
                return Ok(());
            };
            if !short.may_pass() {
                return Err(FundsError::Short(short));
            }
            if others_return.is_none() {
                // Retries once runs know that they must return unused money.
                others_return = Some(wallet.wait());
                continue;
            }
            // What is missing may change from the run's money to the account's. The old entry ends
            // first: a page that counted twice would look like all of them.
            let same = waiting.take().filter(|growth| growth.is_of(short.cap));
            let begun = || Growth::new(short.cap, allotment.as_deref(), &key, &wallet);
            waiting = same.unwrap_or_else(begun).may_wait();
            let run = allotment.as_deref();
            if waiting.is_none() || !wait_in_run(run, released, deadline).await {
                return Err(FundsError::Short(short));
            }
        }
    }

    fn try_grow(&mut self, needed: Nanodollars, preferred: Nanodollars) -> Result<(), Shortfall> {
        let own = self.amount;
        let (key, now) = (Arc::clone(&self.key), self.clock.now());
        let amounts = (needed, preferred.max(needed));
        let grow = |preferred| self.grow_to(needed, preferred);
        self.amount = key.grow(own, amounts, now, grow)?;
        if own <= Nanodollars::ZERO {
            self.enter();
        }
        Ok(())
    }

    /// Reserves more of the run's or the account's money. Returns the new amount.
    fn grow_to(
        &mut self,
        needed: Nanodollars,
        preferred: Nanodollars,
    ) -> Result<Nanodollars, Shortfall> {
        let own = self.amount;
        if let Some(source) = &self.source {
            if source.allotment.is_short_of(needed - own) {
                source.allotment.reclaim_elsewhere();
            }
            return source.allotment.grow_page(own, needed, preferred);
        }
        let wallet = Arc::clone(&self.wallet);
        if wallet.funds().available() < needed - own {
            wallet.reclaim(None);
        }
        let amount = wallet.change(|funds| {
            let room = own + funds.available();
            if room < needed {
                return Err(funds.shortfall(needed, own));
            }
            let amount = preferred.min(room);
            funds.held += amount - own;
            // Queued under the lock, so that the ledger has the decisions in their order.
            let reserve = self.reserve(amount - own);
            self.queue.push(Item::one(reserve, Effect::Reserve));
            Ok(amount)
        })?;
        self.n_reserves += 1;
        Ok(amount)
    }

    /// Counts the page among those in flight.
    fn enter(&self) {
        if self.amount > Nanodollars::ZERO {
            self.wallet.reserved_pages.enter();
            self.key.reserved_pages.enter();
            if let Some(source) = &self.source {
                source.allotment.reserved_pages.enter();
            }
        }
    }

    /// Ends the count, after the money was released.
    fn leave(&self) {
        if self.amount <= Nanodollars::ZERO {
            return;
        }
        let (others_wait, of_key_wait) = (
            self.wallet.reserved_pages.leave(),
            self.key.reserved_pages.leave(),
        );
        if others_wait || of_key_wait {
            self.wallet.notify();
        }
        if let Some(source) = &self.source
            && source.allotment.reserved_pages.leave()
        {
            source.allotment.notify();
        }
    }

    /// The id that its reserve, post and void share in the ledger.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The reserved amount, which is the most that the page may cost.
    pub fn ceiling(&self) -> Nanodollars {
        self.amount
    }

    /// What keeps the page from having this much in all.
    pub fn shortfall(&self, wanted: Nanodollars) -> Shortfall {
        let short = match &self.source {
            Some(source) => source.allotment.shortfall(wanted, self.amount),
            None => self.wallet.shortfall(wanted, self.amount),
        };
        if short.cap == Cap::Run {
            return short;
        }
        let of_key = self.key.shortfall(wanted, self.amount, self.clock.now());
        of_key.unwrap_or(short)
    }

    /// Sets the resources that the page consumed. The ledger records them with the cost, also for
    /// a failed page.
    pub fn with_consumed(mut self, consumed: Consumed) -> Self {
        self.consumed = consumed;
        self
    }

    /// Charges the page and releases the rest. Returns once the post is durable; deliver the
    /// content only after that.
    ///
    /// Returns the charge in the ledger. It differs from `charge` if a page of a run was charged
    /// before; then nothing is charged again. A page without reserved money costs nothing and does
    /// not wait.
    ///
    /// If the future is dropped after it was polled, the page may still be charged.
    ///
    /// # Errors
    /// [`BillingError::OutgrewCeiling`] if the charge exceeds the reserved amount,
    /// [`BillingError::Unavailable`] if the ledger did not accept it. Then nothing is charged, and
    /// the reservation is voided.
    pub async fn post(mut self, charge: &Charge) -> Result<Charge, BillingError> {
        let total = charge.total();
        if total > self.amount || total < Nanodollars::ZERO {
            let error = BillingError::OutgrewCeiling {
                charge: total,
                ceiling: self.amount,
            };
            self.release(&error.to_string());
            return Err(error);
        }
        if self.amount == Nanodollars::ZERO {
            self.post_free(charge);
            return Ok(*charge);
        }
        let (done, outcome) = oneshot::channel();
        let source = self.source.as_ref().map(|source| {
            let allotment: Arc<dyn ChargeSource> = source.allotment.clone();
            allotment
        });
        let effect = Effect::Post {
            wallet: Arc::clone(&self.wallet),
            key: Arc::clone(&self.key),
            source,
            done,
        };
        let entry = LedgerEntry {
            charge: *charge,
            ..self.settlement(EntryKind::Post, -total, String::new())
        };
        self.is_open = false;
        self.key.settle(self.amount, total, entry.at);
        self.queue.push(Item::one(entry, effect));
        if let Some(source) = &self.source {
            source.allotment.end_page(self.amount, total);
        }
        self.leave();
        outcome.await.unwrap_or(Err(BillingError::Unavailable))
    }

    /// Records a page without reserved money. No money moves, so nothing waits for the disk: a
    /// crash may lose the last of these entries.
    fn post_free(&mut self, charge: &Charge) {
        self.is_open = false;
        let entry = LedgerEntry {
            charge: *charge,
            ..self.settlement(EntryKind::Post, Nanodollars::ZERO, String::new())
        };
        self.queue
            .push(Item::one(entry, Effect::Void { undone_post: None }));
        if let Some(source) = &self.source {
            source.allotment.end_page(self.amount, Nanodollars::ZERO);
        }
    }

    /// Releases the whole amount, for a page that failed. Does not wait for the ledger.
    pub fn void(mut self, reason: &str) {
        self.release(reason);
    }

    /// Releases the whole amount of a page that continues and will reserve again: a wait must not
    /// hold money. The ledger has this reason only if it has a reserve of the page, so a portion of
    /// an allotment leaves no entry.
    pub fn give_back(mut self) {
        let Some(source) = &self.source else {
            return self.release(WAITS_FOR_HOST);
        };
        self.is_open = false;
        self.queue.release();
        self.settle_key();
        source.allotment.end_page(self.amount, Nanodollars::ZERO);
        self.leave();
    }

    fn release(&mut self, reason: &str) {
        self.is_open = false;
        let reason = truncated(reason, REASON_BYTES_MAX).to_owned();
        let void = self.settlement(EntryKind::Void, Nanodollars::ZERO, reason);
        // Queued before the money is available, so that the ledger has its next reserve later.
        self.queue
            .push(Item::one(void, Effect::Void { undone_post: None }));
        self.settle_key();
        match &self.source {
            Some(source) => source.allotment.end_page(self.amount, Nanodollars::ZERO),
            None => self
                .wallet
                .change(|funds| funds.held = funds.held - self.amount),
        }
        self.leave();
    }

    /// Returns what is reserved to the budget of the key.
    fn settle_key(&self) {
        let now = self.clock.now();
        self.key.settle(self.amount, Nanodollars::ZERO, now);
    }

    /// A reserve of this much. The first has the plain id.
    fn reserve(&self, held: Nanodollars) -> LedgerEntry {
        let id = match self.n_reserves {
            0 => format!("r:{}", self.id),
            n => format!("r:{}/{n}", self.id),
        };
        LedgerEntry {
            id,
            held,
            consumed: Consumed::default(),
            ..self.settlement(EntryKind::Reserve, Nanodollars::ZERO, String::new())
        }
    }

    fn settlement(&self, kind: EntryKind, amount: Nanodollars, reason: String) -> LedgerEntry {
        let (id, held, reservation) = match &self.source {
            None => (settlement_id(&self.id), -self.amount, self.id.clone()),
            // The allotment is reduced by the charge only and retains the rest; a void does not
            // change it.
            Some(source) => {
                let id = match kind {
                    EntryKind::Post => source.post_id.clone(),
                    _ => format!("v:{}", self.id),
                };
                (id, amount, source.allotment.name.clone())
            }
        };
        LedgerEntry {
            id,
            account: self.wallet.account.id.clone(),
            kind,
            amount,
            held,
            reservation,
            run: Arc::clone(&self.run),
            url: Arc::clone(&self.url),
            key: self.key.prefix(),
            charge: Charge::default(),
            consumed: self.consumed,
            reason,
            at: self.clock.now(),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.is_open {
            self.release(ABANDONED);
        }
    }
}

/// The id that post and void of a reservation share, so that the ledger accepts only one of them.
pub(crate) fn settlement_id(reservation: &str) -> String {
    format!("s:{reservation}")
}

fn reservable(funds: &Funds, ceiling: Nanodollars) -> Result<Nanodollars, FundsError> {
    let ceiling = ceiling.max(Nanodollars::ZERO);
    match funds.available().max(Nanodollars::ZERO) {
        left if left > Nanodollars::ZERO || ceiling == Nanodollars::ZERO => Ok(ceiling.min(left)),
        _ if funds.held > Nanodollars::ZERO => Err(FundsError::AllHeld),
        _ => Err(FundsError::Empty),
    }
}

/// The beginning of a text, of at most so many bytes.
pub(crate) fn truncated(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_reserved_of_an_overdrawn_balance() {
        let reserved = |balance: i64, held: i64, ceiling: i64| {
            let funds = Funds {
                balance: Nanodollars(balance),
                held: Nanodollars(held),
            };
            reservable(&funds, Nanodollars(ceiling))
        };
        assert_eq!(reserved(-5, 0, 0), Ok(Nanodollars::ZERO));
        assert_eq!(reserved(5, 7, 0), Ok(Nanodollars::ZERO));
        assert_eq!(reserved(-5, 0, 1), Err(FundsError::Empty));
        assert_eq!(reserved(5, 7, 1), Err(FundsError::AllHeld));
        assert_eq!(reserved(5, 2, 9), Ok(Nanodollars(3)));
    }
}
