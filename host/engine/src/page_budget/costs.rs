//! Expected costs of pages, from what recent pages of their hosts consumed.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustc_hash::FxHasher;

use trawl_model::lru::Lru;
use trawl_model::{Nanodollars, Usage};

/// Memory for hosts in bytes, enough for about 15,000.
const MEMORY_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// A page that consumed less than expected lowers the expectation by this part of the difference:
/// one large page is forgotten after a dozen small ones.
const DECAY: u64 = 4;
/// Expected consumption of a first page over plain HTTP: most pages are smaller.
const FIRST_BY_HTTP: (u64, Duration) = (256 * 1024, Duration::from_millis(500));
/// Expected consumption of a first rendered page, with its scripts and images.
const FIRST_RENDERED: (u64, Duration) = (3 * 1024 * 1024, Duration::from_secs(5));
/// Minimum expectation for any page.
const LEAST: (u64, Duration) = (4 * 1024, Duration::from_millis(50));

/// The engine that loads a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Loader {
    /// Plain HTTP.
    #[default]
    Http,
    /// The browser.
    Browser,
}

/// What recent pages of known hosts consumed. One for the whole server, whichever account paid.
#[derive(Debug)]
pub struct CostMemory(Lru<u64, Consumption>);

/// What pages of one run consumed.
#[derive(Debug, Default)]
pub struct RunCosts([Consumption; 2]);

/// Consumption of recent pages: a maximum that decays. Zero while nothing is known.
#[derive(Debug, Default)]
struct Consumption {
    n_bytes: AtomicU64,
    cpu_micros: AtomicU64,
}

impl Default for CostMemory {
    fn default() -> Self {
        Self(Lru::new(MEMORY_BYTES_MAX, 1))
    }
}

impl CostMemory {
    /// What a page of this host is likely to consume, with a quarter more: what its host's last
    /// pages did, or those of its run, or most pages.
    pub(crate) fn expected(
        &self,
        host: &str,
        loader: Loader,
        run: &RunCosts,
        pool_price: Nanodollars,
    ) -> Usage {
        let known = self.0.get(&key(host, loader));
        let known = known.and_then(|known| known.seen());
        let (n_bytes, cpu) = known
            .or_else(|| run.of(loader).seen())
            .unwrap_or(match loader {
                Loader::Http => FIRST_BY_HTTP,
                Loader::Browser => FIRST_RENDERED,
            });
        Usage {
            content_bytes: (n_bytes + n_bytes / 4).max(LEAST.0),
            compute: (cpu + cpu / 4).max(LEAST.1),
            pool_price,
            ..Usage::default()
        }
    }

    /// Records what a page consumed.
    pub(crate) fn note(&self, host: &str, loader: Loader, run: &RunCosts, usage: &Usage) {
        run.of(loader).note(usage);
        let key = key(host, loader);
        if let Some(known) = self.0.get(&key) {
            known.note(usage);
            return;
        }
        let first = Consumption::default();
        first.note(usage);
        self.0.insert(key, Arc::new(first), 0);
    }
}

impl RunCosts {
    fn of(&self, loader: Loader) -> &Consumption {
        let [http, browser] = &self.0;
        match loader {
            Loader::Http => http,
            Loader::Browser => browser,
        }
    }
}

impl Consumption {
    fn seen(&self) -> Option<(u64, Duration)> {
        let n_bytes = self.n_bytes.load(Ordering::Relaxed);
        let cpu = self.cpu_micros.load(Ordering::Relaxed);
        (cpu > 0).then_some((n_bytes, Duration::from_micros(cpu)))
    }

    /// Two pages that end at the same moment may count as one, which an expectation can bear.
    fn note(&self, usage: &Usage) {
        let cpu = (usage.compute + usage.transform).as_micros();
        let cpu = u64::try_from(cpu).unwrap_or(u64::MAX).max(1);
        for (known, now) in [
            (&self.n_bytes, usage.content_bytes),
            (&self.cpu_micros, cpu),
        ] {
            let before = known.load(Ordering::Relaxed);
            let after = if now >= before {
                now
            } else {
                before - (before - now).div_ceil(DECAY)
            };
            known.store(after, Ordering::Relaxed);
        }
    }
}

/// Two hosts with the same key share an expectation and nothing else.
fn key(host: &str, loader: Loader) -> u64 {
    let mut hasher = FxHasher::default();
    (host, loader).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(n_bytes: u64) -> Usage {
        Usage {
            content_bytes: n_bytes,
            compute: Duration::from_millis(1),
            ..Usage::default()
        }
    }

    #[test]
    fn expectations_follow_the_host_then_the_run() {
        let (memory, run) = (CostMemory::default(), RunCosts::default());
        let expected = |host: &str, loader| {
            let usage = memory.expected(host, loader, &run, Nanodollars::ZERO);
            usage.content_bytes
        };
        assert_eq!(expected("a", Loader::Http), FIRST_BY_HTTP.0 * 5 / 4);
        memory.note("a", Loader::Http, &run, &page(100_000));
        assert_eq!(expected("a", Loader::Http), 125_000);
        assert_eq!(expected("b", Loader::Http), 125_000, "of the run");
        assert_eq!(expected("a", Loader::Browser), FIRST_RENDERED.0 * 5 / 4);
        memory.note("b", Loader::Http, &run, &page(10_000_000));
        assert_eq!(expected("b", Loader::Http), 12_500_000);
        assert_eq!(expected("a", Loader::Http), 125_000);
        for _ in 0..20 {
            memory.note("b", Loader::Http, &run, &page(10_000));
        }
        let after = expected("b", Loader::Http);
        assert!((12_500..100_000).contains(&after), "{after}");
        memory.note("c", Loader::Http, &run, &page(0));
        assert_eq!(expected("c", Loader::Http), LEAST.0);
    }
}
