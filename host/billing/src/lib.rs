//! Billing: API keys, balances, reservations, charges, seats.
//!
//! Balances are kept in memory, exact under any concurrency, so that a reservation is decided
//! without waiting. Behind them one writer appends entries to the ledger in groups; a charge is
//! final once its group is durable. The engine reserves money for a page, then posts its charge or
//! voids it; the API authenticates keys and shows balances; operators pay in and read statements.
#![deny(clippy::float_arithmetic)]

mod accounts;
mod admin;
mod alerts;
mod allotment;
mod error;
mod funds;
mod history;
mod idempotency;
mod key;
mod key_wallet;
mod notices;
mod price;
mod queue;
mod refund;
mod reservation;
mod reserved_pages;
mod run_budget;
mod seats;
pub mod testing;
#[cfg(test)]
mod tests;
mod top_up;
mod waiting;
mod wallet;
mod writer;

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use trawl_model::clock::Clock;
use trawl_model::{Charge, Nanodollars, Terms};
use trawl_store::{EntryKind, LedgerStore, OpenReserve};

pub use alerts::{Crossing, Crossings};
pub use error::BillingError;
pub use funds::{Cap, Funds, FundsError, KeySpent, Shortfall};
pub use history::KeyUsage;
pub use idempotency::{FirstRequest, IdempotencyStart, Payment, Repeated};
pub use key::{new_key, prefix as key_prefix};
pub use key_wallet::Spender;
pub use price::{Prices, Tariff, bytes_for, price};
pub use reservation::Reservation;
pub use run_budget::{ChargedPage, RunBudget};
pub use seats::{Count, SEATS_MAX, SeatPrices, Slot, SubscriptionError};
pub use top_up::{TOP_UP_MAX, TopUp, bonus};
pub use trawl_store::{
    ANSWER_BYTES_MAX, AccountId, AccountUsage, Answer, Audit, Consumed,
    EntryKind as LedgerEntryKind, KeyPrefix, KeyRecord, KeySpending, KindSum, LedgerEntry, Notice,
    Posted, PricesRow, StatementPage, Subscription, SubscriptionState, Threshold, Window,
};
pub use wallet::Account;

use accounts::Accounts;
use idempotency::KeysInFlight;
use key_wallet::Wallets;
use queue::Queue;
use reservation::PageOfRun;
use seats::Seats;

/// Reason in the voids of reservations that the last process left open.
const SERVER_STOPPED: &str = "server stopped";

/// The money of all accounts. Clones share it.
#[derive(Clone, Debug)]
pub struct Billing {
    store: Arc<dyn LedgerStore>,
    clock: Clock,
    accounts: Arc<Accounts>,
    queue: Arc<Queue>,
    in_flight: Arc<KeysInFlight>,
    seats: Arc<Seats>,
    seat_prices: Arc<SeatPrices>,
    writer: Arc<Mutex<Option<JoinHandle<()>>>>,
    /// Serialises changes of notices, and of the budgets of keys.
    settings_lock: Arc<Mutex<()>>,
    /// Owner of changes that continue without their callers.
    tasks: TaskTracker,
}

impl Billing {
    /// Loads accounts and keys, voids the reservations that the last process left open, and starts
    /// the writer.
    ///
    /// # Errors
    /// [`BillingError::Store`] if the store fails.
    pub async fn start(
        store: Arc<dyn LedgerStore>,
        clock: Clock,
        tasks: &TaskTracker,
    ) -> Result<Self, BillingError> {
        void_open_reserves(store.as_ref(), &clock).await?;
        let accounts = Accounts::new(store.accounts().await?, store.keys().await?);
        let seats = Arc::new(Seats::new(store.subscriptions().await?));
        let queue = Arc::new(Queue::new(key::unique()?));
        let writer = tasks.spawn(writer::run(Arc::clone(&store), Arc::clone(&queue)));
        Ok(Self {
            store,
            clock,
            accounts: Arc::new(accounts),
            queue,
            in_flight: Arc::default(),
            seats,
            seat_prices: Arc::default(),
            writer: Arc::new(Mutex::new(Some(writer))),
            settings_lock: Arc::default(),
            tasks: tasks.clone(),
        })
    }

    /// Runs a change of the store and of what belongs to it in memory to its end, in a task of its
    /// own: a caller who hangs up in between does not stop it. Decision D283.
    pub async fn to_its_end<T: Send + 'static>(
        &self,
        change: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let task = self.tasks.spawn(change.in_current_span());
        task.await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    /// The account of an API key. New and revoked keys take effect immediately.
    pub fn authenticate(&self, key: &str) -> Option<Arc<Account>> {
        self.accounts
            .authenticate(&key::hash(key), self.clock.now())
    }

    /// Reserves `ceiling` for a page, or the available balance if that is less.
    ///
    /// The decision is made in memory; the reserve is written with the next group. A ceiling of
    /// zero needs no money.
    ///
    /// # Errors
    /// [`FundsError`] if nothing is available.
    pub fn reserve<'a>(
        &self,
        spender: impl Into<Spender<'a>>,
        ceiling: Nanodollars,
        page_url: &str,
        run: &str,
    ) -> Result<Reservation, FundsError> {
        let wallets = self.wallets(spender.into())?;
        if wallets.account.funds().available() < ceiling {
            wallets.account.reclaim(None);
        }
        let page = PageOfRun { url: page_url, run };
        Reservation::of_account(wallets, &self.queue, &self.clock, ceiling, page)
    }

    /// Reserves what a page is likely to cost; less only if that is all there is and nothing of it
    /// is reserved for other pages. Does not wait.
    ///
    /// # Errors
    /// [`FundsError::AllHeld`] while pages in flight hold what is missing; any other is final.
    pub fn reserve_likely<'a>(
        &self,
        spender: impl Into<Spender<'a>>,
        likely: Nanodollars,
        page_url: &str,
        run: &str,
    ) -> Result<Reservation, FundsError> {
        let wallets = self.wallets(spender.into())?;
        let wallet = &wallets.account;
        if likely > Nanodollars::ZERO {
            let must_wait = || {
                let funds = wallet.funds();
                funds.available() < likely && funds.held > Nanodollars::ZERO
            };
            if wallet.reserved_pages.is_starving() {
                return Err(FundsError::AllHeld);
            }
            if must_wait() {
                wallet.reclaim(None);
                if must_wait() {
                    return Err(FundsError::AllHeld);
                }
            }
        }
        let page = PageOfRun { url: page_url, run };
        Reservation::of_account(wallets, &self.queue, &self.clock, likely, page)
    }

    /// The wallets of a spender whose account must exist.
    pub(crate) fn wallets(&self, spender: Spender<'_>) -> Result<Wallets, FundsError> {
        self.accounts
            .wallets(spender)
            .ok_or(FundsError::UnknownAccount)
    }

    /// What keeps a page that needs this much from it now; `None` for an unknown account.
    pub fn shortfall<'a>(
        &self,
        spender: impl Into<Spender<'a>>,
        wanted: Nanodollars,
    ) -> Option<Shortfall> {
        let wallets = self.accounts.wallets(spender.into())?;
        Some(wallets.shortfall(wanted, self.clock.now()))
    }

    /// Resolves when money of this account may have become available, at the latest after a short
    /// time. Until then runs return what none of their pages needs.
    pub async fn released(&self, account: &AccountId) {
        let Some(wallet) = self.accounts.wallet(account) else {
            return;
        };
        waiting::released_soon(&wallet, None).await;
    }

    /// As [`Self::reserve_likely`], but waits until `deadline` while pages in flight hold what is
    /// missing.
    ///
    /// # Errors
    /// [`FundsError`] if the balance is used up, or nothing was released in time.
    pub async fn reserve_when_available<'a>(
        &self,
        spender: impl Into<Spender<'a>>,
        ceiling: Nanodollars,
        page_url: &str,
        run: &str,
        deadline: Instant,
    ) -> Result<Reservation, FundsError> {
        let spender = spender.into();
        let wallets = self.wallets(spender)?;
        let reserve = || self.reserve_likely(spender, ceiling, page_url, run);
        let reserved = waiting::when_available(&wallets.account, None, deadline, reserve).await;
        reserved.map_err(|error| error.or_short(|| wallets.shortfall(ceiling, self.clock.now())))
    }

    /// Checks that a run can start: the balance and the budget of the key are not used up, and the
    /// ledger accepts reservations: it can, and it is this process's for a while to come. A run
    /// whose pages cost nothing needs no money.
    ///
    /// # Errors
    /// [`FundsError::Busy`] if the ledger accepts no reservations now, [`FundsError::Empty`] if the
    /// balance is used up, [`FundsError::KeySpent`] if the budget of the key is.
    pub fn admit<'a>(
        &self,
        spender: impl Into<Spender<'a>>,
        terms: Terms,
    ) -> Result<(), FundsError> {
        let spender = spender.into();
        if !self.queue.has_capacity() || !self.may_begin() {
            return Err(FundsError::Busy);
        }
        if terms == Terms::Unlimited {
            return Ok(());
        }
        let wallets = self.accounts.wallets(spender);
        match wallets {
            Some(wallets) if wallets.account.funds().balance > Nanodollars::ZERO => {
                wallets.key.admit(self.clock.now())
            }
            _ => Err(FundsError::Empty),
        }
    }

    /// Balance and reserved money; zero for an unknown account.
    pub fn funds(&self, account: &AccountId) -> Funds {
        self.accounts
            .wallet(account)
            .map(|wallet| wallet.funds())
            .unwrap_or_default()
    }

    /// The available balance, without reserved money. Zero for an unknown account.
    pub fn balance(&self, account: &AccountId) -> Nanodollars {
        self.funds(account).available()
    }

    /// Whether work may begin: the ledger is this process's, for a while to come. Answered from
    /// memory.
    pub fn may_begin(&self) -> bool {
        self.store.may_begin()
    }

    /// Whether the ledger could not be written the last time, or is not this process's for a while
    /// to come: no page can be charged then.
    pub fn is_failing(&self) -> bool {
        self.queue.is_failing() || !self.may_begin()
    }

    /// Waits until every earlier decision is durable in the ledger.
    ///
    /// # Errors
    /// [`BillingError::Unavailable`] if the ledger does not accept it.
    pub async fn flush(&self) -> Result<(), BillingError> {
        self.queue.flush().await
    }

    /// Writes the queued entries and the uses of keys, and ends the writer. Reservations that are
    /// still open are voided at the next start.
    pub async fn close(&self) {
        self.write_key_uses().await;
        self.queue.close();
        if let Some(writer) = self.writer.lock().await.take()
            && let Err(_panic) = writer.await
        {
            tracing::error!("the ledger's writer panicked");
        }
    }
}

async fn void_open_reserves(store: &dyn LedgerStore, clock: &Clock) -> Result<(), BillingError> {
    let open = store.open_reserves().await?;
    if open.is_empty() {
        return Ok(());
    }
    // A reservation that grew has several reserves, and one void for all of them.
    let mut by_name: HashMap<String, OpenReserve> = HashMap::new();
    for reserve in open {
        match by_name.get_mut(&reserve.reservation) {
            Some(known) => known.held += reserve.held,
            None => {
                by_name.insert(reserve.reservation.clone(), reserve);
            }
        }
    }
    let voids: Vec<LedgerEntry> = by_name
        .into_values()
        .map(|reserve| void_at_start(reserve, clock))
        .collect();
    store.post_group(&voids).await?;
    tracing::warn!(
        n_reserves = voids.len(),
        "the last process did not stop cleanly: its open reservations were voided"
    );
    Ok(())
}

fn void_at_start(reserve: OpenReserve, clock: &Clock) -> LedgerEntry {
    LedgerEntry {
        id: reservation::settlement_id(&reserve.reservation),
        account: reserve.account,
        kind: EntryKind::Void,
        amount: Nanodollars::ZERO,
        held: -reserve.held,
        reservation: reserve.reservation,
        run: reserve.run,
        url: reserve.url,
        key: reserve.key,
        charge: Charge::default(),
        consumed: Consumed::default(),
        reason: SERVER_STOPPED.to_owned(),
        at: clock.now(),
    }
}
