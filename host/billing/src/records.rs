//! What is known beside the money: when keys were used, which prices there were, what accounts consumed.

use std::time::Duration;

use serde_json::Value;

use super::{Billing, BillingError};
use trawl_model::clock::Timestamp;
use trawl_store::{AccountId, AccountUsage, KeyRecord, KeyUse, PricesRow};

/// Pause between two times that uses of keys are written: so often at most is a key's row written.
const WRITE_AGAIN: Duration = Duration::from_secs(60);

impl Billing {
    /// Every key of an account, ended ones included, oldest first.
    ///
    /// # Errors
    /// [`BillingError::Store`] when the store fails.
    pub async fn all_keys(&self, account: &AccountId) -> Result<Vec<KeyRecord>, BillingError> {
        let mut keys = self.store.records().all_keys(account).await?;
        let in_force = self.keys(account);
        for key in &mut keys {
            let known = in_force.iter().find(|known| known.prefix == key.prefix);
            key.last_used = known.map_or(key.last_used, |known| known.last_used);
        }
        Ok(keys)
    }

    /// Writes when keys were used, for as long as it is polled.
    pub async fn keep_key_uses(&self) {
        loop {
            tokio::time::sleep(WRITE_AGAIN).await;
            self.write_key_uses().await;
        }
    }

    /// Writes when keys were used since the last time. What the store does not take is written the next time.
    pub(super) async fn write_key_uses(&self) {
        let uses = self.book.key_uses();
        if uses.is_empty() {
            return;
        }
        let rows: Vec<KeyUse> = uses.iter().map(|(row, _)| row.clone()).collect();
        match self.store.records().note_key_uses(&rows).await {
            Ok(()) => uses.iter().for_each(|(row, used)| used.written(row.at)),
            Err(error) => {
                tracing::error!(error = %error, "when keys were used could not be written");
            }
        }
    }

    /// Adds prices to the history when they are others than the last ones. What was charged before keeps its amounts.
    ///
    /// # Errors
    /// [`BillingError::Store`] when the store fails.
    pub async fn keep_prices(&self, prices: &Value) -> Result<(), BillingError> {
        let records = self.store.records();
        let last = records.prices().await?.pop();
        // A row that is not JSON is none of ours, and so another one.
        let is_same = last.is_some_and(|last| {
            serde_json::from_str::<Value>(&last.prices).is_ok_and(|last| last == *prices)
        });
        if !is_same {
            let row = PricesRow {
                at: self.clock.now(),
                prices: prices.to_string(),
            };
            records.add_prices(&row).await?;
        }
        Ok(())
    }

    /// All prices that ever were in effect, oldest first; the last ones are those of the last start.
    ///
    /// # Errors
    /// [`BillingError::Store`] when the store fails.
    pub async fn prices(&self) -> Result<Vec<PricesRow>, BillingError> {
        Ok(self.store.records().prices().await?)
    }

    /// What each account consumed and paid from a time on until another one, everything decided before included.
    ///
    /// # Errors
    /// [`BillingError::Unavailable`] or [`BillingError::Store`] when the store fails.
    pub async fn usage(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<AccountUsage>, BillingError> {
        self.flush().await?;
        Ok(self.store.records().usage(from, to).await?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tokio_util::task::TaskTracker;

    use super::*;
    use trawl_model::Nanodollars;
    use trawl_model::clock::Clock;
    use trawl_store::sqlite::SqliteStore;
    use trawl_store::{DataDir, Store};

    async fn start(store: &Arc<dyn Store>, clock: &Clock) -> Billing {
        let tasks = TaskTracker::new();
        let billing = Billing::start(Arc::clone(store), clock.clone(), &tasks);
        billing.await.expect("billing starts")
    }

    async fn a_store(data: &tempfile::TempDir) -> Arc<dyn Store> {
        let data = DataDir::create(data.path()).expect("a data directory");
        Arc::new(SqliteStore::open(data).await.expect("a store"))
    }

    #[tokio::test]
    async fn uses_are_in_memory_at_once_and_in_the_store_later() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let (store, clock) = (a_store(&data).await, Clock::fake(Timestamp(5_000)));
        let billing = start(&store, &clock).await;
        let created = billing.create_account("alice", Nanodollars::ZERO).await;
        let (account, first) = created.expect("an account");
        let second = billing.create_key(&account.id, "ci").await.expect("a key");
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
        assert!(billing.book.key_uses().is_empty(), "nothing new");

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
        let all = store.records().all_keys(&account.id).await.expect("keys");
        let ended = all.iter().find(|key| key.prefix == shown);
        let ended = ended.expect("it is kept");
        let [revoked, last_used, later] = [1, 1, 2].map(|n| Some(Timestamp(65_000 + n * 1_000)));
        assert_eq!((ended.revoked, ended.last_used), (revoked, last_used));
        let second = all.iter().find(|key| key.name == "ci").expect("in force");
        assert_eq!(second.last_used, later, "written at the end");
    }

    #[tokio::test]
    async fn prices_are_noted_when_they_change() {
        let data = tempfile::tempdir().expect("a temporary directory");
        let (store, clock) = (a_store(&data).await, Clock::fake(Timestamp(5_000)));
        let billing = start(&store, &clock).await;
        let prices = |gigabyte: &str| json!({"gigabyte": gigabyte, "pools": {}});
        for gigabyte in ["1", "1", "2", "2", "1"] {
            billing.keep_prices(&prices(gigabyte)).await.expect("kept");
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
