//! Turns to decode and to parse: CPU time that accounts share fairly.

use std::sync::{Arc, LazyLock};

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
pub struct CpuTurn {
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

    /// Waits for a turn of this account. Cancel-safe.
    pub async fn take(&self, account: &str) -> CpuTurn {
        let of_account = self.of_account.acquire(account).await;
        let of_all = self.of_all.acquire(account).await;
        CpuTurn {
            _of_all: of_all,
            _of_account: of_account,
        }
    }
}
