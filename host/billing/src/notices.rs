//! Balances that run low: seen where a balance changes, in memory; told elsewhere.
//!
//! A crossing is one number compared under the lock that the change holds anyway. It goes into a channel, and what
//! is told of it is kept in the store, so that each crossing has a number of its own and is told also when the server stops
//! in between.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use super::{Billing, BillingError};
use trawl_model::{Nanodollars, money::PER_CREDIT};
use trawl_store::{AccountId, Notice, Threshold, Told};

/// Crossings that wait to be told. An account has one more only after its balance was raised again, so this many wait only when
/// nobody tells them for long; what finds no room is told at the next start.
const WAITING_MAX: usize = 4_096;
/// Less than a credit buys nothing that anyone would notice: the balance is empty.
const NOTHING: Nanodollars = Nanodollars(PER_CREDIT);

/// A balance that fell below a threshold, or is above it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Whose balance.
    pub account: AccountId,
    /// Below what.
    pub threshold: Threshold,
    /// Whether it fell; otherwise it rose, which is not told but noted.
    pub is_below: bool,
    /// How many crossings downwards there were of this account and threshold, this one included.
    pub number: u64,
    /// The balance.
    pub left: Nanodollars,
    /// Who is to be told.
    pub destination: Arc<str>,
}

/// Crossings as they come.
pub type Crossings = mpsc::Receiver<Crossing>;

/// One threshold of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ThresholdState {
    below: Nanodollars,
    is_below: bool,
    count: u64,
}

impl ThresholdState {
    fn new(below: Nanodollars, told: Told) -> Self {
        Self {
            below,
            is_below: told.is_told,
            count: told.count,
        }
    }

    fn told(&self) -> Told {
        Told {
            count: self.count,
            is_told: self.is_below,
        }
    }

    /// Whether the balance has crossed the threshold, in either direction.
    fn has_crossed(&mut self, balance: Nanodollars) -> bool {
        let is_below = balance < self.below;
        let has_crossed = is_below != self.is_below;
        self.is_below = is_below;
        self.count += u64::from(has_crossed && is_below);
        has_crossed
    }
}

/// The thresholds of an account with a receiver.
#[derive(Debug)]
pub(super) struct BalanceAlerts {
    destination: Option<Arc<str>>,
    low: ThresholdState,
    empty: ThresholdState,
}

impl BalanceAlerts {
    pub(super) fn new(notice: &Notice) -> Self {
        Self {
            destination: notice.destination.as_deref().map(Arc::from),
            low: ThresholdState::new(notice.below, notice.low),
            empty: ThresholdState::new(NOTHING, notice.empty),
        }
    }

    /// What is set and told, as it is stored.
    pub(super) fn notice(&self) -> Notice {
        Notice {
            destination: self.destination.as_deref().map(str::to_owned),
            below: self.low.below,
            low: self.low.told(),
            empty: self.empty.told(),
        }
    }

    /// Looks at a balance that has changed.
    pub(super) fn look(&mut self, account: &AccountId, balance: Nanodollars, bells: &AlertSender) {
        let Some(destination) = &self.destination else {
            return;
        };
        for (threshold, bell) in [
            (Threshold::Low, &mut self.low),
            (Threshold::Empty, &mut self.empty),
        ] {
            if bell.has_crossed(balance) {
                bells.ring(Crossing {
                    account: account.clone(),
                    threshold,
                    is_below: bell.is_below,
                    number: bell.count,
                    left: balance,
                    destination: Arc::clone(destination),
                });
            }
        }
    }
}

/// The way from the wallets to who tells.
#[derive(Debug)]
pub(super) struct AlertSender {
    ring: mpsc::Sender<Crossing>,
    crossings: Mutex<Option<Crossings>>,
}

impl Default for AlertSender {
    fn default() -> Self {
        let (ring, crossings) = mpsc::channel(WAITING_MAX);
        Self {
            ring,
            crossings: Mutex::new(Some(crossings)),
        }
    }
}

impl AlertSender {
    fn ring(&self, crossing: Crossing) {
        if let Err(error) = self.ring.try_send(crossing) {
            tracing::warn!(error = %error, "a balance crossed a threshold, which is told at the next start");
        }
    }
}

impl Billing {
    /// The crossings of all accounts from the start on, for the one who tells them; `None` when they are taken already.
    pub fn crossings(&self) -> Option<Crossings> {
        let crossings = &self.book.bells().crossings;
        crossings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Notes that a crossing was told. Until then it is told again after a restart.
    ///
    /// # Errors
    /// [`BillingError::Store`] when the store fails.
    pub async fn note_told(&self, crossing: &Crossing) -> Result<(), BillingError> {
        let told = Told {
            count: crossing.number,
            is_told: crossing.is_below,
        };
        let records = self.store.records();
        let noted = records.note_told(&crossing.account, crossing.threshold, told);
        Ok(noted.await?)
    }

    /// Who is told of the account's balance, and below what.
    pub fn notice(&self, account: &AccountId) -> Notice {
        let wallet = self.book.wallet(account);
        wallet.map(|wallet| wallet.notice()).unwrap_or_default()
    }

    /// Sets who is told when the balance falls below an amount, and when it is empty. `None` tells nobody any more. A balance that is
    /// below already has not crossed anything: it is told after it was above.
    ///
    /// # Errors
    /// [`BillingError::UnknownAccount`], [`BillingError::BadThreshold`] for less than zero, [`BillingError::Store`] when the store
    /// fails.
    pub async fn set_notice(
        &self,
        account: &AccountId,
        destination: Option<&str>,
        below: Nanodollars,
    ) -> Result<(), BillingError> {
        if below < Nanodollars::ZERO {
            return Err(BillingError::BadThreshold { below });
        }
        let wallet = self.book.wallet(account);
        let wallet = wallet.ok_or_else(|| BillingError::UnknownAccount {
            account: account.to_string(),
        })?;
        // One after the other: what is saved last is in effect.
        let _turn = self.notices_turn.lock().await;
        let before = wallet.notice();
        let balance = wallet.funds().balance;
        let told = |told: Told, below| Told {
            is_told: balance < below,
            ..told
        };
        let notice = Notice {
            destination: destination.map(str::to_owned),
            below,
            low: told(before.low, below),
            empty: told(before.empty, NOTHING),
        };
        self.store.records().save_notice(account, &notice).await?;
        wallet.set_notice(&notice);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tokio_util::task::TaskTracker;

    use super::*;
    use trawl_model::Charge;
    use trawl_model::clock::Clock;
    use trawl_store::sqlite::SqliteStore;
    use trawl_store::{DataDir, Store};

    const ALICE: &str = "alice";

    struct Desk {
        billing: Billing,
        store: Arc<dyn Store>,
        crossings: Crossings,
        account: AccountId,
    }

    fn dollars(text: &str) -> Nanodollars {
        Nanodollars::parse_dollars(text).expect("dollars")
    }

    impl Desk {
        async fn open(data: &Path) -> Self {
            let directory = DataDir::create(data).expect("a data directory");
            let store = SqliteStore::open(directory).await.expect("a store");
            let store: Arc<dyn Store> = Arc::new(store);
            let tasks = TaskTracker::new();
            let billing = Billing::start(Arc::clone(&store), Clock::wall(), &tasks);
            let billing = billing.await.expect("billing starts");
            let account = match billing.find(ALICE) {
                Some(account) => account,
                None => {
                    let created = billing.create_account(ALICE, dollars("1")).await;
                    created.expect("an account").0
                }
            };
            Self {
                crossings: billing.crossings().expect("the first to ask"),
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
            let hold = self.billing.hold(&self.account, dollars(amount), "", "");
            let charge = Charge {
                compute: dollars(amount),
                ..Charge::default()
            };
            hold.expect("money").post(&charge).await.expect("posted");
        }

        async fn pay_in(&self, amount: &str) {
            let paid = self.billing.top_up(&self.account, dollars(amount), None);
            paid.await.expect("paid in");
        }

        async fn tell_below(&self, amount: &str) {
            let hook = Some("http://a.example/");
            let set = self
                .billing
                .set_notice(&self.account, hook, dollars(amount));
            set.await.expect("set");
        }

        fn next(&mut self) -> Option<(Threshold, bool, u64)> {
            let crossing = self.crossings.try_recv().ok()?;
            Some((crossing.threshold, crossing.is_below, crossing.number))
        }
    }

    #[tokio::test]
    async fn each_crossing_is_seen_once_and_again_after_a_top_up() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let mut desk = Desk::open(data.path()).await;
        desk.tell_below("0.50").await;
        desk.spend("0.50").await;
        assert_eq!(desk.next(), None, "at the threshold is not below it");
        desk.spend("0.01").await;
        assert_eq!(desk.next(), Some((Threshold::Low, true, 1)));
        desk.spend("0.01").await;
        desk.pay_in("0.01").await;
        assert_eq!(desk.next(), None, "it was below all the time");
        desk.pay_in("1").await;
        assert_eq!(desk.next(), Some((Threshold::Low, false, 1)));
        desk.spend("1.49").await;
        assert_eq!(desk.next(), Some((Threshold::Low, true, 2)));
        assert_eq!(desk.next(), Some((Threshold::Empty, true, 1)));
        assert_eq!(desk.next(), None);
        assert_eq!(desk.billing.balance(&desk.account), Nanodollars::ZERO);
    }

    #[tokio::test]
    async fn money_that_is_set_aside_is_not_spent() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let mut desk = Desk::open(data.path()).await;
        desk.tell_below("0.50").await;
        let hold = desk.billing.hold(&desk.account, dollars("1"), "", "");
        hold.expect("money").void("it failed");
        assert_eq!(desk.next(), None);
    }

    #[tokio::test]
    async fn who_is_below_already_has_not_crossed() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let mut desk = Desk::open(data.path()).await;
        desk.tell_below("5").await;
        desk.spend("0.1").await;
        assert_eq!(desk.next(), None);
        desk.pay_in("9").await;
        assert_eq!(desk.next(), Some((Threshold::Low, false, 0)));
        desk.spend("6").await;
        assert_eq!(desk.next(), Some((Threshold::Low, true, 1)));
        let nobody = desk.billing.set_notice(&desk.account, None, dollars("5"));
        nobody.await.expect("set");
        desk.pay_in("9").await;
        desk.spend("9").await;
        assert_eq!(desk.next(), None);
        let negative = Nanodollars(-1);
        let refusal = desk.billing.set_notice(&desk.account, None, negative).await;
        assert!(matches!(refusal, Err(BillingError::BadThreshold { .. })));
    }

    #[tokio::test]
    async fn what_was_not_told_is_seen_again_after_a_restart_under_its_number() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let mut desk = Desk::open(data.path()).await;
        desk.tell_below("0.50").await;
        desk.spend("0.60").await;
        assert_eq!(desk.next(), Some((Threshold::Low, true, 1)));
        desk.close().await;
        let mut desk = Desk::open(data.path()).await;
        let crossing = desk.crossings.try_recv().expect("again");
        assert_eq!(
            (crossing.number, &*crossing.destination),
            (1, "http://a.example/")
        );
        assert_eq!((crossing.left, crossing.is_below), (dollars("0.40"), true));
        desk.billing.note_told(&crossing).await.expect("noted");
        desk.close().await;
        let mut desk = Desk::open(data.path()).await;
        assert_eq!(desk.next(), None, "it was told");
        desk.pay_in("1").await;
        desk.close().await;
        let mut desk = Desk::open(data.path()).await;
        assert_eq!(desk.next(), Some((Threshold::Low, false, 1)));
        desk.spend("1.20").await;
        assert_eq!(desk.next(), Some((Threshold::Low, true, 2)));
        desk.close().await;
    }
}
