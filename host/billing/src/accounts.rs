//! The registry of accounts and active API keys. The ledger's writer keeps the balances in step
//! with the store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_store::{AccountId, AccountRecord, KeyPrefix, KeyRecord, KeySpending, KeyUse};

use crate::alerts::AlertSender;
use crate::funds::Funds;
use crate::key_wallet::{KeyWallet, Spender, Wallets};
use crate::wallet::{Account, Wallet};

/// Every account and active key.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    indexes: RwLock<Indexes>,
    alerts: Arc<AlertSender>,
}

#[derive(Debug, Default)]
struct Indexes {
    wallets: HashMap<AccountId, Arc<Wallet>>,
    by_name: HashMap<String, AccountId>,
    keys: HashMap<[u8; 32], Key>,
    /// Of active keys, and of revoked ones whose crawls may continue.
    key_wallets: HashMap<KeyPrefix, Arc<KeyWallet>>,
}

/// An active key.
#[derive(Debug)]
struct Key {
    /// Its account, with this key.
    account: Arc<Account>,
    record: KeyRecord,
    last_use: Arc<LastUse>,
    wallet: Arc<KeyWallet>,
}

/// When a key was last used. Every request updates it, so it is lock-free.
#[derive(Debug)]
pub(crate) struct LastUse {
    /// Unix time in milliseconds; `Timestamp::MIN` if never used.
    last: AtomicI64,
    /// The time in the store.
    written: AtomicI64,
}

impl LastUse {
    fn new(last_used: Option<Timestamp>) -> Self {
        let last = last_used.unwrap_or(Timestamp::MIN).0;
        Self {
            last: AtomicI64::new(last),
            written: AtomicI64::new(last),
        }
    }

    fn record(&self, at: Timestamp) {
        // Within the same millisecond nothing is written, which avoids contention on the cache
        // line.
        if self.last.load(Ordering::Relaxed) < at.0 {
            self.last.fetch_max(at.0, Ordering::Relaxed);
        }
    }

    fn last(&self) -> Option<Timestamp> {
        let last = Timestamp(self.last.load(Ordering::Relaxed));
        (last != Timestamp::MIN).then_some(last)
    }

    /// The last use, unless the store has it.
    fn unwritten(&self) -> Option<Timestamp> {
        let written = self.written.load(Ordering::Relaxed);
        self.last().filter(|last| last.0 > written)
    }

    /// Records that the store has this time.
    pub(crate) fn set_written(&self, at: Timestamp) {
        self.written.fetch_max(at.0, Ordering::Relaxed);
    }
}

impl Key {
    fn record(&self, now: Timestamp) -> KeyRecord {
        KeyRecord {
            last_used: self.last_use.last(),
            spending: self.wallet.spending(now),
            ..self.record.clone()
        }
    }
}

impl Accounts {
    pub(crate) fn new(accounts: Vec<AccountRecord>, keys: Vec<KeyRecord>) -> Self {
        let registry = Self::default();
        for record in accounts {
            registry.add_account(record);
        }
        for key in keys {
            registry.add_key(key);
        }
        registry
    }

    /// The account of a key; records the use.
    pub(crate) fn authenticate(&self, hash: &[u8; 32], now: Timestamp) -> Option<Arc<Account>> {
        self.read(|indexes| {
            let key = indexes.keys.get(hash)?;
            key.last_use.record(now);
            Some(Arc::clone(&key.account))
        })
    }

    /// Uses of keys that are not yet in the store.
    pub(crate) fn unwritten_key_uses(&self) -> Vec<(KeyUse, Arc<LastUse>)> {
        let key_use = |key: &Key| {
            let row = KeyUse {
                prefix: key.record.prefix.clone(),
                at: key.last_use.unwritten()?,
            };
            Some((row, Arc::clone(&key.last_use)))
        };
        self.read(|indexes| indexes.keys.values().filter_map(key_use).collect())
    }

    pub(crate) fn alerts(&self) -> &AlertSender {
        &self.alerts
    }

    pub(crate) fn wallet(&self, account: &AccountId) -> Option<Arc<Wallet>> {
        self.read(|indexes| indexes.wallets.get(account).cloned())
    }

    /// The wallets of a spender; `None` for an unknown account. A key that is not known has no
    /// budget.
    pub(crate) fn wallets(&self, spender: Spender<'_>) -> Option<Wallets> {
        self.read(|indexes| {
            let account = Arc::clone(indexes.wallets.get(spender.account)?);
            let key = indexes.key_wallets.get(&spender.key).cloned();
            let unlimited = || KeyWallet::new(spender.key, KeySpending::default());
            let key = key.unwrap_or_else(|| Arc::new(unlimited()));
            Some(Wallets { account, key })
        })
    }

    /// Sets the budget of a key.
    pub(crate) fn set_budget(&self, key: KeyPrefix, budget: Option<Nanodollars>, now: Timestamp) {
        let wallet = self.read(|indexes| indexes.key_wallets.get(&key).cloned());
        if let Some(wallet) = wallet {
            wallet.set_budget(budget, now);
        }
    }

    /// The account with this identifier or name.
    pub(crate) fn find(&self, id_or_name: &str) -> Option<Arc<Account>> {
        self.read(|indexes| {
            let wallet = indexes.wallets.get(id_or_name).or_else(|| {
                let id = indexes.by_name.get(id_or_name)?;
                indexes.wallets.get(id)
            })?;
            Some(Arc::clone(&wallet.account))
        })
    }

    /// Every account, sorted by name.
    pub(crate) fn accounts(&self) -> Vec<(Arc<Account>, Funds)> {
        let mut accounts = self.read(|indexes| {
            let wallets = indexes.wallets.values();
            wallets
                .map(|wallet| (Arc::clone(&wallet.account), wallet.funds()))
                .collect::<Vec<_>>()
        });
        accounts.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        accounts
    }

    /// The keys of an account, oldest first.
    pub(crate) fn keys(&self, account: &AccountId, now: Timestamp) -> Vec<KeyRecord> {
        let mut keys = self.read(|indexes| {
            let keys = indexes.keys.values();
            keys.filter(|key| key.account.id == *account)
                .map(|key| key.record(now))
                .collect::<Vec<_>>()
        });
        keys.sort_by(|a, b| (a.created, &a.prefix).cmp(&(b.created, &b.prefix)));
        keys
    }

    pub(crate) fn add_account(&self, record: AccountRecord) -> Arc<Account> {
        let account = Arc::new(Account {
            id: record.id.clone(),
            name: record.name.clone(),
            key: KeyPrefix::default(),
        });
        let alerts = Arc::clone(&self.alerts);
        let wallet = Wallet::new(Arc::clone(&account), &record, alerts);
        self.write(|indexes| {
            indexes
                .by_name
                .insert(account.name.clone(), account.id.clone());
            indexes.wallets.insert(account.id.clone(), Arc::new(wallet));
        });
        account
    }

    pub(crate) fn add_key(&self, key: KeyRecord) {
        self.write(|indexes| {
            let Some(wallet) = indexes.wallets.get(&key.account) else {
                return;
            };
            let prefix = KeyPrefix::new(&key.prefix);
            let key_wallet = Arc::new(KeyWallet::new(prefix, key.spending));
            indexes.key_wallets.insert(prefix, Arc::clone(&key_wallet));
            if key.revoked.is_some() {
                return;
            }
            let account = Account {
                key: prefix,
                ..(*wallet.account).clone()
            };
            let key = Key {
                account: Arc::new(account),
                last_use: Arc::new(LastUse::new(key.last_used)),
                wallet: key_wallet,
                record: key,
            };
            indexes.keys.insert(key.record.hash, key);
        });
    }

    pub(crate) fn remove_key(&self, account: &AccountId, prefix: &str) {
        self.write(|indexes| {
            indexes
                .keys
                .retain(|_, key| key.account.id != *account || key.record.prefix != prefix);
        });
    }

    fn read<T>(&self, read: impl FnOnce(&Indexes) -> T) -> T {
        read(&self.indexes.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, write: impl FnOnce(&mut Indexes) -> T) -> T {
        write(&mut self.indexes.write().unwrap_or_else(PoisonError::into_inner))
    }
}
