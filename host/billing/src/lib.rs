//! Money: who may spend, what is set aside, what is charged.
//!
//! Balances live in memory, exact at any concurrency, so that a page's hold is decided without waiting. Behind them one
//! writer puts entries into the ledger in groups; a charge counts once its group is durable. `page` holds, posts and
//! voids; `api` authenticates and asks for balances; the command line tops up and reads statements.
#![deny(clippy::float_arithmetic)]

mod account;
mod admin;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod faults;
mod hold;
mod idempotency;
mod key;
mod notices;
mod price;
#[cfg(test)]
mod properties;
mod purse;
#[cfg(test)]
mod purse_tests;
mod queue;
mod records;
mod seats;
mod top_up;
mod writer;

use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use trawl_model::clock::Clock;
use trawl_model::{Nanodollars, Terms};
use trawl_store::{Entry, EntryKind, OpenReserve, Store, StoreError};

pub use account::{Account, Funds};
pub use hold::{FundsError, Hold, Shortage};
pub use idempotency::{Begun, FirstRequest};
pub use key::new_key;
pub use notices::{Crossing, Crossings};
pub use price::{Prices, Tariff, bytes_for, price};
pub use purse::RunBudget;
pub use seats::{Count, SEATS_MAX, SeatPrices, Slot, SubscriptionError};
pub use top_up::{TOP_UP_MAX, TopUp, bonus};
pub use trawl_store::{
    ANSWER_BYTES_MAX, AccountId, AccountUsage, Answer, Audit, Consumed, Entry as LedgerEntry,
    EntryKind as LedgerEntryKind, KeyRecord, KindSum, Notice, Posted, PricesRow, StatementPage,
    Subscription, SubscriptionState, Threshold, Window,
};

use account::Accounts;
use idempotency::InFlight;
use queue::Queue;
use seats::Seats;

/// Why the reserves of a process that is gone were given back.
const SERVER_STOPPED: &str = "server stopped";

/// The money of every account. Clones share it.
#[derive(Clone, Debug)]
pub struct Billing {
    store: Arc<dyn Store>,
    clock: Clock,
    book: Arc<Accounts>,
    queue: Arc<Queue>,
    in_flight: Arc<InFlight>,
    seats: Arc<Seats>,
    seat_prices: Arc<SeatPrices>,
    writer: Arc<Mutex<Option<JoinHandle<()>>>>,
    /// Held while a notice is changed.
    notices_turn: Arc<Mutex<()>>,
}

/// Why money could not be moved.
#[derive(Debug, thiserror::Error)]
pub enum BillingError {
    /// The page cost more than was set aside for it. The hold was voided.
    #[error("the page costs {charge}, more than its ceiling of {ceiling}")]
    OutgrewCeiling {
        /// What it would have cost.
        charge: Nanodollars,
        /// What was set aside.
        ceiling: Nanodollars,
    },
    /// The ledger did not take the entry. Nothing was charged.
    #[error("the ledger is not available, nothing was charged")]
    Unavailable,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No such account.
    #[error("there is no account `{account}`: `trawl account list` shows those there are")]
    UnknownAccount {
        /// Identifier or name as it was asked for.
        account: String,
    },
    /// A name that no account can have.
    #[error("`{name}` cannot be an account's name: {reason}")]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A name that another account has.
    #[error("`{name}` cannot be an account's name: an account of this name exists already")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A name that no key can have.
    #[error("`{name}` cannot be a key's name: {reason}")]
    BadKeyName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The account has no such key in force.
    #[error("`{account}` has no key `{key}`: `trawl account key list` shows those it has")]
    UnknownKey {
        /// The account's name.
        account: String,
        /// First characters of the key as they were asked for.
        key: String,
    },
    /// A threshold that no balance can fall below.
    #[error("a balance cannot fall below {below}: choose zero or more")]
    BadThreshold {
        /// The threshold.
        below: Nanodollars,
    },
    /// An id that no top-up can have.
    #[error("the id of a top-up has 1 to {max} bytes, this one has {len}")]
    BadTopUpId {
        /// Its length in bytes.
        len: usize,
        /// Longest length in bytes.
        max: usize,
    },
    /// An amount that cannot be paid in.
    #[error("{amount} cannot be paid in: {reason}")]
    BadAmount {
        /// The amount.
        amount: Nanodollars,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The id of a top-up was used before for another amount.
    #[error("a top-up with the id `{id}` was made before, of {amount}: choose another id")]
    IdTaken {
        /// The id.
        id: String,
        /// What was paid in under it.
        amount: Nanodollars,
    },
    /// More seats than an account can have.
    #[error("{seats} seats cannot be bought: an account has at most {SEATS_MAX}")]
    BadSeats {
        /// How many were asked for.
        seats: u32,
    },
    /// Seats cost more than is left to spend.
    #[error(
        "they cost {price}, and {available} is left to spend: pay in with `trawl account top-up`"
    )]
    NotCovered {
        /// What they cost.
        price: Nanodollars,
        /// What is left.
        available: Nanodollars,
    },
    /// The account has no seats.
    #[error("`{account}` has no seats: `trawl account seats` buys them")]
    NoSubscription {
        /// Its name.
        account: String,
    },
    /// An idempotency key that is too long or empty.
    #[error("an idempotency key has 1 to {max} bytes, this one has {len}")]
    BadIdempotencyKey {
        /// Its length in bytes.
        len: usize,
        /// Longest length in bytes.
        max: usize,
    },
    /// The operating system gave no random numbers.
    #[error("the operating system gave no random numbers")]
    Random(#[source] getrandom::Error),
}

impl Billing {
    /// Loads accounts and keys, gives back what a process that is gone had set aside, and starts the writer.
    ///
    /// # Errors
    /// [`BillingError::Store`] when the store fails.
    pub async fn start(
        store: Arc<dyn Store>,
        clock: Clock,
        tasks: &TaskTracker,
    ) -> Result<Self, BillingError> {
        give_back_open_reserves(store.as_ref(), &clock).await?;
        let book = Arc::new(Accounts::new(store.accounts().await?, store.keys().await?));
        let seats = Arc::new(Seats::new(store.subscriptions().await?));
        let queue = Arc::new(Queue::new(key::unique()?));
        let writer = tasks.spawn(writer::run(Arc::clone(&store), Arc::clone(&queue)));
        Ok(Self {
            store,
            clock,
            book,
            queue,
            in_flight: Arc::default(),
            seats,
            seat_prices: Arc::default(),
            writer: Arc::new(Mutex::new(Some(writer))),
            notices_turn: Arc::default(),
        })
    }

    /// The account that a key opens. New and revoked keys count at once.
    pub fn authenticate(&self, key: &str) -> Option<Arc<Account>> {
        self.book.authenticate(&key::hash(key), self.clock.now())
    }

    /// Sets aside what the ceiling asks for or what is left, whichever is less, for one page of one run.
    ///
    /// The decision is made in memory; the reserve is in the ledger with the next group. A ceiling of zero needs no
    /// money.
    ///
    /// # Errors
    /// [`FundsError`] when nothing is left.
    pub fn hold(
        &self,
        account: &AccountId,
        ceiling: Nanodollars,
        page_url: &str,
        run: &str,
    ) -> Result<Hold, FundsError> {
        let wallet = self
            .book
            .wallet(account)
            .ok_or(FundsError::UnknownAccount)?;
        if wallet.funds().available() < ceiling {
            wallet.reclaim(None);
        }
        Hold::take(wallet, &self.queue, &self.clock, ceiling, page_url, run)
    }

    /// As [`Self::hold`], but waits until `deadline` while all that is left is set aside for other pages.
    ///
    /// # Errors
    /// [`FundsError`] when nothing is left, or when nothing came free in time.
    pub async fn hold_when_free(
        &self,
        account: &AccountId,
        ceiling: Nanodollars,
        page_url: &str,
        run: &str,
        deadline: Instant,
    ) -> Result<Hold, FundsError> {
        let wallet = self
            .book
            .wallet(account)
            .ok_or(FundsError::UnknownAccount)?;
        let mut waiting = None;
        loop {
            let freed = wallet.freed();
            match self.hold(account, ceiling, page_url, run) {
                Err(FundsError::AllHeld) => {}
                decided => return decided,
            }
            if waiting.is_none() {
                // Once more, now that runs give back what they do not need.
                waiting = Some(wallet.wait());
                continue;
            }
            if tokio::time::timeout_at(deadline, freed).await.is_err() {
                return Err(FundsError::AllHeld);
            }
        }
    }

    /// Whether the account has anything left, set aside or not, and the ledger takes holds: asked once before a run starts.
    /// A run whose pages cost nothing needs no money.
    ///
    /// # Errors
    /// [`FundsError::Busy`] when the ledger takes no holds now, [`FundsError::Empty`] when the balance is used up.
    pub fn admit(&self, account: &AccountId, terms: Terms) -> Result<(), FundsError> {
        if !self.queue.has_room() {
            return Err(FundsError::Busy);
        }
        if terms == Terms::Unlimited {
            return Ok(());
        }
        match self.funds(account).balance {
            left if left > Nanodollars::ZERO => Ok(()),
            _ => Err(FundsError::Empty),
        }
    }

    /// Balance and what is set aside; zeros for an unknown account.
    pub fn funds(&self, account: &AccountId) -> Funds {
        self.book
            .wallet(account)
            .map(|wallet| wallet.funds())
            .unwrap_or_default()
    }

    /// What is left to spend: the balance without what is set aside. Zero for an unknown account.
    pub fn balance(&self, account: &AccountId) -> Nanodollars {
        self.funds(account).available()
    }

    /// Returns once everything that was decided before is in the ledger.
    ///
    /// # Errors
    /// [`BillingError::Unavailable`] when the ledger does not take it.
    pub async fn flush(&self) -> Result<(), BillingError> {
        self.queue.flush().await
    }

    /// Writes what is queued and when keys were used, and ends the writer. Holds that are still open stay in the ledger as they are and are
    /// given back at the next start.
    pub async fn close(&self) {
        self.write_key_uses().await;
        self.queue.close();
        if let Some(writer) = self.writer.lock().await.take()
            && let Err(error) = writer.await
        {
            tracing::error!(error = %error, "the ledger's writer ended badly");
        }
    }
}

async fn give_back_open_reserves(store: &dyn Store, clock: &Clock) -> Result<(), BillingError> {
    let open = store.open_reserves().await?;
    if open.is_empty() {
        return Ok(());
    }
    let voids: Vec<Entry> = open
        .into_iter()
        .map(|reserve| stopped_void(reserve, clock))
        .collect();
    store.post_group(&voids).await?;
    tracing::warn!(
        n_reserves = voids.len(),
        "the last process did not end in order: what it had set aside was given back"
    );
    Ok(())
}

fn stopped_void(reserve: OpenReserve, clock: &Clock) -> Entry {
    Entry {
        id: hold::settling_id(&reserve.hold),
        account: reserve.account,
        kind: EntryKind::Void,
        amount: Nanodollars::ZERO,
        held: -reserve.held,
        hold: reserve.hold,
        run: reserve.run,
        url: reserve.url,
        charge: trawl_model::Charge::default(),
        consumed: Consumed::default(),
        reason: SERVER_STOPPED.to_owned(),
        at: clock.now(),
    }
}
