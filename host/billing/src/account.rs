//! Accounts and keys in memory. The ledger's writer keeps them in step with the store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::notices::{AlertSender, BalanceAlerts};
use super::purse::Allotment;
use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_store::{AccountId, AccountRecord, KeyRecord, KeyUse, Notice};

/// Who pays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its identifier.
    pub id: AccountId,
    /// Its name.
    pub name: String,
}

/// The money of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Funds {
    /// Sum of its ledger entries.
    pub balance: Nanodollars,
    /// What is set aside for pages in flight; never more than the balance.
    pub held: Nanodollars,
}

impl Funds {
    /// What is left to spend.
    pub fn available(&self) -> Nanodollars {
        self.balance - self.held
    }
}

/// An account and its money.
#[derive(Debug)]
pub(super) struct Wallet {
    pub(super) account: Arc<Account>,
    money: Mutex<Money>,
    bells: Arc<AlertSender>,
    /// Told whenever money may have become free, or a page in flight is paid.
    freed: Notify,
    /// Pages that wait for money.
    n_waiting: AtomicUsize,
    /// What runs have set aside beyond their pages in flight can be asked back.
    slices: Mutex<Vec<Weak<Allotment>>>,
}

/// Money, and who is told when it runs low.
#[derive(Debug)]
struct Money {
    funds: Funds,
    alarm: BalanceAlerts,
}

/// Says that someone waits for money until it is dropped.
#[derive(Debug)]
pub(super) struct Waiting<'a>(&'a Wallet);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.n_waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Wallet {
    pub(super) fn funds(&self) -> Funds {
        self.change(|funds| *funds)
    }

    /// Reads or changes the money while nobody else does.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Funds) -> T) -> T {
        let mut money = self.money.lock().unwrap_or_else(PoisonError::into_inner);
        let before = money.funds;
        let changed = change(&mut money.funds);
        let funds = money.funds;
        if funds.balance != before.balance {
            money
                .alarm
                .look(&self.account.id, funds.balance, &self.bells);
        }
        // Who waits for pages in flight must also hear that there are none any more.
        if funds.available() > before.available() || funds.held < before.held {
            self.freed.notify_waiters();
        }
        changed
    }

    /// Who is told when the balance runs low.
    pub(super) fn notice(&self) -> Notice {
        let money = self.money.lock().unwrap_or_else(PoisonError::into_inner);
        money.alarm.notice()
    }

    pub(super) fn set_notice(&self, notice: &Notice) {
        let mut money = self.money.lock().unwrap_or_else(PoisonError::into_inner);
        // A crossing that was told since has its number, which none has again.
        let live = money.alarm.notice();
        let mut notice = notice.clone();
        notice.low.count = notice.low.count.max(live.low.count);
        notice.empty.count = notice.empty.count.max(live.empty.count);
        money.alarm = BalanceAlerts::new(&notice);
        // What happened since the notice was made counts.
        let balance = money.funds.balance;
        money.alarm.look(&self.account.id, balance, &self.bells);
    }

    /// Resolves when money becomes free after this call.
    pub(super) fn freed(&self) -> Notified<'_> {
        self.freed.notified()
    }

    /// Runs give back what none of their pages needs for as long as this lives.
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.n_waiting.fetch_add(1, Ordering::SeqCst);
        Waiting(self)
    }

    pub(super) fn is_waited_for(&self) -> bool {
        self.n_waiting.load(Ordering::SeqCst) > 0
    }

    pub(super) fn add_slice(&self, slice: &Arc<Allotment>) {
        let mut slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner);
        slices.retain(|slice| slice.strong_count() > 0);
        slices.push(Arc::downgrade(slice));
    }

    /// Takes back what runs have set aside for no page, those of `but` excepted; whether anything came back.
    pub(super) fn reclaim(&self, but: Option<&Allotment>) -> bool {
        let slices: Vec<Arc<Allotment>> = {
            let slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner);
            slices.iter().filter_map(Weak::upgrade).collect()
        };
        // Each is asked, also after the first has given.
        slices
            .iter()
            .filter(|slice| but.is_none_or(|but| !std::ptr::eq(but, &***slice)))
            .filter(|slice| slice.give_back_rest())
            .count()
            > 0
    }
}

/// Every account and key.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    pages: RwLock<Pages>,
    bells: Arc<AlertSender>,
}

#[derive(Debug, Default)]
struct Pages {
    wallets: HashMap<AccountId, Arc<Wallet>>,
    by_name: HashMap<String, AccountId>,
    keys: HashMap<[u8; 32], Key>,
}

/// A key in force.
#[derive(Debug)]
struct Key {
    account: Arc<Account>,
    record: KeyRecord,
    used: Arc<Used>,
}

/// When a key was used, without a lock: every request says so.
#[derive(Debug)]
pub(super) struct Used {
    /// Milliseconds since 1970; the least number when it never was.
    last: AtomicI64,
    /// What of it the store has.
    written: AtomicI64,
}

impl Used {
    fn new(last_used: Option<Timestamp>) -> Self {
        let last = last_used.unwrap_or(Timestamp::MIN).0;
        Self {
            last: AtomicI64::new(last),
            written: AtomicI64::new(last),
        }
    }

    fn now(&self, at: Timestamp) {
        // Most requests find the millisecond noted, and leave the line of memory as it is.
        if self.last.load(Ordering::Relaxed) < at.0 {
            self.last.fetch_max(at.0, Ordering::Relaxed);
        }
    }

    fn last(&self) -> Option<Timestamp> {
        let last = Timestamp(self.last.load(Ordering::Relaxed));
        (last != Timestamp::MIN).then_some(last)
    }

    /// When it was used, unless the store knows.
    fn unwritten(&self) -> Option<Timestamp> {
        let written = self.written.load(Ordering::Relaxed);
        self.last().filter(|last| last.0 > written)
    }

    /// The store has it now.
    pub(super) fn written(&self, at: Timestamp) {
        self.written.fetch_max(at.0, Ordering::Relaxed);
    }
}

impl Key {
    fn record(&self) -> KeyRecord {
        KeyRecord {
            last_used: self.used.last(),
            ..self.record.clone()
        }
    }
}

impl Accounts {
    pub(super) fn new(accounts: Vec<AccountRecord>, keys: Vec<KeyRecord>) -> Self {
        let book = Self::default();
        for record in accounts {
            book.add_account(record);
        }
        for key in keys {
            book.add_key(key);
        }
        book
    }

    /// The account of a key, which is used now.
    pub(super) fn authenticate(&self, hash: &[u8; 32], now: Timestamp) -> Option<Arc<Account>> {
        self.read(|pages| {
            let key = pages.keys.get(hash)?;
            key.used.now(now);
            Some(Arc::clone(&key.account))
        })
    }

    /// Uses of keys that the store does not know yet.
    pub(super) fn key_uses(&self) -> Vec<(KeyUse, Arc<Used>)> {
        let used = |key: &Key| {
            let row = KeyUse {
                prefix: key.record.prefix.clone(),
                at: key.used.unwritten()?,
            };
            Some((row, Arc::clone(&key.used)))
        };
        self.read(|pages| pages.keys.values().filter_map(used).collect())
    }

    pub(super) fn bells(&self) -> &AlertSender {
        &self.bells
    }

    pub(super) fn wallet(&self, account: &AccountId) -> Option<Arc<Wallet>> {
        self.read(|pages| pages.wallets.get(account).cloned())
    }

    /// The account with this identifier or name.
    pub(super) fn find(&self, id_or_name: &str) -> Option<Arc<Account>> {
        self.read(|pages| {
            let wallet = pages.wallets.get(id_or_name).or_else(|| {
                let id = pages.by_name.get(id_or_name)?;
                pages.wallets.get(id)
            })?;
            Some(Arc::clone(&wallet.account))
        })
    }

    /// Every account, in the order of names.
    pub(super) fn accounts(&self) -> Vec<(Arc<Account>, Funds)> {
        let mut accounts = self.read(|pages| {
            let wallets = pages.wallets.values();
            wallets
                .map(|wallet| (Arc::clone(&wallet.account), wallet.funds()))
                .collect::<Vec<_>>()
        });
        accounts.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        accounts
    }

    /// The keys of an account, oldest first.
    pub(super) fn keys(&self, account: &AccountId) -> Vec<KeyRecord> {
        let mut keys = self.read(|pages| {
            let keys = pages.keys.values();
            keys.filter(|key| key.account.id == *account)
                .map(Key::record)
                .collect::<Vec<_>>()
        });
        keys.sort_by(|a, b| (a.created, &a.prefix).cmp(&(b.created, &b.prefix)));
        keys
    }

    pub(super) fn add_account(&self, record: AccountRecord) -> Arc<Account> {
        let account = Arc::new(Account {
            id: record.id,
            name: record.name,
        });
        let funds = Funds {
            balance: record.balance,
            held: record.held,
        };
        let wallet = Wallet {
            account: Arc::clone(&account),
            money: Mutex::new(Money {
                funds,
                alarm: BalanceAlerts::new(&record.notice),
            }),
            bells: Arc::clone(&self.bells),
            freed: Notify::new(),
            n_waiting: AtomicUsize::new(0),
            slices: Mutex::default(),
        };
        // What a process that is gone did not tell is told now.
        wallet.set_notice(&record.notice);
        self.write(|pages| {
            pages
                .by_name
                .insert(account.name.clone(), account.id.clone());
            pages.wallets.insert(account.id.clone(), Arc::new(wallet));
        });
        account
    }

    pub(super) fn add_key(&self, key: KeyRecord) {
        self.write(|pages| {
            if let Some(wallet) = pages.wallets.get(&key.account) {
                let key = Key {
                    account: Arc::clone(&wallet.account),
                    used: Arc::new(Used::new(key.last_used)),
                    record: key,
                };
                pages.keys.insert(key.record.hash, key);
            }
        });
    }

    pub(super) fn remove_key(&self, account: &AccountId, prefix: &str) {
        self.write(|pages| {
            pages
                .keys
                .retain(|_, key| key.account.id != *account || key.record.prefix != prefix);
        });
    }

    fn read<T>(&self, read: impl FnOnce(&Pages) -> T) -> T {
        read(&self.pages.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, write: impl FnOnce(&mut Pages) -> T) -> T {
        write(&mut self.pages.write().unwrap_or_else(PoisonError::into_inner))
    }
}
