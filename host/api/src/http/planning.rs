//! Plans requests where that holds up nobody else.
//!
//! A small request is planned where its body arrived; its bounds keep that short. A large one is
//! planned on a thread of its own, one of an account at a time, so an account that sends many takes
//! one thread from the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use trawl_store::AccountId;

use super::error::ApiError;

/// Bytes of a body that is planned at once: more than most requests have, and too few for long
/// lists.
const PLANNED_AT_ONCE_BYTES_MAX: usize = 4 * 1024;

/// Whose large requests are being planned.
#[derive(Debug, Default)]
pub(crate) struct Planning {
    turns: Mutex<HashMap<AccountId, Weak<tokio::sync::Mutex<()>>>>,
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
        let turn = self.turn(account).lock_owned().await;
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

    /// What an account's large requests wait for. Those of accounts without any are forgotten.
    fn turn(&self, account: &AccountId) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = turns.get(account).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::default();
        turns.insert(account.clone(), Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_one_turn_and_leaves_nothing_behind() {
        let planning = Planning::default();
        let [a, b] = ["acc_a", "acc_b"].map(AccountId::new);
        let (first, other) = (planning.turn(&a), planning.turn(&b));
        let held = first.try_lock().expect("free");
        assert!(planning.turn(&a).try_lock().is_err());
        assert!(other.try_lock().is_ok());
        drop(held);
        assert!(planning.turn(&a).try_lock().is_ok());
        drop((first, other));
        drop(planning.turn(&a));
        assert_eq!(planning.turns.lock().expect("not poisoned").len(), 1);
    }
}
