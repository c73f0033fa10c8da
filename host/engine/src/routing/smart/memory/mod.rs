//! Which hosts recently needed a browser, so that their next pages are rendered at once.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Rule, Verdict};

/// How long a host is remembered. Afterwards plain HTTP is tried again: sites change, and walls are
/// removed.
pub(crate) const MEMORY_AGE_MAX: Duration = Duration::from_secs(10 * 60);
/// Consecutive pages of a host that must have needed a browser. A single one may be a login page of
/// a static site.
pub(crate) const PAGES_IN_A_ROW: u32 = 3;
/// Pages of such a host that are rendered at once. The next one is tried by plain HTTP first, which
/// costs next to nothing compared with a browser, and is judged: a host may have static pages too.
pub(crate) const PAGES_AT_ONCE: u32 = 4;
/// Most hosts: about 2 MiB, and more than one machine crawls within [`MEMORY_AGE_MAX`].
pub(crate) const HOSTS_MAX: usize = 10_000;
/// Longest host that is stored: the longest name that DNS allows (RFC 1035 section 2.3.4), and its
/// port.
const HOST_BYTES_MAX: usize = 255 + 6;

/// What plain HTTP returned for recently seen hosts, each with its port. One for the whole server.
///
/// Hosts are stored in two generations. A full young generation replaces the old one, so that each
/// step costs the same for any number of hosts.
#[derive(Debug, Default)]
pub(crate) struct HostMemory {
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Box<str>, Host>,
    old: HashMap<Box<str>, Host>,
}

#[derive(Clone, Copy, Debug)]
struct Host {
    seen: Seen,
    noted: Instant,
    /// Pages that were expected to need a browser since then.
    n_expected: u32,
}

#[derive(Clone, Copy, Debug)]
enum Seen {
    /// A page was enough without a browser, within the host's age.
    Enough,
    /// Every page needed a browser: how many, and the last one's rule.
    Needed(u32, Rule),
}

impl HostMemory {
    /// The rule by which a page of this host is expected to need a browser, if it is.
    ///
    /// It is after [`PAGES_IN_A_ROW`] consecutive pages that needed one within [`MEMORY_AGE_MAX`],
    /// for [`PAGES_AT_ONCE`] pages at a time. To be asked once a page.
    pub(crate) fn expects_browser(&self, host: &str, now: Instant) -> Option<Rule> {
        let mut generations = self.lock();
        let host = generations.find(host, now)?;
        match host.seen {
            Seen::Needed(pages, rule) if pages >= PAGES_IN_A_ROW => {
                host.n_expected = (host.n_expected + 1) % (PAGES_AT_ONCE + 1);
                (host.n_expected > 0).then_some(rule)
            }
            Seen::Needed(..) | Seen::Enough => None,
        }
    }

    /// Records the verdict of [`judge`](super::judge) on a page of this host.
    ///
    /// Pages that are rendered at once are not judged and so not recorded: they do not extend the
    /// memory.
    pub(crate) fn note(&self, host: &str, verdict: Verdict, now: Instant) {
        if host.len() > HOST_BYTES_MAX {
            return;
        }
        let mut generations = self.lock();
        let before = generations.find(host, now).map(|host| host.seen);
        let after = match (verdict, before) {
            (Verdict::Enough, _) => Some(Seen::Enough),
            (Verdict::NeedsBrowser(rule), _) if !rule.speaks_for_host() => None,
            (Verdict::NeedsBrowser(rule), None) => Some(Seen::Needed(1, rule)),
            (Verdict::NeedsBrowser(rule), Some(Seen::Needed(pages, _))) => {
                Some(Seen::Needed(pages.saturating_add(1), rule))
            }
            (Verdict::NeedsBrowser(_), Some(Seen::Enough)) => None,
        };
        if let Some(seen) = after {
            let what = Host {
                seen,
                noted: now,
                n_expected: 0,
            };
            generations.put(host, what);
        }
    }

    /// How many hosts are remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let generations = self.lock();
        generations.young.len() + generations.old.len()
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        // No update is half done if a thread panics while it has the lock.
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn find(&mut self, host: &str, now: Instant) -> Option<&mut Host> {
        let found = match self.young.get_mut(host) {
            Some(found) => found,
            None => self.old.get_mut(host)?,
        };
        let is_fresh = now.saturating_duration_since(found.noted) < MEMORY_AGE_MAX;
        is_fresh.then_some(found)
    }

    fn put(&mut self, host: &str, what: Host) {
        if let Some(known) = self.young.get_mut(host) {
            *known = what;
            return;
        }
        if self.young.len() >= HOSTS_MAX / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(host.into(), what);
    }
}
