//! The funds of one account in memory: every decision about its money is made here, under one lock.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use trawl_model::Nanodollars;
use trawl_store::{AccountId, AccountRecord, KeyPrefix, Notice};

use crate::alerts::{AlertSender, BalanceAlerts};
use crate::funds::{Funds, Shortfall};
use crate::reserved_pages::ReservedPages;

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Identifier.
    pub id: AccountId,
    /// Name.
    pub name: String,
    /// The key that was presented for it; empty if none was.
    pub key: KeyPrefix,
}

/// Reserved money that its owner can return early: the allotments of runs.
pub(crate) trait ReturnUnused: fmt::Debug + Send + Sync {
    /// Returns the money that is reserved for no page; `false` if there was none.
    fn return_unused(&self) -> bool;
}

/// An account and its funds.
#[derive(Debug)]
pub(crate) struct Wallet {
    pub(crate) account: Arc<Account>,
    money: Mutex<Money>,
    alerts: Arc<AlertSender>,
    /// Notified when money may have become available, or a reservation was settled.
    released: Notify,
    /// Number of pages that wait for money.
    n_waiting: AtomicUsize,
    /// The pages with a reservation.
    pub(crate) reserved_pages: ReservedPages,
    /// Allotments of runs, from which unused money can be reclaimed.
    allotments: Mutex<Vec<Weak<dyn ReturnUnused>>>,
}

/// The funds, and the alerts that watch the balance.
#[derive(Debug)]
struct Money {
    funds: Funds,
    alerts: BalanceAlerts,
}

/// Marks a page as waiting for money until it is dropped.
#[derive(Debug)]
pub(crate) struct WaitingPage<'a>(&'a Wallet);

impl Drop for WaitingPage<'_> {
    fn drop(&mut self) {
        self.0.n_waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Wallet {
    pub(crate) fn new(
        account: Arc<Account>,
        record: &AccountRecord,
        alerts: Arc<AlertSender>,
    ) -> Self {
        let funds = Funds {
            balance: record.balance,
            held: record.held,
        };
        let wallet = Self {
            account,
            money: Mutex::new(Money {
                funds,
                alerts: BalanceAlerts::new(&record.notice),
            }),
            alerts,
            released: Notify::new(),
            n_waiting: AtomicUsize::new(0),
            reserved_pages: ReservedPages::default(),
            allotments: Mutex::default(),
        };
        // Reports crossings whose notice the last process did not send.
        wallet.set_notice(&record.notice);
        wallet
    }

    pub(crate) fn funds(&self) -> Funds {
        self.change(|funds| *funds)
    }

    /// Reads or changes the funds under the lock.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Funds) -> T) -> T {
        let mut money = self.money.lock().unwrap_or_else(PoisonError::into_inner);
        let before = money.funds;
        let changed = change(&mut money.funds);
        let funds = money.funds;
        if funds.balance != before.balance {
            money
                .alerts
                .check(&self.account.id, funds.balance, &self.alerts);
        }
        // A waiting page must also learn that no reservation is left to wait for.
        if funds.available() > before.available() || funds.held < before.held {
            self.released.notify_waiters();
        }
        changed
    }

    /// The low-balance notice of the account.
    pub(crate) fn notice(&self) -> Notice {
        let money = self.money.lock().unwrap_or_else(PoisonError::into_inner);
        money.alerts.notice()
    }

    pub(crate) fn set_notice(&self, notice: &Notice) {
        let mut money = self.money.lock().unwrap_or_else(PoisonError::into_inner);
        // Numbers of crossings that happened meanwhile must not be used again.
        let current = money.alerts.notice();
        let mut notice = notice.clone();
        notice.low.count = notice.low.count.max(current.low.count);
        notice.empty.count = notice.empty.count.max(current.empty.count);
        money.alerts = BalanceAlerts::new(&notice);
        // The balance may have changed since the notice was read.
        let balance = money.funds.balance;
        money.alerts.check(&self.account.id, balance, &self.alerts);
    }

    /// [`Funds::shortfall`] now.
    pub(crate) fn shortfall(&self, wanted: Nanodollars, own: Nanodollars) -> Shortfall {
        self.funds().shortfall(wanted, own)
    }

    /// Wakes the waiting pages although no money was released.
    pub(crate) fn notify(&self) {
        self.released.notify_waiters();
    }

    /// Resolves when money is released after this call.
    pub(crate) fn released(&self) -> Notified<'_> {
        self.released.notified()
    }

    /// While the guard lives, runs return what none of their pages needs.
    pub(crate) fn wait(&self) -> WaitingPage<'_> {
        self.n_waiting.fetch_add(1, Ordering::SeqCst);
        WaitingPage(self)
    }

    pub(crate) fn has_waiters(&self) -> bool {
        self.n_waiting.load(Ordering::SeqCst) > 0
    }

    /// Registers an allotment, so that its unused money can be reclaimed.
    pub(crate) fn add_allotment(&self, allotment: Weak<dyn ReturnUnused>) {
        let allotments = self.allotments.lock();
        let mut allotments = allotments.unwrap_or_else(PoisonError::into_inner);
        allotments.retain(|allotment| allotment.strong_count() > 0);
        allotments.push(allotment);
    }

    /// Reclaims the unused money of all allotments but `except`; `false` if there was none.
    pub(crate) fn reclaim(&self, except: Option<&dyn ReturnUnused>) -> bool {
        let allotments: Vec<Arc<dyn ReturnUnused>> = {
            let allotments = self.allotments.lock();
            let allotments = allotments.unwrap_or_else(PoisonError::into_inner);
            allotments.iter().filter_map(Weak::upgrade).collect()
        };
        let mut has_returned = false;
        for allotment in &allotments {
            let is_excepted =
                except.is_some_and(|except| std::ptr::addr_eq(except, &raw const **allotment));
            if !is_excepted {
                has_returned |= allotment.return_unused();
            }
        }
        has_returned
    }
}
