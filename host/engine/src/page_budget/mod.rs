//! The money of one page, from its permit to contact the host to its charge.
//!
//! Once a page may contact its host, it reserves its expected cost, and more when it turns out to
//! cost more. It releases the reservation before it waits for its host again, so pages that wait
//! for a host hold no money and many pages can share a small ceiling. A page that a cap does not
//! cover fails with an error that names the cap.

mod before;
mod costs;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokio::sync::Mutex;

use trawl_billing::{
    AccountId, Billing, Cap, FundsError, KeyPrefix, Reservation, RunBudget, Shortfall, Spender,
    Tariff,
};
use trawl_model::{Cause, Charge, Nanodollars, PageFailure, Usage};
use trawl_plan::PagePlan;

pub use before::PaidBefore;
pub(crate) use costs::Loader;
pub use costs::{CostMemory, RunCosts};

use crate::in_flight::InFlight;

/// Who pays for the pages of a run.
#[derive(Clone, Debug)]
pub struct Payer {
    /// The ledger.
    pub billing: Billing,
    /// The account that pays.
    pub account: AccountId,
    /// The key that the run was requested with; empty if that is not known.
    pub key: KeyPrefix,
    /// Name of the run in the ledger: the request's id.
    pub run_id: String,
}

impl Payer {
    /// The account and the key, as billing wants them.
    pub fn spender(&self) -> Spender<'_> {
        Spender {
            account: &self.account,
            key: self.key,
        }
    }
}

/// What pays for a page.
#[derive(Clone, Copy, Debug)]
pub enum PaidBy<'a> {
    /// An account, for a page on its own.
    Account(&'a Payer),
    /// The budget of a run, for its page with this id.
    Run {
        /// The budget.
        budget: &'a RunBudget,
        /// The account of the run.
        payer: &'a Payer,
        /// Identifies the page within the run, across restarts.
        page_id: &'a str,
    },
    /// An earlier try of the request was charged for the page: it costs nothing more.
    Before(PaidBefore<'a>),
    /// Nothing: the page is free.
    Unbilled,
}

/// What the expected cost of a page is derived from: earlier pages of its host and of its run.
#[derive(Clone, Debug, Default)]
pub struct Expectations {
    pub(crate) hosts: Arc<CostMemory>,
    pub(crate) run: Arc<RunCosts>,
}

/// The money of one page: what it has reserved, and what it may still reserve.
#[derive(Debug)]
pub struct PageBudget<'a> {
    paid_by: PaidBy<'a>,
    expectations: Expectations,
    tariff: Tariff,
    /// The page's own ceiling.
    ceiling: Nanodollars,
    /// Minimum of the first reservation, for a page that was refused before because it needed this
    /// much.
    least: Nanodollars,
    host: &'a str,
    url: &'a str,
    /// When the page stops waiting for money.
    deadline: Instant,
    /// Whether a provider was asked for the page, which may have to be paid for it.
    is_provider_asked: AtomicBool,
    /// Counts the page among those in flight until its money is settled.
    in_flight: Option<InFlight>,
    state: Mutex<BudgetState>,
}

#[derive(Debug, Default)]
struct BudgetState {
    reservation: Option<Reservation>,
    refusal: Option<FundsError>,
    /// Whether less money was left at the start than the page was expected to cost.
    was_underfunded: bool,
    /// The total that the page waits for, and the error that made it wait.
    awaited: Option<(Nanodollars, FundsError)>,
}

/// A page that a cap did not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfunded {
    /// The cap.
    pub error: FundsError,
    /// Whether something is reserved for the page: it may have been requested.
    pub is_reserved: bool,
    /// Whether less money was left at the start than a page like this one is expected to cost.
    pub was_underfunded: bool,
}

/// Why no money is reserved for a page now.
#[derive(Debug)]
pub(crate) enum ReserveError {
    /// Pages in flight hold the rest of the money: [`PageBudget::released`] resolves when a retry
    /// may succeed.
    Wait,
    /// The page cannot be paid, even if pages in flight release their money.
    Refused(PageFailure),
}

impl<'a> PageBudget<'a> {
    /// The budget of a page that has reserved nothing yet.
    pub fn new(
        paid_by: PaidBy<'a>,
        expectations: &Expectations,
        tariff: Tariff,
        plan: &'a PagePlan,
    ) -> Self {
        Self {
            paid_by,
            expectations: expectations.clone(),
            tariff,
            ceiling: plan.ceiling,
            least: Nanodollars::ZERO,
            host: plan.url.host_str().unwrap_or_default(),
            url: &plan.requested,
            deadline: Instant::now() + plan.time_max() + plan.fetch.pace.patience,
            is_provider_asked: AtomicBool::new(false),
            in_flight: None,
            state: Mutex::default(),
        }
    }

    /// The budget of a result that is produced without fetching a page.
    pub(crate) fn without_page(
        paid_by: PaidBy<'a>,
        tariff: Tariff,
        url: &'a str,
        deadline: Instant,
    ) -> Self {
        Self {
            paid_by,
            expectations: Expectations::default(),
            tariff,
            ceiling: Nanodollars::MAX,
            least: Nanodollars::ZERO,
            host: "",
            url,
            deadline,
            is_provider_asked: AtomicBool::new(false),
            in_flight: None,
            state: Mutex::default(),
        }
    }

    /// The budget of a page that is not billed and may cost this much.
    pub fn unbilled(ceiling: Nanodollars) -> PageBudget<'static> {
        PageBudget {
            paid_by: PaidBy::Unbilled,
            expectations: Expectations::default(),
            tariff: Tariff::default(),
            ceiling,
            least: Nanodollars::ZERO,
            host: "",
            url: "",
            deadline: Instant::now(),
            is_provider_asked: AtomicBool::new(false),
            in_flight: None,
            state: Mutex::default(),
        }
    }

    /// This budget, for a page that was admitted.
    #[must_use]
    pub fn admitted(self, in_flight: InFlight) -> Self {
        Self {
            in_flight: Some(in_flight),
            ..self
        }
    }

    /// What counts the page among those in flight.
    pub(crate) fn in_flight(&self) -> Option<InFlight> {
        self.in_flight.clone()
    }

    /// This budget, for a page that was refused before because it needed this much.
    #[must_use]
    pub fn expecting(self, least: Nanodollars) -> Self {
        Self { least, ..self }
    }

    /// Reserves the expected cost of loading the page in this way. Does not wait for money, because
    /// the page holds a permit for its host.
    pub(crate) async fn reserve_initial(
        &self,
        loader: Loader,
        pool_price: Nanodollars,
    ) -> Result<(), ReserveError> {
        let likely = self.likely(loader, pool_price);
        let mut state = self.state.lock().await;
        if let Some(reservation) = &mut state.reservation {
            // Another way to load the page. If less than expected is left, it may still be enough.
            let now = Instant::now().into();
            let _more = reservation.grow(likely, likely, now).await;
            return Ok(());
        }
        let reserved = match self.paid_by {
            PaidBy::Unbilled | PaidBy::Before(_) => return Ok(()),
            PaidBy::Account(payer) => {
                payer
                    .billing
                    .reserve_likely(payer.spender(), likely, self.url, &payer.run_id)
            }
            PaidBy::Run {
                budget, page_id, ..
            } => budget.reserve_now(likely, self.url, page_id),
        };
        match reserved {
            Ok(reservation) => {
                state.was_underfunded = reservation.ceiling() < likely;
                state.reservation = Some(reservation);
                state.awaited = None;
                Ok(())
            }
            Err(cause @ (FundsError::AllHeld | FundsError::Busy)) => {
                state.awaited = Some((likely, cause));
                Err(ReserveError::Wait)
            }
            Err(error) => Err(ReserveError::Refused(state.refuse(error))),
        }
    }

    /// Releases the reservation while the page waits for its host: [`Self::reserve_initial`] and
    /// [`Self::reserve_for`] reserve again. Nothing has been charged yet.
    pub(crate) async fn unreserve(&self) {
        let mut state = self.state.lock().await;
        // A reservation of nothing stays: no other page waits for it.
        let holds_money = |reservation: &mut Reservation| reservation.ceiling() > Nanodollars::ZERO;
        if let Some(reservation) = state.reservation.take_if(holds_money) {
            reservation.give_back();
        }
    }

    /// Resolves when money may have become available, at the latest after a short time.
    pub(crate) async fn released(&self) {
        match self.paid_by {
            PaidBy::Unbilled | PaidBy::Before(_) => {}
            PaidBy::Account(payer) => payer.billing.released(&payer.account).await,
            PaidBy::Run { budget, .. } => budget.released().await,
        }
    }

    /// The failure of a page whose time ended while it waited for money; `None` if it did not.
    pub(crate) async fn funds_timeout(&self) -> Option<PageFailure> {
        let mut state = self.state.lock().await;
        let (wanted, cause) = state.awaited.take()?;
        if cause == FundsError::Busy {
            return Some(state.refuse(cause));
        }
        let short = match (&state.reservation, self.paid_by) {
            (Some(reservation), _) => Some(reservation.shortfall(wanted)),
            (None, PaidBy::Unbilled | PaidBy::Before(_)) => None,
            (None, PaidBy::Account(payer)) => payer.billing.shortfall(payer.spender(), wanted),
            (None, PaidBy::Run { budget, .. }) => Some(budget.shortfall(wanted)),
        };
        Some(state.refuse(FundsError::Short(short?)))
    }

    /// Reserves what this usage costs, unless so much is reserved already; waits while pages in
    /// flight hold what is missing. Returns the reserved amount.
    ///
    /// # Errors
    /// The cap that does not allow it.
    pub(crate) async fn reserve_for(&self, usage: &Usage) -> Result<Nanodollars, PageFailure> {
        self.reserve_until(usage, self.deadline).await
    }

    async fn reserve_until(
        &self,
        usage: &Usage,
        deadline: Instant,
    ) -> Result<Nanodollars, PageFailure> {
        let needed = trawl_billing::price(usage, &self.tariff).total();
        let mut state = self.state.lock().await;
        if needed > self.ceiling {
            let short = Shortfall {
                cap: Cap::Page,
                wanted: needed,
                of: self.ceiling,
                spent: Nanodollars::ZERO,
                elsewhere: Nanodollars::ZERO,
            };
            return Err(state.refuse(FundsError::Short(short)));
        }
        // Stays if the page's time ends before this does: `funds_timeout` reports it.
        state.awaited = Some((needed, FundsError::AllHeld));
        let deadline = deadline.into();
        if state.reservation.is_none() {
            let first = needed.max(self.least).min(self.ceiling);
            let reserved = match self.paid_by {
                PaidBy::Unbilled | PaidBy::Before(_) => {
                    state.awaited = None;
                    return Ok(self.ceiling);
                }
                PaidBy::Account(payer) => {
                    let (spender, run) = (payer.spender(), &payer.run_id);
                    let billing = &payer.billing;
                    billing
                        .reserve_when_available(spender, first, self.url, run, deadline)
                        .await
                }
                PaidBy::Run {
                    budget, page_id, ..
                } => budget.reserve(first, self.url, page_id, deadline).await,
            };
            match reserved {
                Ok(reservation) => state.reservation = Some(reservation),
                Err(error) => return Err(state.refuse(error)),
            }
        }
        let Some(reservation) = &mut state.reservation else {
            return Ok(self.ceiling);
        };
        // Grows by half each time, so that a large page needs few steps.
        let half = Nanodollars(needed.0 / 2);
        let preferred = needed.saturating_add(half).min(self.ceiling);
        let grown = reservation.grow(needed, preferred, deadline).await;
        let reserved = reservation.ceiling();
        match grown {
            Ok(()) => {
                state.awaited = None;
                Ok(reserved)
            }
            Err(error) => Err(state.refuse(error)),
        }
    }

    /// Like [`Self::reserve_for`], for something optional: waits no longer than `wait_until`, and a
    /// refusal does not fail the page.
    ///
    /// # Errors
    /// The cap that does not allow it.
    pub(crate) async fn try_reserve_for(
        &self,
        usage: &Usage,
        wait_until: Instant,
    ) -> Result<(), PageFailure> {
        let before = self.refusal().await;
        let reserved = self
            .reserve_until(usage, wait_until.min(self.deadline))
            .await;
        if reserved.is_err() {
            self.state.lock().await.refusal = before;
        }
        reserved.map(drop)
    }

    /// Remembers that a provider was asked for the page: it may be paid whatever becomes of the
    /// page, so there is no other try.
    pub(crate) fn note_provider(&self) {
        self.is_provider_asked.store(true, Ordering::Relaxed);
    }

    /// Upper bound of the page's cost by what is known now; only a reservation is binding.
    pub(crate) fn spendable(&self) -> Nanodollars {
        let balance = |payer: &Payer| match self.tariff {
            Tariff::PayAsYouGo(_) => payer.billing.funds(&payer.account).balance,
            Tariff::FlatRate => Nanodollars::MAX,
        };
        let left = match self.paid_by {
            PaidBy::Unbilled | PaidBy::Before(_) => Nanodollars::MAX,
            PaidBy::Account(payer) => balance(payer),
            PaidBy::Run { budget, payer, .. } => budget.left().min(balance(payer)),
        };
        self.ceiling.min(left)
    }

    /// Bytes of content that this amount pays for, at most; `u64::MAX` if they are free.
    pub(crate) fn bytes_for(&self, amount: Nanodollars, pool_price: Nanodollars) -> u64 {
        trawl_billing::bytes_for(amount, &self.tariff, pool_price)
    }

    /// The prices of the page.
    pub(crate) const fn tariff(&self) -> &Tariff {
        &self.tariff
    }

    /// The failure of a page that loads more than this many bytes, the most that can be paid.
    pub(crate) async fn too_large(&self, n_bytes: u64, pool_price: Nanodollars) -> PageFailure {
        let usage = Usage {
            content_bytes: n_bytes.saturating_add(1),
            pool_price,
            ..Usage::default()
        };
        match self.reserve_for(&usage).await {
            Err(failure) => failure,
            Ok(_) => failure(&FundsError::AllHeld),
        }
    }

    /// Records what the page consumed, for the expected cost of later pages.
    pub(crate) fn note(&self, loader: Loader, usage: &Usage) {
        let Expectations { hosts, run } = &self.expectations;
        hosts.note(self.host, loader, run, usage);
    }

    /// Why the page could not be paid, if a cap ended it.
    pub(crate) async fn refusal(&self) -> Option<FundsError> {
        self.state.lock().await.refusal
    }

    /// The same with what it says about other pages.
    pub(crate) async fn unfunded(&self) -> Option<Unfunded> {
        let state = self.state.lock().await;
        Some(Unfunded {
            error: state.refusal?,
            is_reserved: state.reservation.is_some(),
            was_underfunded: state.was_underfunded,
        })
    }

    /// The amount that a retry of the page must reserve first, if it could be paid once the pages
    /// in flight have ended. `None` after a provider was asked: it would be asked, and paid, twice.
    pub(crate) fn retry_minimum(&self, unfunded: &Unfunded) -> Option<Nanodollars> {
        if self.is_provider_asked.load(Ordering::Relaxed) {
            return None;
        }
        match unfunded.error {
            FundsError::Short(short) if short.cap != Cap::Page && short.may_pass() => {
                Some(short.wanted)
            }
            _ => None,
        }
    }

    /// Whether something is reserved for the page.
    #[cfg(test)]
    pub(crate) async fn is_open(&self) -> bool {
        self.state.lock().await.reservation.is_some()
    }

    /// Releases the reservation, with this reason in the ledger.
    pub fn void(self, reason: &str) {
        if let Some(reservation) = self.into_reservation() {
            reservation.void(reason);
        }
    }

    /// What a page costs that an earlier try of the request was charged for, and that has failed
    /// now if there is a failure: then its charge is refunded. `None` for other pages.
    pub(crate) async fn settle_before(&self, failure: Option<&PageFailure>) -> Option<Charge> {
        let PaidBy::Before(paid) = self.paid_by else {
            return None;
        };
        Some(match failure {
            None => paid.charge,
            Some(failure) => paid.refund(self.url, failure).await,
        })
    }

    /// The reservation. A page that reserved nothing gets one of nothing, so that the ledger lists
    /// it too; `None` if that is not possible, or the page is not billed.
    pub(crate) fn into_reservation(self) -> Option<Reservation> {
        let nothing = Nanodollars::ZERO;
        self.state
            .into_inner()
            .reservation
            .or_else(|| match self.paid_by {
                PaidBy::Unbilled | PaidBy::Before(_) => None,
                PaidBy::Account(payer) => {
                    let (spender, run) = (payer.spender(), &payer.run_id);
                    let reserved = payer.billing.reserve(spender, nothing, self.url, run);
                    reserved.ok()
                }
                PaidBy::Run {
                    budget, page_id, ..
                } => budget.reserve_now(nothing, self.url, page_id).ok(),
            })
    }

    fn likely(&self, loader: Loader, pool_price: Nanodollars) -> Nanodollars {
        let Expectations { hosts, run } = &self.expectations;
        let usage = hosts.expected(self.host, loader, run, pool_price);
        let likely = trawl_billing::price(&usage, &self.tariff).total();
        likely.max(self.least).min(self.ceiling)
    }
}

impl BudgetState {
    fn refuse(&mut self, error: FundsError) -> PageFailure {
        self.awaited = None;
        self.refusal = Some(error);
        failure(&error)
    }
}

fn failure(error: &FundsError) -> PageFailure {
    PageFailure::new(Cause::Funds, error.to_string())
}
