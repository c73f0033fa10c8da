//! The purchase of seats: the charge and the subscription are written together.

use std::time::Duration;

use trawl_model::{Charge, Nanodollars};
use trawl_store::{AccountId, Consumed, EntryKind, KeyPrefix, LedgerEntry, Subscription, Written};

use crate::wallet::Wallet;
use crate::{Billing, BillingError};

/// Attempts to write a charge when the store fails, and the delay between them.
const ATTEMPTS: u32 = 10;
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// Money reserved for seats until they are written. Dropping it releases the money.
struct SeatReservation<'a> {
    wallet: &'a Wallet,
    price: Nanodollars,
    is_open: bool,
}

impl<'a> SeatReservation<'a> {
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

    /// The ledger has the charge: deducts it from the balance.
    fn post(mut self) {
        self.is_open = false;
        self.wallet.change(|funds| {
            funds.held = funds.held - self.price;
            funds.balance = funds.balance - self.price;
        });
    }

    /// It is unknown whether the ledger has the charge: the money stays reserved until the next
    /// start reads the ledger.
    fn leave_open(mut self) {
        self.is_open = false;
    }
}

impl Drop for SeatReservation<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.wallet
                .change(|funds| funds.held = funds.held - self.price);
        }
    }
}

impl Billing {
    /// Charges for a subscription and writes it, or neither. Returns the charge.
    pub(super) async fn buy(
        &self,
        row: Subscription,
        price: Nanodollars,
        id: String,
        note: String,
    ) -> Result<Nanodollars, BillingError> {
        let account = row.account.clone();
        let wallet = self.accounts.wallet(&account);
        let wallet = wallet.ok_or_else(|| BillingError::UnknownAccount {
            account: account.to_string(),
        })?;
        let available = wallet.funds().available();
        let reservation = SeatReservation::take(&wallet, price)
            .ok_or(BillingError::NotCovered { price, available })?;
        let charge = self.seat_charge(&account, price, id, note);
        // Money that was released in memory must be available in the ledger too.
        self.queue.flush().await?;
        let mut has_failed = false;
        for _ in 0..ATTEMPTS {
            match self.store.save_subscription(&row, Some(&charge)).await {
                // After a failure, an existing entry means that the failed write had reached the
                // disk.
                Ok(written)
                    if written == Written::New
                        || has_failed && written == Written::AlreadyThere =>
                {
                    reservation.post();
                    self.seats.put(row);
                    return Ok(price);
                }
                Ok(Written::AlreadyThere) => {
                    drop(reservation);
                    self.reload(&account).await?;
                    return Ok(Nanodollars::ZERO);
                }
                Ok(_) => return Err(BillingError::Unavailable),
                Err(error) => {
                    tracing::error!(account = %account, error = %error, "seats could not be written");
                    has_failed = true;
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
        reservation.leave_open();
        Err(BillingError::Unavailable)
    }

    fn seat_charge(
        &self,
        account: &AccountId,
        price: Nanodollars,
        id: String,
        note: String,
    ) -> LedgerEntry {
        LedgerEntry {
            id,
            account: account.clone(),
            kind: EntryKind::Seats,
            amount: -price,
            held: Nanodollars::ZERO,
            reservation: String::new(),
            run: "".into(),
            url: "".into(),
            key: KeyPrefix::default(),
            charge: Charge::default(),
            consumed: Consumed::default(),
            reason: note,
            at: self.clock.now(),
        }
    }

    /// Replaces the subscription in memory by that in the store.
    async fn reload(&self, account: &AccountId) -> Result<(), BillingError> {
        let rows = self.store.subscriptions().await?;
        if let Some(row) = rows.into_iter().find(|row| row.account == *account) {
            self.seats.put(row);
        }
        Ok(())
    }
}
