//! Turns to decode and to parse: CPU time that accounts share fairly.

use std::sync::{Arc, LazyLock};

use tokio::task::{JoinError, spawn_blocking};

use trawl_model::fair::{FairPermit, FairSemaphore};

/// The turns of this process. Half of the cores decode or parse at a time, which leaves the rest to
/// all other work.
static TURNS: LazyLock<CpuTurns> = LazyLock::new(|| CpuTurns::new(half_of_the_cores()));

/// Half of the processor's cores, at least one.
pub(crate) fn half_of_the_cores() -> usize {
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    (n_cores / 2).max(1)
}

/// A number of turns at a time. Each account waits in its own line first and has no more calls in
/// the common line than there are turns: so accounts take turns, however many bodies each has.
#[derive(Clone, Debug)]
pub struct CpuTurns {
    of_account: Arc<FairSemaphore>,
    of_all: Arc<FairSemaphore>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct CpuTurn {
    _of_all: FairPermit,
    _of_account: FairPermit,
}

impl CpuTurns {
    pub(crate) fn new(n_turns: usize) -> Self {
        Self {
            of_account: FairSemaphore::new(usize::MAX, n_turns),
            of_all: FairSemaphore::new(n_turns, n_turns),
        }
    }

    /// The turns that all bodies and sitemaps take.
    pub fn of_process() -> Self {
        TURNS.clone()
    }

    /// Runs work in a turn of this account, on a thread that may block.
    ///
    /// # Errors
    /// The work panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        account: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let turn = self.take(account).await;
        let working = spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        working.await
    }

    /// Waits for a turn of this account. Cancel-safe. It must be polled until it has ended: a turn
    /// that is granted to a call that waits for something else is missing to all others.
    pub(crate) async fn take(&self, account: &str) -> CpuTurn {
        let of_account = self.of_account.acquire(account).await;
        let of_all = self.of_all.acquire(account).await;
        CpuTurn {
            _of_all: of_all,
            _of_account: of_account,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn no_more_work_runs_at_once_than_there_are_turns() {
        let turns = CpuTurns::new(1);
        let running = Arc::new(AtomicUsize::new(0));
        let work = ["a", "b", "a", "b"].map(|account| {
            let running = Arc::clone(&running);
            turns.run(account, move || {
                let others = running.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(2));
                running.fetch_sub(1, Ordering::SeqCst);
                others
            })
        });
        for others in join_all(work).await {
            assert_eq!(others.expect("it does not panic"), 0);
        }
    }
}
