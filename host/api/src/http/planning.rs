//! Plans requests where that holds up nobody else.
//!
//! A small request is planned where its body arrived; its bounds keep that short. A large one is
//! planned on a thread of its own, one of an account at a time, so an account that sends many takes
//! one thread from the others.

use std::sync::Arc;

use trawl_model::fair::FairSemaphore;
use trawl_store::AccountId;

use super::error::ApiError;

/// Bytes of a body that is planned at once: more than most requests have, and too few for long
/// lists.
const PLANNED_AT_ONCE_BYTES_MAX: usize = 4 * 1024;

/// Whose large requests are being planned.
#[derive(Debug)]
pub(crate) struct Planning {
    turns: Arc<FairSemaphore>,
}

impl Default for Planning {
    fn default() -> Self {
        Self {
            turns: FairSemaphore::new(usize::MAX, 1),
        }
    }
}

impl Planning {
    /// Plans a request of this account whose body has so many bytes.
    pub(super) async fn plan<T: Send + 'static>(
        &self,
        account: &AccountId,
        n_bytes: usize,
        plan: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        if n_bytes <= PLANNED_AT_ONCE_BYTES_MAX {
            return plan();
        }
        let turn = self.turns.acquire(account.as_str()).await;
        let planning = tokio::task::spawn_blocking(move || {
            // Held until the thread is done, even if the caller has gone.
            let _turn = turn;
            plan()
        });
        planning.await.unwrap_or_else(|_| {
            // The log of the panic itself says where. Its message may contain the request's values.
            tracing::error!("planning a request panicked");
            Err(ApiError::Internal)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_large_request_waits_for_those_of_its_account_only() {
        let planning = Planning::default();
        let [one, other] = ["acc_1", "acc_2"].map(AccountId::new);
        let large = PLANNED_AT_ONCE_BYTES_MAX + 1;
        let held = planning.turns.acquire(one.as_str()).await;
        let mut waiting = std::pin::pin!(planning.plan(&one, large, || Ok(())));
        let early = tokio::time::timeout(Duration::from_millis(50), waiting.as_mut()).await;
        assert!(early.is_err(), "another one is being planned");
        let small = planning.plan(&one, 1, || Ok(())).await;
        small.expect("a small request waits for nothing");
        let another = planning.plan(&other, large, || Ok(())).await;
        another.expect("another account");
        drop(held);
        waiting.await.expect("its turn");
        assert_eq!(planning.turns.in_use(one.as_str()), 0);
    }
}
