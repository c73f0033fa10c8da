//! Lists and statements that an account reads at once. The store reads all of them on a few
//! connections, so that one account must not fill them.

use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use trawl_billing::AccountId;
use trawl_crawl::AccountPermits;

use super::error::ApiError;

/// How long a query waits for the earlier ones of its account.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// The queries of all accounts.
#[derive(Debug)]
pub(crate) struct Queries {
    permits: AccountPermits,
}

impl Queries {
    /// This number of queries of each account at once.
    pub(crate) fn new(per_account: usize) -> Self {
        Self {
            permits: AccountPermits::new(per_account.max(1)),
        }
    }

    /// Waits for the right to one query, released on drop.
    ///
    /// # Errors
    /// [`ApiError::AtLimit`] if the account's earlier queries take too long.
    pub(crate) async fn take(&self, account: &AccountId) -> Result<OwnedSemaphorePermit, ApiError> {
        let permit = self.permits.of(account).acquire_owned();
        match tokio::time::timeout(WAIT_MAX, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => {
                let limit = self.limit();
                let reason = format!(
                    "queries: the account already reads {limit} of {limit} lists or statements at once: wait for their ends before you send another"
                );
                Err(ApiError::AtLimit(reason, 1))
            }
        }
    }

    /// Waits for the right to the next part of a query that was admitted before.
    pub(crate) async fn next(&self, account: &AccountId) -> Option<OwnedSemaphorePermit> {
        self.permits.of(account).acquire_owned().await.ok()
    }

    /// Queries that an account may have at once.
    pub(crate) fn limit(&self) -> usize {
        self.permits.per_account()
    }

    /// Queries that an account has.
    pub(crate) fn used(&self, account: &AccountId) -> usize {
        self.permits.used(account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_query_waits_for_those_of_its_account_only() {
        let queries = Queries::new(1);
        let (one, other) = (AccountId::new("acc_1"), AccountId::new("acc_2"));
        let first = queries.take(&one).await.expect("free");
        assert_eq!((queries.used(&one), queries.used(&other)), (1, 0));
        drop(queries.take(&other).await.expect("another account"));
        let refused = queries.take(&one).await.expect_err("in use");
        assert!(matches!(refused, ApiError::AtLimit(text, _) if text.starts_with("queries: ")));
        drop(first);
        drop(queries.take(&one).await.expect("free again"));
    }
}
