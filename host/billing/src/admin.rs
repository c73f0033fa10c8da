//! Operations on accounts: creation, keys, webhook secrets, top-ups, statements, audits.

use std::sync::Arc;

use trawl_model::secret::Secret;
use trawl_model::{Charge, Nanodollars};
use trawl_store::{
    AccountId, AccountRecord, Audit, Consumed, EntryKind, KeyPrefix, KeyRecord, KeySpending,
    LedgerEntry, Notice, StatementPage, StoreError, Window, Written,
};

use crate::key_wallet::Spender;
use crate::top_up::{BALANCE_MAX, TOP_UP_MAX, TopUp, bonus};
use crate::{Account, Billing, BillingError, Funds, key};

/// Maximum length of an account name in bytes.
const NAME_BYTES_MAX: usize = 100;
/// Maximum length of a key name in bytes.
const KEY_NAME_BYTES_MAX: usize = 100;
/// Maximum length of a top-up id in bytes.
const TOP_UP_ID_BYTES_MAX: usize = 100;

impl Billing {
    /// Creates an account with its first key and an optional opening top-up. The key is returned
    /// only here.
    ///
    /// # Errors
    /// [`BillingError::BadName`] or [`BillingError::NameTaken`], [`BillingError::BadAmount`] for an
    /// invalid top-up, [`BillingError::Store`] if the store fails.
    pub async fn create_account(
        &self,
        name: &str,
        top_up: Nanodollars,
    ) -> Result<(Arc<Account>, Secret), BillingError> {
        self.check_name(name)?;
        if top_up != Nanodollars::ZERO {
            check_amount(top_up, Nanodollars::ZERO)?;
        }
        let id = key::new_account_id()?;
        let (secret, key) = self.generate_key(&id, "")?;
        let opening = match top_up {
            Nanodollars::ZERO => Vec::new(),
            amount => self.top_up_entries(&id, amount, "opening"),
        };
        let record = AccountRecord {
            id,
            name: name.to_owned(),
            created: key.created,
            balance: opening.iter().map(|entry| entry.amount).sum(),
            held: Nanodollars::ZERO,
            notice: Notice::default(),
        };
        let created = self.store.create_account(&record, &key, &opening).await;
        created.map_err(|error| match error {
            StoreError::Taken { .. } => BillingError::NameTaken {
                name: name.to_owned(),
            },
            error => error.into(),
        })?;
        let account = self.accounts.add_account(record);
        self.accounts.add_key(key);
        Ok((account, secret))
    }

    /// Creates another key for an account; `name` may be empty. Without a `budget`, only the
    /// balance limits what its pages cost. The key is returned only here.
    ///
    /// # Errors
    /// [`BillingError::UnknownAccount`], [`BillingError::BadKeyName`], [`BillingError::BadBudget`],
    /// or [`BillingError::Store`] if the store fails.
    pub async fn create_key(
        &self,
        account: &AccountId,
        name: &str,
        budget: Option<Nanodollars>,
    ) -> Result<Secret, BillingError> {
        self.known(account.as_str())?;
        check_key_name(name)?;
        check_budget(budget)?;
        let (secret, mut key) = self.generate_key(account, name)?;
        key.spending.budget = budget;
        self.store.create_key(&key).await?;
        self.accounts.add_key(key);
        Ok(secret)
    }

    /// Sets what the pages of a key may cost in a calendar month (UTC), or removes the budget. The
    /// key is identified by its first characters as in [`Billing::keys`]; `None` if the account has
    /// no such active key. Takes effect immediately.
    ///
    /// # Errors
    /// [`BillingError::BadBudget`], or [`BillingError::Store`] if the store fails.
    pub async fn set_key_budget(
        &self,
        account: &AccountId,
        key: &str,
        budget: Option<Nanodollars>,
    ) -> Result<Option<KeyRecord>, BillingError> {
        check_budget(budget)?;
        // The caller may send the whole key.
        let prefix = key::prefix(key);
        // Serialised, so that the store and the wallet end with the same budget.
        let _guard = self.settings_lock.lock().await;
        if !self.store.set_key_budget(account, prefix, budget).await? {
            return Ok(None);
        }
        let now = self.clock.now();
        self.accounts
            .set_budget(KeyPrefix::new(prefix), budget, now);
        let mut keys = self.keys(account).into_iter();
        Ok(keys.find(|key| key.prefix == prefix))
    }

    /// The monthly budget of a key; a revoked key's still holds. `None` without one.
    pub fn key_budget<'a>(&self, spender: impl Into<Spender<'a>>) -> Option<Nanodollars> {
        let wallets = self.accounts.wallets(spender.into())?;
        wallets.key.spending(self.clock.now()).budget
    }

    /// Revokes a key, identified by its first characters as in [`Billing::keys`]; `false` if the
    /// account has no such key.
    ///
    /// # Errors
    /// [`BillingError::Store`] if the store fails.
    pub async fn revoke_key(
        &self,
        account: &AccountId,
        prefix: &str,
    ) -> Result<bool, BillingError> {
        // The caller may send the whole key.
        let prefix = key::prefix(prefix);
        // Its last use must be written before it is removed from memory.
        self.write_key_uses().await;
        let now = self.clock.now();
        let is_revoked = self.store.revoke_key(account, prefix, now).await?;
        self.accounts.remove_key(account, prefix);
        Ok(is_revoked)
    }

    /// The secret that signs the webhook events of an account.
    ///
    /// # Errors
    /// [`BillingError::UnknownAccount`], or [`BillingError::Store`] if the store fails.
    pub async fn webhook_secret(&self, account: &AccountId) -> Result<Secret, BillingError> {
        self.known(account.as_str())?;
        Ok(self.store.webhook_secret(account).await?)
    }

    /// Replaces the secret that signs the webhook events of an account. Takes effect immediately;
    /// the replaced one signs as well for a while.
    ///
    /// # Errors
    /// [`BillingError::UnknownAccount`], or [`BillingError::Store`] if the store fails.
    pub async fn renew_webhook_secret(&self, account: &AccountId) -> Result<Secret, BillingError> {
        self.known(account.as_str())?;
        Ok(self
            .store
            .renew_webhook_secret(account, self.clock.now())
            .await?)
    }

    /// The active keys of an account, oldest first.
    pub fn keys(&self, account: &AccountId) -> Vec<KeyRecord> {
        self.accounts.keys(account, self.clock.now())
    }

    /// Every account with its funds, sorted by name.
    pub fn accounts(&self) -> Vec<(Arc<Account>, Funds)> {
        self.accounts.accounts()
    }

    /// The account with this identifier or name.
    pub fn find(&self, id_or_name: &str) -> Option<Arc<Account>> {
        self.accounts.find(id_or_name)
    }

    /// The account with this identifier or name.
    ///
    /// # Errors
    /// [`BillingError::UnknownAccount`].
    pub fn known(&self, id_or_name: &str) -> Result<Arc<Account>, BillingError> {
        self.find(id_or_name)
            .ok_or_else(|| BillingError::UnknownAccount {
                account: id_or_name.to_owned(),
            })
    }

    /// Tops up an account, with the bonus for the amount. Idempotent for the same `id`.
    ///
    /// # Errors
    /// [`BillingError::UnknownAccount`], [`BillingError::BadAmount`], [`BillingError::BadTopUpId`],
    /// [`BillingError::IdTaken`] if the id was used for another amount,
    /// [`BillingError::Unavailable`] or [`BillingError::Store`] if the store fails.
    pub async fn top_up(
        &self,
        account: &AccountId,
        amount: Nanodollars,
        id: Option<&str>,
    ) -> Result<TopUp, BillingError> {
        let wallet = self
            .accounts
            .wallet(account)
            .ok_or_else(|| BillingError::UnknownAccount {
                account: account.to_string(),
            })?;
        check_amount(amount, wallet.funds().balance)?;
        let id = match id {
            Some(id) if id.is_empty() || id.len() > TOP_UP_ID_BYTES_MAX => {
                return Err(BillingError::BadTopUpId {
                    len: id.len(),
                    max: TOP_UP_ID_BYTES_MAX,
                });
            }
            Some(id) => id.to_owned(),
            None => key::unique()?,
        };
        let entries = self.top_up_entries(account, amount, &id);
        let written = self.queue.write(entries, Some(wallet)).await?;
        match written.first() {
            Some(Written::New) => {
                self.seats.money_arrived();
                Ok(top_up(id, amount, false))
            }
            Some(Written::AlreadyThere) => self.repeated_top_up(account, amount, id).await,
            _ => Err(BillingError::Unavailable),
        }
    }

    /// A page of an account's statement, including every earlier decision.
    ///
    /// # Errors
    /// [`BillingError::Unavailable`] or [`BillingError::Store`] if the store fails.
    pub async fn statement(
        &self,
        account: &AccountId,
        window: Window,
    ) -> Result<StatementPage, BillingError> {
        // A ledger that accepts nothing for now, as on a full disk, can be read all the same: the
        // statement then has what is durable.
        if let Err(error) = self.flush().await {
            tracing::warn!(error = %error, "a statement is read from a ledger that cannot be written");
        }
        Ok(self.store.statement(account, window).await?)
    }

    /// Adds up every entry and compares the sums with the balances.
    ///
    /// # Errors
    /// [`BillingError::Unavailable`] or [`BillingError::Store`] if the store fails.
    pub async fn verify(&self) -> Result<Audit, BillingError> {
        self.flush().await?;
        Ok(self.store.audit().await?)
    }

    fn generate_key(
        &self,
        account: &AccountId,
        name: &str,
    ) -> Result<(Secret, KeyRecord), BillingError> {
        let secret = key::new_account_key()?;
        let record = KeyRecord {
            prefix: key::shown(&secret),
            account: account.clone(),
            hash: key::hash(secret.expose()),
            created: self.clock.now(),
            name: name.to_owned(),
            last_used: None,
            revoked: None,
            spending: KeySpending::default(),
        };
        Ok((secret, record))
    }

    fn top_up_entries(
        &self,
        account: &AccountId,
        amount: Nanodollars,
        id: &str,
    ) -> Vec<LedgerEntry> {
        let entry = |kind: EntryKind, amount| LedgerEntry {
            id: format!("{}:{account}:{id}", kind.name()),
            account: account.clone(),
            kind,
            amount,
            held: Nanodollars::ZERO,
            reservation: String::new(),
            run: "".into(),
            url: "".into(),
            key: KeyPrefix::default(),
            charge: Charge::default(),
            consumed: Consumed::default(),
            reason: String::new(),
            at: self.clock.now(),
        };
        let bonus = bonus(amount);
        let bonus = (bonus > Nanodollars::ZERO).then(|| entry(EntryKind::Bonus, bonus));
        std::iter::once(entry(EntryKind::TopUp, amount))
            .chain(bonus)
            .collect()
    }

    async fn repeated_top_up(
        &self,
        account: &AccountId,
        amount: Nanodollars,
        id: String,
    ) -> Result<TopUp, BillingError> {
        let entry_id = format!("{}:{account}:{id}", EntryKind::TopUp.name());
        match self.store.entry(&entry_id).await? {
            Some(first) if first.entry.amount == amount => Ok(top_up(id, amount, true)),
            Some(first) => Err(BillingError::IdTaken {
                id,
                amount: first.entry.amount,
            }),
            None => Err(BillingError::Unavailable),
        }
    }

    fn check_name(&self, name: &str) -> Result<(), BillingError> {
        let reason = match name {
            "" => "it is empty",
            _ if name.len() > NAME_BYTES_MAX => "it is longer than 100 bytes",
            _ if name.trim() != name => "it starts or ends with whitespace",
            _ if name.contains(char::is_control) => "it contains control characters",
            _ if name.starts_with(AccountId::PREFIX) => "`acc_` is the prefix of identifiers",
            _ if self.find(name).is_some() => {
                return Err(BillingError::NameTaken {
                    name: name.to_owned(),
                });
            }
            _ => return Ok(()),
        };
        Err(bad_name(name, reason))
    }
}

fn check_key_name(name: &str) -> Result<(), BillingError> {
    let reason = match name {
        _ if name.len() > KEY_NAME_BYTES_MAX => "it is longer than 100 bytes",
        _ if name.trim() != name => "it starts or ends with whitespace",
        _ if name.contains(char::is_control) => "it contains control characters",
        _ => return Ok(()),
    };
    Err(BillingError::BadKeyName {
        name: name.to_owned(),
        reason,
    })
}

fn check_budget(budget: Option<Nanodollars>) -> Result<(), BillingError> {
    match budget {
        Some(budget) if budget < Nanodollars::ZERO => Err(BillingError::BadBudget { budget }),
        _ => Ok(()),
    }
}

fn top_up(id: String, amount: Nanodollars, is_repeat: bool) -> TopUp {
    TopUp {
        id,
        amount,
        bonus: bonus(amount),
        is_repeat,
    }
}

fn check_amount(amount: Nanodollars, balance: Nanodollars) -> Result<(), BillingError> {
    let after = balance.saturating_add(amount).saturating_add(bonus(amount));
    let reason = match amount {
        _ if amount <= Nanodollars::ZERO => "it is not positive",
        _ if amount > TOP_UP_MAX => "it is more than a million dollars",
        _ if after > BALANCE_MAX => "the balance would exceed the maximum",
        _ => return Ok(()),
    };
    Err(bad_amount(amount, reason))
}

fn bad_name(name: &str, reason: &'static str) -> BillingError {
    BillingError::BadName {
        name: name.to_owned(),
        reason,
    }
}

fn bad_amount(amount: Nanodollars, reason: &'static str) -> BillingError {
    BillingError::BadAmount { amount, reason }
}
