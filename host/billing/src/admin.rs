//! What an operator does: accounts, keys, paying in, statements, adding everything up.

use std::sync::Arc;

use super::top_up::{BALANCE_MAX, TOP_UP_MAX, TopUp, bonus};
use super::{Account, Billing, BillingError, Funds, key};
use trawl_model::secret::Secret;
use trawl_model::{Charge, Nanodollars};
use trawl_store::{
    AccountId, AccountRecord, Audit, Consumed, Entry, EntryKind, KeyRecord, Notice, StatementPage,
    StoreError, Window, Written,
};

/// Longest name of an account in bytes.
const NAME_BYTES_MAX: usize = 100;
/// Longest name of a key in bytes.
const KEY_NAME_BYTES_MAX: usize = 100;
/// Longest id of a top-up in bytes.
const TOP_UP_ID_BYTES_MAX: usize = 100;

impl Billing {
    /// Makes an account with its first key, and pays in what it starts with, if anything. The key is shown here and
    /// never again.
    ///
    /// # Errors
    /// [`BillingError::BadName`] or [`BillingError::NameTaken`], [`BillingError::BadAmount`] for an amount that
    /// cannot be paid in, [`BillingError::Store`] when the store fails.
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
        let (secret, key) = self.new_key(&id, "")?;
        let opening = match top_up {
            Nanodollars::ZERO => Vec::new(),
            amount => self.paying_in(&id, amount, "opening"),
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
        let account = self.book.add_account(record);
        self.book.add_key(key);
        Ok((account, secret))
    }

    /// Makes another key for an account, with a name or an empty one. It is shown here and never again.
    ///
    /// # Errors
    /// [`BillingError::UnknownAccount`], [`BillingError::BadKeyName`], or [`BillingError::Store`] when the store fails.
    pub async fn create_key(
        &self,
        account: &AccountId,
        name: &str,
    ) -> Result<Secret, BillingError> {
        self.known(account.as_str())?;
        check_key_name(name)?;
        let (secret, key) = self.new_key(account, name)?;
        self.store.create_key(&key).await?;
        self.book.add_key(key);
        Ok(secret)
    }

    /// Ends a key, named by its first characters as in [`Billing::keys`]. `false` when the account has no such key.
    ///
    /// # Errors
    /// [`BillingError::Store`] when the store fails.
    pub async fn revoke_key(
        &self,
        account: &AccountId,
        prefix: &str,
    ) -> Result<bool, BillingError> {
        // Who sends the whole key means the same.
        let prefix = key::prefix(prefix);
        // What is in memory of it goes with it.
        self.write_key_uses().await;
        let now = self.clock.now();
        let is_revoked = self.store.revoke_key(account, prefix, now).await?;
        self.book.remove_key(account, prefix);
        Ok(is_revoked)
    }

    /// What the webhook events of an account are signed with.
    ///
    /// # Errors
    /// [`BillingError::UnknownAccount`], or [`BillingError::Store`] when the store fails.
    pub async fn webhook_secret(&self, account: &AccountId) -> Result<Secret, BillingError> {
        self.known(account.as_str())?;
        Ok(self.store.webhook_secret(account).await?)
    }

    /// A new secret for the webhook events of an account: those sent from now on are signed with it.
    ///
    /// # Errors
    /// [`BillingError::UnknownAccount`], or [`BillingError::Store`] when the store fails.
    pub async fn renew_webhook_secret(&self, account: &AccountId) -> Result<Secret, BillingError> {
        self.known(account.as_str())?;
        Ok(self.store.records().renew_webhook_secret(account).await?)
    }

    /// The keys of an account that are in force, oldest first.
    pub fn keys(&self, account: &AccountId) -> Vec<KeyRecord> {
        self.book.keys(account)
    }

    /// Every account with its money, in the order of names.
    pub fn accounts(&self) -> Vec<(Arc<Account>, Funds)> {
        self.book.accounts()
    }

    /// The account with this identifier or name.
    pub fn find(&self, id_or_name: &str) -> Option<Arc<Account>> {
        self.book.find(id_or_name)
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

    /// Pays in, with the bonus that the amount earns. Under an `id` that was used before, nothing is paid in again.
    ///
    /// # Errors
    /// [`BillingError::UnknownAccount`], [`BillingError::BadAmount`], [`BillingError::BadTopUpId`],
    /// [`BillingError::IdTaken`] when the id was used for another amount, [`BillingError::Unavailable`] or [`BillingError::Store`] when the store fails.
    pub async fn top_up(
        &self,
        account: &AccountId,
        amount: Nanodollars,
        id: Option<&str>,
    ) -> Result<TopUp, BillingError> {
        let wallet = self
            .book
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
        let entries = self.paying_in(account, amount, &id);
        let written = self.queue.told(entries, Some(wallet)).await?;
        match written.first() {
            Some(Written::New) => {
                self.seats.money_came();
                Ok(made(id, amount, false))
            }
            Some(Written::AlreadyThere) => self.repeated(account, amount, id).await,
            _ => Err(BillingError::Unavailable),
        }
    }

    /// A page of an account's entries with sums, everything decided before included.
    ///
    /// # Errors
    /// [`BillingError::Unavailable`] or [`BillingError::Store`] when the store fails.
    pub async fn statement(
        &self,
        account: &AccountId,
        window: Window,
    ) -> Result<StatementPage, BillingError> {
        self.flush().await?;
        Ok(self.store.statement(account, window).await?)
    }

    /// Adds up every entry and compares with the balances.
    ///
    /// # Errors
    /// [`BillingError::Unavailable`] or [`BillingError::Store`] when the store fails.
    pub async fn verify(&self) -> Result<Audit, BillingError> {
        self.flush().await?;
        Ok(self.store.audit().await?)
    }

    fn new_key(
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
        };
        Ok((secret, record))
    }

    fn paying_in(&self, account: &AccountId, amount: Nanodollars, id: &str) -> Vec<Entry> {
        let entry = |kind: EntryKind, amount| Entry {
            id: format!("{}:{account}:{id}", kind.name()),
            account: account.clone(),
            kind,
            amount,
            held: Nanodollars::ZERO,
            hold: String::new(),
            run: "".into(),
            url: "".into(),
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

    async fn repeated(
        &self,
        account: &AccountId,
        amount: Nanodollars,
        id: String,
    ) -> Result<TopUp, BillingError> {
        let entry_id = format!("{}:{account}:{id}", EntryKind::TopUp.name());
        match self.store.entry(&entry_id).await? {
            Some(first) if first.entry.amount == amount => Ok(made(id, amount, true)),
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
            _ if name.trim() != name => "it begins or ends with a space",
            _ if name.contains(char::is_control) => "it has control characters",
            _ if name.starts_with(AccountId::PREFIX) => "`acc_` begins identifiers",
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
        _ if name.trim() != name => "it begins or ends with a space",
        _ if name.contains(char::is_control) => "it has control characters",
        _ => return Ok(()),
    };
    Err(BillingError::BadKeyName {
        name: name.to_owned(),
        reason,
    })
}

fn made(id: String, amount: Nanodollars, is_repeat: bool) -> TopUp {
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
        _ if amount <= Nanodollars::ZERO => "it is not more than zero",
        _ if amount > TOP_UP_MAX => "it is more than a million dollars",
        _ if after > BALANCE_MAX => "the balance would be larger than the ledger can hold",
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
