//! Lists and statements that an account reads at once. The store reads all of them on a few
//! connections, so that one account must not fill them.

use std::sync::Arc;
use std::time::Duration;

use trawl_billing::AccountId;
use trawl_model::fair::{FairPermit, FairSemaphore};
use trawl_model::memory::{MemoryKind, MemoryLease, MemoryShare};

use super::error::ApiError;

/// How long a query waits for the earlier ones of its account.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Bytes of a row of a list, as it is read and written: more than most have.
pub(crate) const ROW_BYTES_LIKELY: usize = 2 * 1024;
/// Bytes of a URL with its attributes.
pub(crate) const URL_BYTES_LIKELY: usize = 128;
/// Bytes of a contact, with the pages that it was found on.
pub(crate) const CONTACT_BYTES_LIKELY: usize = 16 * 1024;

/// Memory for this number of rows, before they are read. What they need in the end is recorded.
///
/// # Errors
/// [`ApiError::AtLimit`] if the account holds its share of the memory for too long.
pub(crate) async fn memory_for(
    share: &MemoryShare,
    n_rows: u32,
    row_bytes: usize,
) -> Result<MemoryLease, ApiError> {
    let mut lease = share.page().lease_for(MemoryKind::Stored);
    let granted = lease.grow_to(n_rows as usize * row_bytes).await;
    granted.map_err(|_error| ApiError::no_memory())?;
    Ok(lease)
}

/// The queries of all accounts.
#[derive(Debug)]
pub(crate) struct Queries {
    permits: Arc<FairSemaphore>,
    per_account: usize,
}

impl Queries {
    /// This number of queries of each account at once.
    pub(crate) fn new(per_account: usize) -> Self {
        let per_account = per_account.max(1);
        Self {
            permits: FairSemaphore::new(usize::MAX, per_account),
            per_account,
        }
    }

    /// Waits for the right to one query, released on drop.
    ///
    /// # Errors
    /// [`ApiError::AtLimit`] if the account's earlier queries take too long.
    pub(crate) async fn take(&self, account: &AccountId) -> Result<FairPermit, ApiError> {
        let permit = self.permits.acquire(account.as_str());
        let permit = tokio::time::timeout(WAIT_MAX, permit).await;
        permit.map_err(|_elapsed| {
            let limit = self.limit();
            let reason = format!(
                "queries: the account already reads {limit} of {limit} lists or statements at once: wait for their ends before you send another"
            );
            ApiError::AtLimit(reason, 1)
        })
    }

    /// The turns themselves, for a reader that takes one for each part of what it reads.
    pub(crate) fn turns(&self) -> Arc<FairSemaphore> {
        Arc::clone(&self.permits)
    }

    /// Waits for the right to the next part of a query that was admitted before.
    pub(crate) async fn next(&self, account: &AccountId) -> FairPermit {
        self.permits.acquire(account.as_str()).await
    }

    /// Queries that an account may have at once.
    pub(crate) fn limit(&self) -> usize {
        self.per_account
    }

    /// Queries that an account has.
    pub(crate) fn used(&self, account: &AccountId) -> usize {
        self.permits.in_use(account.as_str())
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
