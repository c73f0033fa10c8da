//! The limit of open file descriptors, and who gets how many.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The highest limit that is set. Systems without one report a billion, and programs that walk
/// through all possible descriptors would never end.
const DESCRIPTORS_MAX: u64 = 1 << 20;

/// Descriptors that the process itself has open: standard streams, the event loop, the control
/// socket, locks, libraries. A server without work has some 30, the store's included.
const OWN: u64 = 48;
/// Descriptors of SQLite: database, log and index for the connection that writes, database and log
/// for each that reads, and as many again while the first is opened anew.
const STORE: u64 = 24;
/// Page logs: one for each crawl that runs, 64 of them in the background, and for each reader.
const PAGE_LOGS: u64 = 96;
/// Files of the page cache, plugins and credentials that are read at the same time.
const FILES: u64 = 24;
/// Descriptors of one browser tab: the listener of its proxy, the browser's connections to it,
/// pipes.
const TAB: u64 = 12;
/// Connections to sites get at least this share of all descriptors, as a divisor, whatever the
/// others are configured to have.
const SITES_SHARE_MIN: u64 = 8;

/// How many of `limit` descriptors connections to sites may have, when callers may have `callers`
/// and the browser `tabs`. The rest is for what the server must always be able to open: a charge
/// must not fail because sites are slow.
pub(crate) fn for_sites(limit: u64, callers: u64, tabs: u64) -> u64 {
    let kept = OWN + STORE + PAGE_LOGS + FILES + tabs.saturating_mul(TAB);
    let left = limit.saturating_sub(callers).saturating_sub(kept);
    left.max(limit / SITES_SHARE_MIN).max(1)
}

/// Raises the limit to the hard limit, and returns it.
pub(crate) fn raise() -> u64 {
    let before = getrlimit(Resource::Nofile);
    let hard = before.maximum.unwrap_or(DESCRIPTORS_MAX);
    let wanted = hard.min(DESCRIPTORS_MAX);
    if before.current.is_some_and(|current| current < wanted) {
        let raised = Rlimit {
            current: Some(wanted),
            maximum: before.maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(error = %error, "cannot raise the limit of open file descriptors");
        }
    }
    let descriptors = current();
    tracing::info!(descriptors, "limit of open file descriptors");
    descriptors
}

/// The limit that is in force.
pub(crate) fn current() -> u64 {
    let current = getrlimit(Resource::Nofile).current;
    current.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_to_the_hard_limit() {
        let hard = getrlimit(Resource::Nofile).maximum;
        let hard = hard.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX);
        assert_eq!((raise(), current()), (hard, hard));
    }

    #[test]
    fn sites_get_what_callers_and_files_leave() {
        assert_eq!(for_sites(1_024, 512, 8), 224);
        assert_eq!(for_sites(65_536, 8_192, 8), 57_056);
        assert_eq!(for_sites(256, 128, 8), 32);
        assert_eq!(for_sites(1_024, 4_096, 8), 128, "misconfigured");
    }
}
