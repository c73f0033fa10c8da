//! What was written to the ledger a moment ago. A standby of PostgreSQL that is promoted may lack
//! the newest commits, although they were confirmed: their pages are delivered. It continues on
//! another timeline, by which that is noticed, and they are written again under the same ids.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnection;
use tokio::sync::Notify;

use crate::{LedgerEntry, Written};

/// How long entries are kept: far longer than a standby that may be promoted is behind.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Entries that are kept at most: those of a minute of more pages than a server fetches.
const ENTRIES_MAX: usize = 50_000;

/// The newest entries, and the timeline that has them.
#[derive(Debug)]
pub(super) struct Recent {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    timeline: String,
    /// Whether the entries may be missing on this timeline.
    is_behind: bool,
    groups: VecDeque<(Instant, Vec<LedgerEntry>)>,
    n_entries: usize,
}

impl Recent {
    /// No entries yet, on this timeline.
    pub(super) fn on(timeline: String) -> Self {
        Self {
            state: Mutex::new(State {
                timeline,
                is_behind: false,
                groups: VecDeque::new(),
                n_entries: 0,
            }),
            changed: Notify::new(),
        }
    }

    /// Notes on which timeline a new connection is.
    pub(super) fn see(&self, timeline: &str) {
        let mut state = self.state();
        if state.timeline == timeline {
            return;
        }
        tracing::warn!(
            was = state.timeline,
            timeline,
            "PostgreSQL has another timeline: a standby was promoted, or a backup restored; the newest ledger entries are written again"
        );
        timeline.clone_into(&mut state.timeline);
        // Without entries nothing is missing, and nothing would end this state.
        state.is_behind = !state.groups.is_empty();
        drop(state);
        self.changed.notify_one();
    }

    /// The entries that may be missing, oldest first; empty if none is.
    pub(super) fn missing(&self) -> Vec<LedgerEntry> {
        let state = self.state();
        match state.is_behind {
            true => {
                let groups = state.groups.iter();
                groups.flat_map(|(_, group)| group).cloned().collect()
            }
            false => Vec::new(),
        }
    }

    /// Notes that the missing entries are written on this timeline.
    pub(super) fn note_complete(&self, results: &[Written]) {
        let count = |of: fn(&Written) -> bool| results.iter().filter(|one| of(one)).count();
        tracing::warn!(
            n_missing = count(|written| *written == Written::New),
            n_refused = count(|written| matches!(written, Written::Refused { .. })),
            "ledger entries that the promoted server lacked are written again"
        );
        self.state().is_behind = false;
    }

    /// Keeps entries that are written.
    pub(super) fn keep(&self, entries: &[LedgerEntry], written: &[Written]) {
        let new = entries.iter().zip(written);
        let new = new.filter(|(_, written)| **written == Written::New);
        let new: Vec<LedgerEntry> = new.map(|(entry, _)| entry.clone()).collect();
        let now = Instant::now();
        let mut state = self.state();
        if !new.is_empty() {
            state.n_entries += new.len();
            state.groups.push_back((now, new));
        }
        while let Some((at, group)) = state.groups.front() {
            let is_old = now.duration_since(*at) > TIME_MAX || state.n_entries > ENTRIES_MAX;
            if !is_old || state.is_behind {
                break;
            }
            let n_entries = group.len();
            state.n_entries -= n_entries;
            state.groups.pop_front();
        }
    }

    /// Resolves when the timeline has changed.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Whether entries may be missing on this timeline.
    pub(super) fn is_behind(&self) -> bool {
        self.state().is_behind
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The timeline that a connection writes to.
///
/// # Errors
/// The server is a standby, which nothing can be written to.
pub(super) async fn timeline(connection: &mut PgConnection) -> Result<String, sqlx::Error> {
    // The name of a file of the log begins with it.
    sqlx::query_scalar("SELECT SUBSTR(pg_walfile_name(pg_current_wal_lsn()), 1, 8)")
        .fetch_one(connection)
        .await
}

/// Warns of standbys that PostgreSQL does not wait for: they may lack what it has confirmed.
pub(super) async fn warn_of_standbys(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let is_asynchronous: bool = sqlx::query_scalar(
        "SELECT current_setting('synchronous_standby_names') = ''
             AND EXISTS (SELECT 1 FROM pg_stat_replication)",
    )
    .fetch_one(connection)
    .await?;
    if is_asynchronous {
        tracing::warn!(
            "PostgreSQL does not wait for its standbys: one that is promoted may lack accounts, crawls and pages that were confirmed; set `synchronous_standby_names`"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EntryKind;
    use crate::conformance::fixtures::entry;

    #[test]
    fn only_new_entries_are_missing_and_only_on_another_timeline() {
        let recent = Recent::on("00000001".to_owned());
        let entries = ["a", "b", "c"].map(|id| entry(id, EntryKind::TopUp, 1, 0));
        let refused = Written::Refused {
            rule: "balance >= 0".to_owned(),
        };
        recent.keep(&entries, &[Written::New, Written::AlreadyThere, refused]);
        recent.see("00000001");
        assert!(recent.missing().is_empty());
        recent.see("00000002");
        let missing = recent.missing();
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].id, "a");
        recent.note_complete(&[Written::New]);
        assert!(recent.missing().is_empty());
    }

    #[test]
    fn without_entries_nothing_is_missing_on_another_timeline() {
        let recent = Recent::on("00000001".to_owned());
        recent.see("00000002");
        assert!(!recent.is_behind());
    }

    #[test]
    fn the_oldest_entries_are_dropped_once_there_are_many() {
        let recent = Recent::on("00000001".to_owned());
        let group: Vec<LedgerEntry> = (0..ENTRIES_MAX / 2)
            .map(|n| entry(&n.to_string(), EntryKind::TopUp, 1, 0))
            .collect();
        let written = vec![Written::New; group.len()];
        for _ in 0..3 {
            recent.keep(&group, &written);
        }
        assert_eq!(recent.state().n_entries, ENTRIES_MAX);
        assert_eq!(recent.state().groups.len(), 2);
    }
}
