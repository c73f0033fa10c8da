//! The money of one API key in memory: what it has spent in the current month, and what pages in
//! flight may yet spend of its budget.
//!
//! Its lock is the outermost: an account's wallet and the allotment of a run are locked within.

use std::sync::{Arc, Mutex, PoisonError};

use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_store::{AccountId, KeyPrefix, KeySpending};

use crate::funds::{Cap, FundsError, KeySpent, Shortfall};
use crate::reserved_pages::ReservedPages;
use crate::wallet::{Account, Wallet};

/// Who a page is charged to: an account, and the key that the page was requested with, which is
/// empty where no key is known.
#[derive(Clone, Copy, Debug)]
pub struct Spender<'a> {
    /// The account that pays.
    pub account: &'a AccountId,
    /// The key whose budget holds.
    pub key: KeyPrefix,
}

impl<'a> From<&'a AccountId> for Spender<'a> {
    fn from(account: &'a AccountId) -> Self {
        let key = KeyPrefix::default();
        Self { account, key }
    }
}

impl<'a> From<&'a Account> for Spender<'a> {
    fn from(account: &'a Account) -> Self {
        Self {
            account: &account.id,
            key: account.key,
        }
    }
}

/// The wallets that pay for a page.
#[derive(Clone, Debug)]
pub(crate) struct Wallets {
    /// The account's.
    pub(crate) account: Arc<Wallet>,
    /// The key's.
    pub(crate) key: Arc<KeyWallet>,
}

impl Wallets {
    /// What keeps a page without a reservation from having this much.
    pub(crate) fn shortfall(&self, wanted: Nanodollars, now: Timestamp) -> Shortfall {
        let nothing = Nanodollars::ZERO;
        let of_key = self.key.shortfall(wanted, nothing, now);
        of_key.unwrap_or_else(|| self.account.shortfall(wanted, nothing))
    }
}

/// The money of one key.
#[derive(Debug)]
pub(crate) struct KeyWallet {
    prefix: KeyPrefix,
    money: Mutex<Money>,
    /// The pages with a reservation.
    pub(crate) reserved_pages: ReservedPages,
}

#[derive(Debug)]
struct Money {
    spending: KeySpending,
    /// End of the month that the spending is of.
    month_end: Timestamp,
    /// Reserved for pages in flight.
    held: Nanodollars,
}

impl Money {
    /// What is left of the budget for a page that has `own` of the reserved money.
    fn left(&self, own: Nanodollars) -> Nanodollars {
        let Some(budget) = self.spending.budget else {
            return Nanodollars::MAX;
        };
        let used = self.spending.spent.saturating_add(self.held - own);
        Nanodollars(budget.0.saturating_sub(used.0)).max(Nanodollars::ZERO)
    }
}

impl KeyWallet {
    pub(crate) fn new(prefix: KeyPrefix, spending: KeySpending) -> Self {
        Self {
            prefix,
            money: Mutex::new(Money {
                spending,
                month_end: spending.month.months_later(1),
                held: Nanodollars::ZERO,
            }),
            reserved_pages: ReservedPages::default(),
        }
    }

    /// First characters of the key.
    pub(crate) const fn prefix(&self) -> KeyPrefix {
        self.prefix
    }

    /// Its budget, and what it has spent in the current month.
    pub(crate) fn spending(&self, now: Timestamp) -> KeySpending {
        self.with(now, |money| money.spending)
    }

    /// Sets the budget, also for pages in flight when they need more.
    pub(crate) fn set_budget(&self, budget: Option<Nanodollars>, now: Timestamp) {
        self.with(now, |money| money.spending.budget = budget);
    }

    /// Checks that the budget of this month is not used up.
    ///
    /// # Errors
    /// [`FundsError::KeySpent`].
    pub(crate) fn admit(&self, now: Timestamp) -> Result<(), FundsError> {
        self.with(now, |money| match money.spending.budget {
            Some(budget) if money.spending.spent >= budget => Err(self.spent(money, budget)),
            _ => Ok(()),
        })
    }

    /// Reserves of the budget what `reserve` takes for a page, which is at most what it is given:
    /// `likely`, or less if that is all there is and nothing of it is reserved for other pages.
    ///
    /// # Errors
    /// [`FundsError::AllHeld`] while pages in flight hold what is missing, [`FundsError::KeySpent`]
    /// if nothing is left, or the error of `reserve`.
    pub(crate) fn reserve(
        &self,
        likely: Nanodollars,
        now: Timestamp,
        reserve: impl FnOnce(Nanodollars) -> Result<Nanodollars, FundsError>,
    ) -> Result<Nanodollars, FundsError> {
        self.with(now, |money| {
            let left = money.left(Nanodollars::ZERO);
            let within = match money.spending.budget {
                Some(budget) if likely > Nanodollars::ZERO => {
                    let is_short = left < likely && money.held > Nanodollars::ZERO;
                    // Pages in flight that wait for more have priority.
                    if is_short || self.reserved_pages.is_starving() {
                        return Err(FundsError::AllHeld);
                    }
                    if left == Nanodollars::ZERO {
                        return Err(self.spent(money, budget));
                    }
                    likely.min(left)
                }
                _ => likely,
            };
            let reserved = reserve(within)?;
            money.held += reserved;
            Ok(reserved)
        })
    }

    /// Adds what `grow` takes to `own`, which is reserved for a page: at least until it is
    /// `needed`, at most until it is what `grow` is given, `preferred` or what is left. Returns
    /// what is reserved for the page then.
    pub(crate) fn grow(
        &self,
        own: Nanodollars,
        (needed, preferred): (Nanodollars, Nanodollars),
        now: Timestamp,
        grow: impl FnOnce(Nanodollars) -> Result<Nanodollars, Shortfall>,
    ) -> Result<Nanodollars, Shortfall> {
        self.with(now, |money| {
            let room = money.left(own);
            if room < needed
                && let Some(short) = self.shortfall_of(money, needed, own)
            {
                return Err(short);
            }
            let reserved = grow(preferred.min(room))?;
            money.held += reserved - own;
            Ok(reserved)
        })
    }

    /// Ends a page: `charge` of what was reserved for it is spent.
    pub(crate) fn settle(&self, held: Nanodollars, charge: Nanodollars, now: Timestamp) {
        self.with(now, |money| {
            money.held = money.held - held;
            money.spending.spent += charge;
        });
    }

    /// Takes back a charge of this time that the ledger did not accept, or one that is refunded at
    /// this time. One of a month that is over is not part of what is spent. Refunds of what was
    /// charged in earlier months may leave less than nothing, as in the store. Decision D440.
    pub(crate) fn uncharge(&self, charge: Nanodollars, at: Timestamp) {
        self.with(at, |money| {
            if at >= money.spending.month {
                money.spending.spent = money.spending.spent - charge;
            }
        });
    }

    /// What keeps a page with the reservation `own` from having this much in all; `None` if the
    /// budget does not.
    pub(crate) fn shortfall(
        &self,
        wanted: Nanodollars,
        own: Nanodollars,
        now: Timestamp,
    ) -> Option<Shortfall> {
        self.with(now, |money| self.shortfall_of(money, wanted, own))
    }

    fn shortfall_of(
        &self,
        money: &Money,
        wanted: Nanodollars,
        own: Nanodollars,
    ) -> Option<Shortfall> {
        let budget = money.spending.budget?;
        (money.left(own) < wanted).then(|| Shortfall {
            cap: Cap::Key(self.prefix),
            wanted,
            of: budget,
            spent: money.spending.spent,
            elsewhere: money.held - own,
        })
    }

    fn spent(&self, money: &Money, budget: Nanodollars) -> FundsError {
        FundsError::KeySpent(KeySpent {
            key: self.prefix,
            budget,
            spent: money.spending.spent,
            until: money.month_end,
        })
    }

    /// Reads or changes the money under the lock, in the month of `now`.
    fn with<T>(&self, now: Timestamp, use_money: impl FnOnce(&mut Money) -> T) -> T {
        let mut money = self.money.lock().unwrap_or_else(PoisonError::into_inner);
        if now >= money.month_end {
            money.spending = money.spending.at(now);
            money.month_end = money.spending.month.months_later(1);
        }
        use_money(&mut money)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Nanodollars = Nanodollars(100);

    fn time(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("a time")
    }

    fn wallet(budget: Option<Nanodollars>) -> KeyWallet {
        let spending = KeySpending {
            budget,
            ..KeySpending::default()
        };
        KeyWallet::new(KeyPrefix::new("tr_1"), spending)
    }

    fn reserve(wallet: &KeyWallet, likely: i64, now: Timestamp) -> Result<i64, FundsError> {
        let reserved = wallet.reserve(Nanodollars(likely), now, Ok);
        reserved.map(|reserved| reserved.0)
    }

    #[test]
    fn a_budget_is_spent_once_and_again_in_the_next_month() {
        let (wallet, now) = (wallet(Some(BUDGET)), time("2026-01-31T10:20:30Z"));
        assert_eq!(reserve(&wallet, 70, now), Ok(70));
        assert_eq!(reserve(&wallet, 40, now), Err(FundsError::AllHeld));
        assert_eq!(reserve(&wallet, 0, now), Ok(0), "it needs no money");
        wallet.settle(Nanodollars(70), Nanodollars(60), now);
        assert_eq!(reserve(&wallet, 70, now), Ok(40), "all that is left");
        wallet.settle(Nanodollars(40), Nanodollars(40), now);
        let spent = Err(FundsError::KeySpent(KeySpent {
            key: KeyPrefix::new("tr_1"),
            budget: BUDGET,
            spent: BUDGET,
            until: time("2026-02-01"),
        }));
        assert_eq!(reserve(&wallet, 1, now), spent);
        assert_eq!(wallet.admit(now).map(|()| 0), spent);
        let next = time("2026-02-01");
        assert_eq!(wallet.admit(next), Ok(()));
        assert_eq!(reserve(&wallet, 90, next), Ok(90));
        wallet.settle(Nanodollars(90), Nanodollars(80), next);
        // A charge of the last month that was not written, and one of this month.
        wallet.uncharge(Nanodollars(60), now);
        assert_eq!(wallet.spending(next).spent, Nanodollars(80));
        wallet.uncharge(Nanodollars(30), next);
        assert_eq!(wallet.spending(next).spent, Nanodollars(50));
    }

    #[test]
    fn what_is_refunded_beyond_the_charges_of_a_month_can_be_spent_in_it() {
        let (wallet, now) = (wallet(Some(BUDGET)), time("2026-02-01"));
        wallet.uncharge(Nanodollars(30), now);
        assert_eq!(wallet.spending(now).spent, Nanodollars(-30));
        assert_eq!(reserve(&wallet, 200, now), Ok(130));
        wallet.settle(Nanodollars(130), Nanodollars(130), now);
        assert_eq!(wallet.spending(now).spent, BUDGET);
        assert!(reserve(&wallet, 1, now).is_err());
        let next = time("2026-03-01");
        assert_eq!(reserve(&wallet, 200, next), Ok(100), "of that month only");
    }

    #[test]
    fn a_page_grows_within_the_budget() {
        let (wallet, now) = (wallet(Some(BUDGET)), time("2026-01-31"));
        assert_eq!(reserve(&wallet, 10, now), Ok(10));
        assert_eq!(reserve(&wallet, 20, now), Ok(20));
        let grow = |own: i64, needed: i64, preferred: i64| {
            let amounts = (Nanodollars(needed), Nanodollars(preferred));
            let grown = wallet.grow(Nanodollars(own), amounts, now, Ok);
            grown.map(|grown| grown.0)
        };
        assert_eq!(grow(10, 30, 50), Ok(50));
        assert_eq!(grow(50, 60, 500), Ok(80), "what the other page leaves");
        let short = grow(80, 81, 81).expect_err("the other page holds it");
        assert_eq!(
            (short.cap, short.elsewhere.0),
            (Cap::Key(wallet.prefix()), 20)
        );
        assert!(short.may_pass());
        let short = grow(80, 101, 101).expect_err("more than the budget");
        assert!(!short.may_pass());
        wallet.set_budget(None, now);
        assert_eq!(grow(80, 500, 600), Ok(600));
    }

    #[test]
    fn what_the_account_does_not_have_is_not_held() {
        let (wallet, now) = (wallet(Some(BUDGET)), time("2026-01-31"));
        let refused = wallet.reserve(Nanodollars(70), now, |_| Err(FundsError::Empty));
        assert_eq!(refused, Err(FundsError::Empty));
        let little = wallet.reserve(Nanodollars(70), now, |_| Ok(Nanodollars(5)));
        assert_eq!(little, Ok(Nanodollars(5)));
        assert_eq!(reserve(&wallet, 95, now), Ok(95));
    }

    #[test]
    fn without_a_budget_charges_are_counted_all_the_same() {
        let (wallet, now) = (wallet(None), time("2026-01-31"));
        assert_eq!(reserve(&wallet, i64::MAX / 4, now), Ok(i64::MAX / 4));
        wallet.settle(Nanodollars(i64::MAX / 4), Nanodollars(70), now);
        wallet.set_budget(Some(Nanodollars(70)), now);
        assert!(wallet.admit(now).is_err());
    }
}
