//! Low-balance notices: their settings, and which crossings were delivered.

use trawl_model::Nanodollars;
use trawl_store::{AccountId, Notice, NoticeState};

use crate::alerts::{Crossing, Crossings, EMPTY_BELOW};
use crate::{Billing, BillingError};

impl Billing {
    /// The channel of threshold crossings of all accounts, for the task that sends notices; `None`
    /// if it was taken before.
    pub fn crossings(&self) -> Option<Crossings> {
        self.accounts.alerts().take_receiver()
    }

    /// Records that the notice of a crossing was sent. Until then the crossing is reported again
    /// after a restart.
    ///
    /// # Errors
    /// [`BillingError::Store`] if the store fails.
    pub async fn record_notice(&self, crossing: &Crossing) -> Result<(), BillingError> {
        let state = NoticeState {
            count: crossing.number,
            is_sent: crossing.is_below,
        };
        self.store
            .record_notice(&crossing.account, crossing.threshold, state)
            .await?;
        Ok(())
    }

    /// The low-balance notice of an account.
    pub fn notice(&self, account: &AccountId) -> Notice {
        let wallet = self.accounts.wallet(account);
        wallet.map(|wallet| wallet.notice()).unwrap_or_default()
    }

    /// Sets the receiver of notices about a balance below an amount and about an empty balance;
    /// `None` stops them. A balance that is below already does not cross the threshold: the first
    /// notice follows a top-up above it.
    ///
    /// # Errors
    /// [`BillingError::UnknownAccount`], [`BillingError::BadThreshold`] for a negative amount,
    /// [`BillingError::Store`] if the store fails.
    pub async fn set_notice(
        &self,
        account: &AccountId,
        destination: Option<&str>,
        below: Nanodollars,
    ) -> Result<(), BillingError> {
        if below < Nanodollars::ZERO {
            return Err(BillingError::BadThreshold { below });
        }
        let wallet = self.accounts.wallet(account);
        let wallet = wallet.ok_or_else(|| BillingError::UnknownAccount {
            account: account.to_string(),
        })?;
        // Serialised, so that the store and the wallet end with the same notice.
        let _guard = self.settings_lock.lock().await;
        let before = wallet.notice();
        let balance = wallet.funds().balance;
        let state = |state: NoticeState, below| NoticeState {
            is_sent: balance < below,
            ..state
        };
        let notice = Notice {
            destination: destination.map(str::to_owned),
            below,
            low: state(before.low, below),
            empty: state(before.empty, EMPTY_BELOW),
        };
        self.store.save_notice(account, &notice).await?;
        wallet.set_notice(&notice);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tokio_util::task::TaskTracker;

    use trawl_model::Charge;
    use trawl_model::clock::Clock;
    use trawl_store::sqlite::SqliteStore;
    use trawl_store::{Store, Threshold};

    use super::*;
    use crate::tests::world::locked;

    const ALICE: &str = "alice";

    struct World {
        billing: Billing,
        store: Arc<dyn Store>,
        crossings: Crossings,
        account: AccountId,
    }

    fn dollars(text: &str) -> Nanodollars {
        Nanodollars::parse_dollars(text).expect("dollars")
    }

    impl World {
        async fn open(data: &Path) -> Self {
            let directory = locked(data).await;
            let store = SqliteStore::open(directory).await.expect("a store");
            let store: Arc<dyn Store> = Arc::new(store);
            let tasks = TaskTracker::new();
            let billing = Billing::start(store.clone(), Clock::wall(), &tasks);
            let billing = billing.await.expect("billing starts");
            let account = match billing.find(ALICE) {
                Some(account) => account,
                None => {
                    let created = billing.create_account(ALICE, dollars("1")).await;
                    created.expect("an account").0
                }
            };
            Self {
                crossings: billing.crossings().expect("not taken before"),
                account: account.id.clone(),
                billing,
                store,
            }
        }

        async fn close(self) {
            self.billing.close().await;
            self.store.close().await;
        }

        async fn spend(&self, amount: &str) {
            let reservation = self.billing.reserve(&self.account, dollars(amount), "", "");
            let charge = Charge {
                compute: dollars(amount),
                ..Charge::default()
            };
            let reservation = reservation.expect("money");
            reservation.post(&charge).await.expect("posted");
        }

        async fn pay_in(&self, amount: &str) {
            let paid = self.billing.top_up(&self.account, dollars(amount), None);
            paid.await.expect("paid in");
        }

        async fn notify_below(&self, amount: &str) {
            let receiver = Some("http://a.example/");
            let set = self
                .billing
                .set_notice(&self.account, receiver, dollars(amount));
            set.await.expect("set");
        }

        fn next(&mut self) -> Option<(Threshold, bool, u64)> {
            let crossing = self.crossings.try_recv().ok()?;
            Some((crossing.threshold, crossing.is_below, crossing.number))
        }
    }

    #[tokio::test]
    async fn each_crossing_is_reported_once_and_again_after_a_top_up() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let mut world = World::open(data.path()).await;
        world.notify_below("0.50").await;
        world.spend("0.50").await;
        assert_eq!(world.next(), None, "at the threshold is not below it");
        world.spend("0.01").await;
        assert_eq!(world.next(), Some((Threshold::Low, true, 1)));
        world.spend("0.01").await;
        world.pay_in("0.01").await;
        assert_eq!(world.next(), None, "it was below all the time");
        world.pay_in("1").await;
        assert_eq!(world.next(), Some((Threshold::Low, false, 1)));
        world.spend("1.49").await;
        assert_eq!(world.next(), Some((Threshold::Low, true, 2)));
        assert_eq!(world.next(), Some((Threshold::Empty, true, 1)));
        assert_eq!(world.next(), None);
        assert_eq!(world.billing.balance(&world.account), Nanodollars::ZERO);
    }

    #[tokio::test]
    async fn reserved_money_counts_towards_the_balance() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let mut world = World::open(data.path()).await;
        world.notify_below("0.50").await;
        let reservation = world.billing.reserve(&world.account, dollars("1"), "", "");
        reservation.expect("money").void("it failed");
        assert_eq!(world.next(), None);
    }

    #[tokio::test]
    async fn a_balance_that_is_below_already_does_not_cross() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let mut world = World::open(data.path()).await;
        world.notify_below("5").await;
        world.spend("0.1").await;
        assert_eq!(world.next(), None);
        world.pay_in("9").await;
        assert_eq!(world.next(), Some((Threshold::Low, false, 0)));
        world.spend("6").await;
        assert_eq!(world.next(), Some((Threshold::Low, true, 1)));
        let stopped = world.billing.set_notice(&world.account, None, dollars("5"));
        stopped.await.expect("set");
        world.pay_in("9").await;
        world.spend("9").await;
        assert_eq!(world.next(), None);
        let negative = Nanodollars(-1);
        let refusal = world
            .billing
            .set_notice(&world.account, None, negative)
            .await;
        assert!(matches!(refusal, Err(BillingError::BadThreshold { .. })));
    }

    #[tokio::test]
    async fn an_unsent_notice_is_reported_again_after_a_restart_with_the_same_number() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let mut world = World::open(data.path()).await;
        world.notify_below("0.50").await;
        world.spend("0.60").await;
        assert_eq!(world.next(), Some((Threshold::Low, true, 1)));
        world.close().await;
        let mut world = World::open(data.path()).await;
        let crossing = world.crossings.try_recv().expect("again");
        assert_eq!(
            (crossing.number, &*crossing.destination),
            (1, "http://a.example/")
        );
        assert_eq!((crossing.left, crossing.is_below), (dollars("0.40"), true));
        world
            .billing
            .record_notice(&crossing)
            .await
            .expect("recorded");
        world.close().await;
        let mut world = World::open(data.path()).await;
        assert_eq!(world.next(), None, "it was sent");
        world.pay_in("1").await;
        world.close().await;
        let mut world = World::open(data.path()).await;
        assert_eq!(world.next(), Some((Threshold::Low, false, 1)));
        world.spend("1.20").await;
        assert_eq!(world.next(), Some((Threshold::Low, true, 2)));
        world.close().await;
    }
}
