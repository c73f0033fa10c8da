//! Buying, renewing, stopping and resuming seats.

use std::time::Duration;

use super::{SEATS_MAX, is_over, month};
use crate::account::Wallet;
use crate::{Billing, BillingError};
use trawl_model::clock::Timestamp;
use trawl_model::{Charge, Nanodollars};
use trawl_store::{
    AccountId, Consumed, Entry, EntryKind, Subscription, SubscriptionState, Written,
};

/// Times that a charge is written when the store fails, and the pause before the next.
const TRIES: u32 = 10;
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// Longest pause between two looks for subscriptions that are due.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// Shortest pause: a store that fails is not asked all the time.
const PAUSE_MIN: Duration = Duration::from_secs(1);

/// Why an account may not use the Unlimited routes.
#[derive(Debug, thiserror::Error)]
pub enum SubscriptionError {
    /// It has no subscription.
    #[error("the account has no Unlimited subscription")]
    Required,
    /// Its subscription is suspended, or the balance did not cover the renewal.
    #[error("the Unlimited subscription is not active")]
    Inactive,
    /// The renewal that is due could not be written.
    #[error(transparent)]
    Failed(#[from] BillingError),
}

/// Money that is set aside for seats until they are written. Dropping it gives the money back.
struct SetAside<'a> {
    wallet: &'a Wallet,
    price: Nanodollars,
    is_open: bool,
}

impl<'a> SetAside<'a> {
    fn take(wallet: &'a Wallet, price: Nanodollars) -> Option<Self> {
        if wallet.funds().available() < price {
            wallet.reclaim(None);
        }
        let is_open = wallet.change(|funds| {
            let is_covered = funds.available() >= price;
            if is_covered {
                funds.held += price;
            }
            is_covered
        });
        is_open.then(|| Self {
            wallet,
            price,
            is_open,
        })
    }

    /// The ledger has the charge.
    fn spend(mut self) {
        self.is_open = false;
        self.wallet.change(|funds| {
            funds.held = funds.held - self.price;
            funds.balance = funds.balance - self.price;
        });
    }

    /// Nobody knows whether the ledger has the charge: the money is spent by nobody until the next start, which does.
    fn keep(mut self) {
        self.is_open = false;
    }
}

impl Drop for SetAside<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.wallet
                .change(|funds| funds.held = funds.held - self.price);
        }
    }
}

impl Billing {
    /// Whether the account may use the Unlimited routes now. A renewal that is due is made first.
    ///
    /// # Errors
    /// [`SubscriptionError`].
    pub async fn unlimited(&self, account: &AccountId) -> Result<(), SubscriptionError> {
        let row = self
            .subscription(account)
            .ok_or(SubscriptionError::Required)?;
        if self.is_due(&row) {
            let _one = self.seats.changing.lock().await;
            self.renew(account).await?;
        }
        match self.subscription(account) {
            None => Err(SubscriptionError::Required),
            Some(row) if row.state == SubscriptionState::Active => Ok(()),
            Some(_) => Err(SubscriptionError::Inactive),
        }
    }

    /// Sets the account's seats, and returns the subscription with what was charged now.
    ///
    /// The first ones, and those after a lapse, are paid for a month from now. More than there are cost the difference for
    /// the rest of the period. Fewer count from the next renewal on; none end the subscription then. As many as there are
    /// change nothing, so that saying it again costs nothing.
    ///
    /// Decision D100, Decision D101.
    ///
    /// # Errors
    /// [`BillingError::BadSeats`], [`BillingError::NotCovered`] when the balance does not cover them,
    /// [`BillingError::NoSubscription`] when there is nothing to end, or the store failed.
    pub async fn set_seats(
        &self,
        account: &AccountId,
        seats: u32,
    ) -> Result<(Option<Subscription>, Nanodollars), BillingError> {
        if seats > SEATS_MAX {
            return Err(BillingError::BadSeats { seats });
        }
        self.known(account.as_str())?;
        let _one = self.seats.changing.lock().await;
        let mut row = self.subscription(account);
        if row
            .as_ref()
            .is_some_and(|row| row.state == SubscriptionState::Active)
        {
            self.renew(account).await?;
            row = self.subscription(account);
        }
        let now = self.clock.now();
        let charged = match row {
            Some(row) if now < row.to && row.state != SubscriptionState::Lapsed => {
                self.change_seats(row, seats, now).await?
            }
            Some(row) if seats == 0 || row.state == SubscriptionState::Suspended => {
                // Nothing is paid for: a suspended subscription is paid when it is resumed.
                self.save(Subscription {
                    seats,
                    next_seats: seats,
                    state: match seats {
                        0 => SubscriptionState::Lapsed,
                        _ => row.state,
                    },
                    ..row
                })
                .await?;
                Nanodollars::ZERO
            }
            None if seats == 0 => return Err(self.no_subscription(account)),
            Some(_) | None => self.begin_month(account, seats, now, now).await?,
        };
        Ok((self.subscription(account), charged))
    }

    /// Stops the use of the account's seats. The period goes on, and is not renewed while it is stopped.
    ///
    /// # Errors
    /// [`BillingError::NoSubscription`], or the store failed.
    pub async fn suspend_seats(&self, account: &AccountId) -> Result<(), BillingError> {
        let _one = self.seats.changing.lock().await;
        let row = self.subscribed(account)?;
        self.save(Subscription {
            state: SubscriptionState::Suspended,
            ..row
        })
        .await
    }

    /// Lets the account use its seats again, and returns what was charged: a period that has ended meanwhile is followed by
    /// one that begins now, if the balance covers it.
    ///
    /// # Errors
    /// [`BillingError::NoSubscription`], or the store failed.
    pub async fn resume_seats(&self, account: &AccountId) -> Result<Nanodollars, BillingError> {
        let _one = self.seats.changing.lock().await;
        let row = self.subscribed(account)?;
        if row.state == SubscriptionState::Suspended {
            let state = match self.clock.now() < row.to {
                true => SubscriptionState::Active,
                false => SubscriptionState::Lapsed,
            };
            self.save(Subscription { state, ..row }).await?;
        }
        self.renew(account).await
    }

    /// Renews what is due and covered, for as long as it is polled.
    pub async fn keep_seats(&self) {
        loop {
            self.renew_due().await;
            let now = self.clock.now();
            let ends = self.seats.rows().into_iter().filter(|row| {
                // A lapsed one waits for money, not for a time.
                row.state == SubscriptionState::Active
            });
            let next = ends.map(|row| row.to.0.saturating_sub(now.0)).min();
            let next = next.and_then(|millis| u64::try_from(millis).ok());
            let pause = next.map_or(LOOK_AGAIN, Duration::from_millis);
            let pause = tokio::time::sleep(pause.clamp(PAUSE_MIN, LOOK_AGAIN));
            tokio::select! {
                () = pause => {}
                () = self.seats.paid_in.notified() => {}
            }
        }
    }

    /// Renews every subscription whose period is over, as far as the balances cover it.
    pub async fn renew_due(&self) {
        for row in self.seats.rows() {
            if !self.is_due(&row) {
                continue;
            }
            let _one = self.seats.changing.lock().await;
            if let Err(error) = self.renew(&row.account).await {
                tracing::error!(account = %row.account, error = %error, "a subscription could not be renewed");
            }
        }
    }

    /// Whether something is to be done: decided without waiting, since every request asks.
    fn is_due(&self, row: &Subscription) -> bool {
        match row.state {
            SubscriptionState::Active => row.to <= self.clock.now(),
            SubscriptionState::Lapsed => {
                !is_over(row)
                    && self.balance(&row.account) >= self.seat_prices.month(row.next_seats)
            }
            SubscriptionState::Suspended => false,
        }
    }

    /// Follows a period that is over by the next one, or lets the subscription lapse when the balance does not cover it.
    ///
    /// Decision D101: a period follows the last one without a gap, unless it would be over by now
    /// as well; that one, and one after a lapse, begins now. Nobody pays for a month in which
    /// nothing was served. Returns what was charged.
    async fn renew(&self, account: &AccountId) -> Result<Nanodollars, BillingError> {
        let now = self.clock.now();
        let row = self.subscription(account);
        let Some(row) = row.filter(|row| self.is_due(row)) else {
            return Ok(Nanodollars::ZERO);
        };
        if row.next_seats == 0 {
            let over = Subscription {
                seats: 0,
                state: SubscriptionState::Lapsed,
                ..row
            };
            self.save(over).await?;
            return Ok(Nanodollars::ZERO);
        }
        let following = month(account.clone(), row.next_seats, row.begun, row.to);
        let (begun, from) = match row.state == SubscriptionState::Active && now < following.to {
            true => (following.begun, following.from),
            false => (now, now),
        };
        match self.begin_month(account, row.next_seats, begun, from).await {
            Err(BillingError::NotCovered { .. }) if row.state == SubscriptionState::Active => {
                tracing::info!(account = %account, seats = row.next_seats, "a subscription has lapsed");
                let lapsed = Subscription {
                    state: SubscriptionState::Lapsed,
                    ..row
                };
                self.save(lapsed).await?;
                Ok(Nanodollars::ZERO)
            }
            Err(BillingError::NotCovered { .. }) => Ok(Nanodollars::ZERO),
            begun => begun,
        }
    }

    /// Begins a month that is paid now.
    async fn begin_month(
        &self,
        account: &AccountId,
        seats: u32,
        begun: Timestamp,
        from: Timestamp,
    ) -> Result<Nanodollars, BillingError> {
        let price = self.seat_prices.month(seats);
        let row = Subscription {
            price,
            ..month(account.clone(), seats, begun, from)
        };
        let id = format!("{}:{account}:{}", EntryKind::Seats.name(), from.0);
        let note = format!("{} from {} to {}", counted(seats), row.from, row.to);
        self.buy(row, price, id, note).await
    }

    /// More seats now, or fewer from the next renewal on.
    async fn change_seats(
        &self,
        row: Subscription,
        seats: u32,
        now: Timestamp,
    ) -> Result<Nanodollars, BillingError> {
        if seats <= row.seats {
            let later = Subscription {
                next_seats: seats,
                ..row
            };
            self.save(later).await?;
            return Ok(Nanodollars::ZERO);
        }
        let price = self
            .seat_prices
            .difference((row.seats, seats), (row.from, row.to), now);
        // Seats only grow within a period, so the number names the change.
        let id = format!(
            "{}:{}:{}:{seats}",
            EntryKind::Seats.name(),
            row.account,
            row.from.0
        );
        let note = format!("{} instead of {} to {}", counted(seats), row.seats, row.to);
        let more = Subscription {
            seats,
            next_seats: seats,
            price: row.price.saturating_add(price),
            ..row
        };
        self.buy(more, price, id, note).await
    }

    /// Charges and writes a subscription, both or neither. Returns what was charged.
    async fn buy(
        &self,
        row: Subscription,
        price: Nanodollars,
        id: String,
        note: String,
    ) -> Result<Nanodollars, BillingError> {
        let account = row.account.clone();
        let wallet = self.book.wallet(&account);
        let wallet = wallet.ok_or_else(|| BillingError::UnknownAccount {
            account: account.to_string(),
        })?;
        let available = wallet.funds().available();
        let set_aside =
            SetAside::take(&wallet, price).ok_or(BillingError::NotCovered { price, available })?;
        let charge = Entry {
            id,
            account: account.clone(),
            kind: EntryKind::Seats,
            amount: -price,
            held: Nanodollars::ZERO,
            hold: String::new(),
            run: "".into(),
            url: "".into(),
            charge: Charge::default(),
            consumed: Consumed::default(),
            reason: note,
            at: self.clock.now(),
        };
        // What was given back before is free in the ledger too, so that it finds what was found here.
        self.queue.flush().await?;
        let mut has_failed = false;
        for _ in 0..TRIES {
            match self.store.save_subscription(&row, Some(&charge)).await {
                // After a failure: it had reached the disk after all.
                Ok(written) if written == Written::New || has_failed && is_there(&written) => {
                    set_aside.spend();
                    self.seats.put(row);
                    return Ok(price);
                }
                Ok(Written::AlreadyThere) => {
                    drop(set_aside);
                    self.read_again(&account).await?;
                    return Ok(Nanodollars::ZERO);
                }
                Ok(_) => return Err(BillingError::Unavailable),
                Err(error) => {
                    tracing::error!(account = %account, error = %error, "seats could not be written");
                    has_failed = true;
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
        set_aside.keep();
        Err(BillingError::Unavailable)
    }

    /// Writes a change that costs nothing.
    async fn save(&self, row: Subscription) -> Result<(), BillingError> {
        self.store.save_subscription(&row, None).await?;
        self.seats.put(row);
        Ok(())
    }

    /// Takes over what the store has.
    async fn read_again(&self, account: &AccountId) -> Result<(), BillingError> {
        let rows = self.store.subscriptions().await?;
        if let Some(row) = rows.into_iter().find(|row| row.account == *account) {
            self.seats.put(row);
        }
        Ok(())
    }

    fn subscribed(&self, account: &AccountId) -> Result<Subscription, BillingError> {
        self.subscription(account)
            .ok_or_else(|| self.no_subscription(account))
    }

    fn no_subscription(&self, account: &AccountId) -> BillingError {
        let name = self.find(account.as_str());
        BillingError::NoSubscription {
            account: name.map_or_else(|| account.to_string(), |account| account.name.clone()),
        }
    }
}

/// `1 seat`, `2 seats`.
fn counted(seats: u32) -> String {
    match seats {
        1 => "1 seat".to_owned(),
        _ => format!("{seats} seats"),
    }
}

fn is_there(written: &Written) -> bool {
    *written == Written::AlreadyThere
}
