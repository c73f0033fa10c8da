//! Subscriptions: changing the number of seats, renewing, suspending and resuming.

use std::time::Duration;

use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_store::{AccountId, EntryKind, Subscription, SubscriptionState};

use super::period::{has_ended, month};
use super::price::SEATS_MAX;
use crate::{Billing, BillingError};

/// Maximum delay between two checks for subscriptions that are due.
const DELAY_MAX: Duration = Duration::from_secs(60);
/// Minimum delay, for a store that fails.
const DELAY_MIN: Duration = Duration::from_secs(1);

/// How often running work looks whether its plan has ended.
const PLAN_INTERVAL: Duration = Duration::from_secs(1);

/// Why an account may not use the Unlimited routes.
#[derive(Debug, thiserror::Error)]
pub enum SubscriptionError {
    /// The account has no subscription.
    #[error("the account has no Unlimited subscription")]
    Required,
    /// The subscription is suspended, or the balance did not cover its renewal.
    #[error("the Unlimited subscription is not active")]
    Inactive,
    /// A due renewal could not be written.
    #[error(transparent)]
    Failed(#[from] BillingError),
}

impl Billing {
    /// Checks that the account may use the Unlimited routes. Renews the subscription first if it is
    /// due.
    ///
    /// # Errors
    /// [`SubscriptionError`].
    pub async fn unlimited(&self, account: &AccountId) -> Result<(), SubscriptionError> {
        let row = self
            .subscription(account)
            .ok_or(SubscriptionError::Required)?;
        if self.is_due(&row) {
            let (billing, account) = (self.clone(), account.clone());
            let renewal = async move {
                let _guard = billing.seats.changing.lock().await;
                billing.renew(&account).await
            };
            self.to_its_end(renewal).await?;
        }
        match self.subscription(account) {
            None => Err(SubscriptionError::Required),
            Some(row) if row.state == SubscriptionState::Active => Ok(()),
            Some(_) => Err(SubscriptionError::Inactive),
        }
    }

    /// Whether the account may continue work under the Unlimited plan, whose renewal may be due.
    /// A store that fails ends no plan.
    pub async fn has_plan(&self, account: &AccountId) -> bool {
        let usable = self.unlimited(account).await;
        matches!(usable, Ok(()) | Err(SubscriptionError::Failed(_)))
    }

    /// Resolves when the account's plan has ended, was suspended or lapsed. Decision D304.
    pub async fn plan_ended(&self, account: &AccountId) {
        while self.has_plan(account).await {
            tokio::time::sleep(PLAN_INTERVAL).await;
        }
    }

    /// Sets the number of seats, and returns the subscription with the charge.
    ///
    /// The first seats, and those after a lapse, are charged for a month from now. More seats cost
    /// the difference for the rest of the period. Fewer take effect at the next renewal; zero ends
    /// the subscription then. The same number changes nothing, so a repeated call costs nothing.
    ///
    /// Decision D100, Decision D101.
    ///
    /// # Errors
    /// [`BillingError::BadSeats`], [`BillingError::NotCovered`] if the balance does not cover them,
    /// [`BillingError::NoSubscription`] if there is nothing to end, or the store failed.
    pub async fn set_seats(
        &self,
        account: &AccountId,
        seats: u32,
    ) -> Result<(Option<Subscription>, Nanodollars), BillingError> {
        if seats > SEATS_MAX {
            return Err(BillingError::BadSeats { seats });
        }
        self.known(account.as_str())?;
        let _guard = self.seats.changing.lock().await;
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
                // Not charged now: a suspended subscription is charged when it is resumed.
                let state = if seats == 0 {
                    SubscriptionState::Lapsed
                } else {
                    row.state
                };
                self.save(Subscription {
                    seats,
                    next_seats: seats,
                    state,
                    ..row
                })
                .await?;
                Nanodollars::ZERO
            }
            None if seats == 0 => return Err(self.no_subscription(account)),
            Some(_) | None => self.buy_month(account, seats, now, now).await?,
        };
        Ok((self.subscription(account), charged))
    }

    /// Suspends the subscription. Its period runs on, but is not renewed while it is suspended.
    ///
    /// # Errors
    /// [`BillingError::NoSubscription`], or the store failed.
    pub async fn suspend_seats(&self, account: &AccountId) -> Result<(), BillingError> {
        let _guard = self.seats.changing.lock().await;
        let row = self.require_subscription(account)?;
        self.save(Subscription {
            state: SubscriptionState::Suspended,
            ..row
        })
        .await
    }

    /// Resumes a suspended subscription, and returns the charge: if its period has ended meanwhile,
    /// a new one is bought.
    ///
    /// # Errors
    /// [`BillingError::NoSubscription`], or the store failed.
    pub async fn resume_seats(&self, account: &AccountId) -> Result<Nanodollars, BillingError> {
        let _guard = self.seats.changing.lock().await;
        let row = self.require_subscription(account)?;
        if row.state == SubscriptionState::Suspended {
            let state = if self.clock.now() < row.to {
                SubscriptionState::Active
            } else {
                SubscriptionState::Lapsed
            };
            self.save(Subscription { state, ..row }).await?;
        }
        self.renew(account).await
    }

    /// Renews subscriptions when they are due and covered. Never returns.
    pub async fn renew_periodically(&self) {
        loop {
            self.renew_due().await;
            let now = self.clock.now();
            let ends = self.seats.rows().into_iter().filter(|row| {
                // A lapsed subscription waits for a top-up, not for a time.
                row.state == SubscriptionState::Active
            });
            let next = ends.map(|row| row.to.0.saturating_sub(now.0)).min();
            let next = next.and_then(|millis| u64::try_from(millis).ok());
            let delay = next.map_or(DELAY_MAX, Duration::from_millis);
            let delay = tokio::time::sleep(delay.clamp(DELAY_MIN, DELAY_MAX));
            tokio::select! {
                () = delay => {}
                () = self.seats.topped_up.notified() => {}
            }
        }
    }

    /// Renews every subscription whose period has ended, if the balance covers it.
    pub async fn renew_due(&self) {
        for row in self.seats.rows() {
            if !self.is_due(&row) {
                continue;
            }
            let _guard = self.seats.changing.lock().await;
            if let Err(error) = self.renew(&row.account).await {
                tracing::error!(account = %row.account, error = %error, "a subscription could not be renewed");
            }
        }
    }

    /// Whether a renewal is due. Called for every request, so it does not wait.
    fn is_due(&self, row: &Subscription) -> bool {
        match row.state {
            SubscriptionState::Active => row.to <= self.clock.now(),
            SubscriptionState::Lapsed => {
                !has_ended(row)
                    && self.balance(&row.account) >= self.seat_prices.month(row.next_seats)
            }
            SubscriptionState::Suspended => false,
        }
    }

    /// Buys the period after one that has ended, or lets the subscription lapse if the balance does
    /// not cover it. Returns the charge.
    ///
    /// Decision D101: a period follows the last one without a gap, unless it would have ended by
    /// now as well; then, and after a lapse, it starts now. A month without service is not charged.
    async fn renew(&self, account: &AccountId) -> Result<Nanodollars, BillingError> {
        let now = self.clock.now();
        let row = self.subscription(account);
        let Some(row) = row.filter(|row| self.is_due(row)) else {
            return Ok(Nanodollars::ZERO);
        };
        if row.next_seats == 0 {
            let ended = Subscription {
                seats: 0,
                state: SubscriptionState::Lapsed,
                ..row
            };
            self.save(ended).await?;
            return Ok(Nanodollars::ZERO);
        }
        let following = month(account.clone(), row.next_seats, row.begun, row.to);
        let is_seamless = row.state == SubscriptionState::Active && now < following.to;
        let (begun, from) = if is_seamless {
            (following.begun, following.from)
        } else {
            (now, now)
        };
        match self.buy_month(account, row.next_seats, begun, from).await {
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

    /// Buys a month of seats.
    async fn buy_month(
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
        let note = format!("{} from {} to {}", seats_text(seats), row.from, row.to);
        self.buy(row, price, id, note).await
    }

    /// Adds seats now, or schedules fewer for the next renewal.
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
        // Within a period the number of seats only grows, so it makes the id unique.
        let id = format!(
            "{}:{}:{}:{seats}",
            EntryKind::Seats.name(),
            row.account,
            row.from.0
        );
        let note = format!(
            "{} instead of {} to {}",
            seats_text(seats),
            row.seats,
            row.to
        );
        let more = Subscription {
            seats,
            next_seats: seats,
            price: row.price.saturating_add(price),
            ..row
        };
        self.buy(more, price, id, note).await
    }

    /// Writes a change without a charge.
    async fn save(&self, row: Subscription) -> Result<(), BillingError> {
        self.store.save_subscription(&row, None).await?;
        self.seats.put(row);
        Ok(())
    }

    fn require_subscription(&self, account: &AccountId) -> Result<Subscription, BillingError> {
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
fn seats_text(seats: u32) -> String {
    match seats {
        1 => "1 seat".to_owned(),
        _ => format!("{seats} seats"),
    }
}
