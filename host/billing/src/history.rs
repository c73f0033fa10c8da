//! Uses of keys, the price history, usage sums.

use std::time::Duration;

use serde_json::Value;

use trawl_model::clock::Timestamp;
use trawl_store::{AccountId, AccountUsage, KeyPrefix, KeyRecord, KeyUse, PricesRow};

use crate::{Billing, BillingError};

/// Usage of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUsage {
    /// First characters of the key; empty where it is not known.
    pub key: KeyPrefix,
    /// Its display name, possibly empty.
    pub name: String,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
    /// What its pages used. Its payments are zero: they belong to no key.
    pub used: AccountUsage,
}

/// Interval at which uses of keys are written.
const WRITE_INTERVAL: Duration = Duration::from_secs(60);

impl Billing {
    /// Every key of an account, including revoked ones, oldest first.
    ///
    /// # Errors
    /// [`BillingError::Store`] if the store fails.
    pub async fn all_keys(&self, account: &AccountId) -> Result<Vec<KeyRecord>, BillingError> {
        let mut keys = self.store.all_keys(account).await?;
        let (active, now) = (self.keys(account), self.clock.now());
        for key in &mut keys {
            let active = active.iter().find(|active| active.prefix == key.prefix);
            key.last_used = active.map_or(key.last_used, |active| active.last_used);
            let stored = key.spending.at(now);
            key.spending = active.map_or(stored, |active| active.spending);
        }
        Ok(keys)
    }

    /// Writes the uses of keys periodically. Never returns.
    pub async fn write_key_uses_periodically(&self) {
        loop {
            tokio::time::sleep(WRITE_INTERVAL).await;
            self.write_key_uses().await;
        }
    }

    /// Writes the uses of keys since the last call. After a failure, they are written by the next
    /// call.
    pub(crate) async fn write_key_uses(&self) {
        let uses = self.accounts.unwritten_key_uses();
        if uses.is_empty() {
            return;
        }
        let rows: Vec<KeyUse> = uses.iter().map(|(row, _)| row.clone()).collect();
        match self.store.record_key_uses(&rows).await {
            Ok(()) => uses
                .iter()
                .for_each(|(row, last_use)| last_use.set_written(row.at)),
            Err(error) => {
                tracing::error!(error = %error, "the uses of keys could not be written");
            }
        }
    }

    /// Appends prices to the history if they differ from the last ones. Earlier charges do not
    /// change.
    ///
    /// # Errors
    /// [`BillingError::Store`] if the store fails.
    pub async fn record_prices(&self, prices: &Value) -> Result<(), BillingError> {
        let last = self.store.prices().await?.pop();
        // An unreadable row counts as different.
        let is_same = last.is_some_and(|last| {
            serde_json::from_str::<Value>(&last.prices).is_ok_and(|last| last == *prices)
        });
        if !is_same {
            let row = PricesRow {
                at: self.clock.now(),
                prices: prices.to_string(),
            };
            self.store.add_prices(&row).await?;
        }
        Ok(())
    }

    /// The price history, oldest first; the last prices are the ones of the last start.
    ///
    /// # Errors
    /// [`BillingError::Store`] if the store fails.
    pub async fn prices(&self) -> Result<Vec<PricesRow>, BillingError> {
        Ok(self.store.prices().await?)
    }

    /// Usage and payments of each account in a time window, including every earlier decision.
    ///
    /// # Errors
    /// [`BillingError::Unavailable`] or [`BillingError::Store`] if the store fails.
    pub async fn usage(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<AccountUsage>, BillingError> {
        self.flush().await?;
        Ok(self.store.usage(from, to).await?)
    }

    /// Usage and payments of an account on each day of a time window, including every earlier
    /// decision. Days are in UTC, by their beginning.
    ///
    /// # Errors
    /// [`BillingError::Unavailable`] or [`BillingError::Store`] if the store fails.
    pub async fn usage_by_day(
        &self,
        account: &AccountId,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<(Timestamp, AccountUsage)>, BillingError> {
        self.flush().await?;
        Ok(self.store.usage_by_day(account, from, to).await?)
    }

    /// Usage of an account in a time window by the key that its pages were requested with, sorted
    /// by key, including every earlier decision. Pages whose key is not known have an empty one.
    ///
    /// # Errors
    /// [`BillingError::Unavailable`] or [`BillingError::Store`] if the store fails.
    pub async fn usage_of_keys(
        &self,
        account: &AccountId,
        (from, to): (Timestamp, Timestamp),
    ) -> Result<Vec<KeyUsage>, BillingError> {
        self.flush().await?;
        let records = self.store.all_keys(account).await?;
        let used = self.store.usage_by_key(account, from, to).await?;
        let of_key = |(key, used): (KeyPrefix, AccountUsage)| {
            let record = records.iter().find(|record| record.prefix == key.as_str());
            KeyUsage {
                key,
                name: record.map_or_else(String::new, |record| record.name.clone()),
                revoked: record.and_then(|record| record.revoked),
                used,
            }
        };
        Ok(used.into_iter().map(of_key).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tokio_util::task::TaskTracker;

    use trawl_model::Nanodollars;
    use trawl_model::clock::Clock;
    use trawl_store::sqlite::SqliteStore;
    use trawl_store::{DataDir, Store};

    use super::*;

    async fn start(store: &Arc<dyn Store>, clock: &Clock) -> Billing {
        let tasks = TaskTracker::new();
        let billing = Billing::start(store.clone(), clock.clone(), &tasks);
        billing.await.expect("billing starts")
    }

    async fn open_store(data: &tempfile::TempDir) -> Arc<dyn Store> {
        let data = DataDir::create(data.path()).expect("a data directory");
        Arc::new(SqliteStore::open(data).await.expect("a store"))
    }

    #[tokio::test]
    async fn key_uses_are_in_memory_immediately_and_in_the_store_later() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let (store, clock) = (open_store(&data).await, Clock::fake(Timestamp(5_000)));
        let billing = start(&store, &clock).await;
        let created = billing.create_account("alice", Nanodollars::ZERO).await;
        let (account, first) = created.expect("an account");
        let second = billing
            .create_key(&account.id, "ci", None)
            .await
            .expect("a key");
        let used = |keys: &[KeyRecord]| {
            let keys = keys.iter();
            keys.map(|key| (key.name.clone(), key.last_used))
                .collect::<Vec<_>>()
        };
        let (none, ci) = (String::new(), "ci".to_owned());
        clock.advance(Duration::from_secs(60));
        assert!(billing.authenticate(second.expose()).is_some());
        assert!(billing.authenticate("tr_other").is_none());
        let now = Some(clock.now());
        let expected = [(none.clone(), None), (ci.clone(), now)];
        let mut listed = used(&billing.keys(&account.id));
        listed.sort();
        assert_eq!(listed, expected);
        let stored = async || {
            let mut keys = used(&store.keys().await.expect("keys"));
            keys.sort();
            keys
        };
        assert_eq!(stored().await, [(none.clone(), None), (ci.clone(), None)]);
        billing.write_key_uses().await;
        assert_eq!(stored().await, expected);
        assert!(
            billing.accounts.unwritten_key_uses().is_empty(),
            "nothing new"
        );

        clock.advance(Duration::from_secs(1));
        assert!(billing.authenticate(first.expose()).is_some());
        let shown: String = first.expose().chars().take(11).collect();
        let revoked = billing.revoke_key(&account.id, &shown).await;
        assert!(revoked.expect("revoked"));
        assert!(billing.authenticate(first.expose()).is_none());
        assert_eq!(used(&billing.keys(&account.id)), [(ci.clone(), now)]);
        clock.advance(Duration::from_secs(1));
        assert!(billing.authenticate(second.expose()).is_some());
        billing.close().await;
        let all = store.all_keys(&account.id).await.expect("keys");
        let revoked_key = all.iter().find(|key| key.prefix == shown);
        let revoked_key = revoked_key.expect("revoked keys are stored");
        let [revoked, last_used, later] = [1, 1, 2].map(|n| Some(Timestamp(65_000 + n * 1_000)));
        assert_eq!(
            (revoked_key.revoked, revoked_key.last_used),
            (revoked, last_used)
        );
        let second = all.iter().find(|key| key.name == "ci").expect("active");
        assert_eq!(second.last_used, later, "written at the end");
    }

    #[tokio::test]
    async fn prices_are_recorded_when_they_change() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let (store, clock) = (open_store(&data).await, Clock::fake(Timestamp(5_000)));
        let billing = start(&store, &clock).await;
        let prices = |gigabyte: &str| json!({"gigabyte": gigabyte, "pools": {}});
        for gigabyte in ["1", "1", "2", "2", "1"] {
            billing
                .record_prices(&prices(gigabyte))
                .await
                .expect("recorded");
            clock.advance(Duration::from_secs(1));
        }
        let history = billing.prices().await.expect("a history");
        let history: Vec<_> = history.iter().map(|row| (row.at.0, &*row.prices)).collect();
        let expected = [(5_000, "1"), (7_000, "2"), (9_000, "1")];
        let expected = expected.map(|(at, gigabyte)| (at, prices(gigabyte).to_string()));
        assert_eq!(
            history,
            expected.each_ref().map(|(at, text)| (*at, &**text))
        );
        billing.close().await;
    }
}
