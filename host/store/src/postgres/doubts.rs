//! Groups of ledger entries that failed and may be written all the same: their connection broke
//! during the commit, or nothing was heard of it in time.

use std::sync::atomic::{AtomicU64, Ordering};

/// The groups of this process that failed. Those of an earlier process are not in doubt: all its
/// connections have ended, and with them their transactions.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    n_failed: AtomicU64,
    /// How many of the failed groups are known to be written or not.
    n_resolved: AtomicU64,
}

/// The groups that have failed until a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Doubt(u64);

impl Doubts {
    /// Notes that a group failed, before the error is returned.
    pub(super) fn note(&self) {
        self.n_failed.fetch_add(1, Ordering::SeqCst);
    }

    /// The groups that have failed by now; `None` if none of them is in doubt.
    pub(super) fn last(&self) -> Option<Doubt> {
        let n_failed = self.n_failed.load(Ordering::SeqCst);
        (n_failed > self.n_resolved.load(Ordering::SeqCst)).then_some(Doubt(n_failed))
    }

    /// Notes that the transactions of these groups have ended.
    pub(super) fn resolve(&self, doubt: Doubt) {
        self.n_resolved.fetch_max(doubt.0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_lasts_until_it_is_resolved() {
        let doubts = Doubts::default();
        assert_eq!(doubts.last(), None);
        doubts.note();
        let first = doubts.last().expect("a doubt");
        doubts.note();
        doubts.resolve(first);
        let second = doubts.last().expect("another group has failed meanwhile");
        doubts.resolve(second);
        doubts.resolve(first);
        assert_eq!(doubts.last(), None);
    }
}
