//! How many crawls an account has at once, and how many it may have.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use trawl_billing::AccountId;
use trawl_model::fair::{FairPermit, FairSemaphore};

use super::lock;

/// Crawls that one account may have at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrawlLimits {
    /// Streaming crawls, which run at once.
    pub streaming: usize,
    /// Background crawls, queued, running or parked in this process.
    pub background: usize,
    /// Background crawls that run at the same time; more are queued.
    pub background_running: usize,
}

impl Default for CrawlLimits {
    fn default() -> Self {
        Self {
            // The seeds of one request. Each has up to ten pages in flight and an open file.
            streaming: 100,
            background: 1_000,
            // A quarter of what the server runs at once, so that four accounts find room.
            background_running: 16,
        }
    }
}

/// An account has as many crawls as it may. The text is for its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name}: the account has {used} of {limit} at once and the request starts {wanted}: wait until one ends, or cancel one with `DELETE /crawl/{{id}}`"
)]
pub struct TooManyCrawls {
    /// Name of the limit, as in `GET /account`.
    pub name: &'static str,
    /// Crawls that the account has.
    pub used: usize,
    /// Crawls that it may have.
    pub limit: usize,
    /// Crawls of the request.
    pub wanted: usize,
}

/// Number of crawls of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrawlsInUse {
    /// Streaming crawls.
    pub streaming: usize,
    /// Background crawls, queued or running.
    pub background: usize,
}

/// How many crawls each account has.
#[derive(Debug, Default)]
pub(super) struct CrawlCounts {
    in_use: Mutex<HashMap<AccountId, CrawlsInUse>>,
}

/// Places for crawls of one account, given back on drop.
#[derive(Debug)]
pub(super) struct CrawlPlaces {
    places: Arc<CrawlCounts>,
    account: AccountId,
    in_background: bool,
    n_places: usize,
}

impl CrawlsInUse {
    fn of_kind(mut self, in_background: bool) -> usize {
        *self.of(in_background)
    }

    fn of(&mut self, in_background: bool) -> &mut usize {
        if in_background {
            &mut self.background
        } else {
            &mut self.streaming
        }
    }
}

impl CrawlCounts {
    /// Number of crawls of an account.
    pub(super) fn in_use(&self, account: &AccountId) -> CrawlsInUse {
        lock(&self.in_use).get(account).copied().unwrap_or_default()
    }

    /// Takes places for all crawls of a request, or for none.
    pub(super) fn take(
        self: &Arc<Self>,
        account: &AccountId,
        in_background: bool,
        wanted: usize,
        limits: &CrawlLimits,
    ) -> Result<CrawlPlaces, TooManyCrawls> {
        let (name, limit) = match in_background {
            true => ("background_crawls", limits.background),
            false => ("streaming_crawls", limits.streaming),
        };
        self.add(account, in_background, wanted, limit)
            .map_err(|used| TooManyCrawls {
                name,
                used,
                limit,
                wanted,
            })
    }

    /// Takes places without a check: for crawls that were admitted before a restart.
    pub(super) fn take_anyway(
        self: &Arc<Self>,
        account: &AccountId,
        in_background: bool,
        n_places: usize,
    ) -> CrawlPlaces {
        let added = self.add(account, in_background, n_places, usize::MAX);
        added.expect("there is no limit")
    }

    /// Adds places up to a limit, or returns how many the account has.
    fn add(
        self: &Arc<Self>,
        account: &AccountId,
        in_background: bool,
        n_places: usize,
        limit: usize,
    ) -> Result<CrawlPlaces, usize> {
        let mut in_use = lock(&self.in_use);
        let used = in_use.get(account).copied().unwrap_or_default();
        let used = used.of_kind(in_background);
        if n_places > 0 && used.saturating_add(n_places) > limit {
            return Err(used);
        }
        if n_places > 0 {
            *in_use.entry(account.clone()).or_default().of(in_background) += n_places;
        }
        Ok(CrawlPlaces {
            places: Arc::clone(self),
            account: account.clone(),
            in_background,
            n_places,
        })
    }
}

/// The right to run background crawls: a number of the server, and of each account. Without the
/// second, one account's queue would come before everybody's.
#[derive(Debug)]
pub(super) struct RunningCrawls {
    server: Arc<Semaphore>,
    accounts: Arc<FairSemaphore>,
}

/// What a background crawl holds while it runs.
pub(super) type TurnPermit = (FairPermit, Option<OwnedSemaphorePermit>);

impl RunningCrawls {
    /// `per_server` crawls that run at once, of each account `per_account`.
    pub(super) fn new(per_server: usize, per_account: usize) -> Self {
        Self {
            server: Arc::new(Semaphore::new(per_server)),
            accounts: FairSemaphore::new(usize::MAX, per_account.min(per_server)),
        }
    }

    /// Waits for a turn, and for what else the crawl needs. It holds none of the server's permits
    /// meanwhile, so only its own account waits for it.
    pub(super) async fn take<N>(
        &self,
        account: &AccountId,
        needed: impl Future<Output = N>,
    ) -> (TurnPermit, N) {
        let own = self.accounts.acquire(account.as_str()).await;
        let needed = needed.await;
        // It is never closed.
        let shared = Arc::clone(&self.server).acquire_owned().await.ok();
        ((own, shared), needed)
    }
}

impl CrawlPlaces {
    /// Whether none is left.
    pub(super) fn is_empty(&self) -> bool {
        self.n_places == 0
    }

    /// Takes one place out of these.
    pub(super) fn split(&mut self) -> Self {
        let n_places = self.n_places.min(1);
        self.n_places -= n_places;
        Self {
            places: Arc::clone(&self.places),
            account: self.account.clone(),
            in_background: self.in_background,
            n_places,
        }
    }
}

impl Drop for CrawlPlaces {
    fn drop(&mut self) {
        let mut in_use = lock(&self.places.in_use);
        let Some(counts) = in_use.get_mut(&self.account) else {
            return;
        };
        *counts.of(self.in_background) -= self.n_places;
        if *counts == CrawlsInUse::default() {
            in_use.remove(&self.account);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn an_account_with_a_long_queue_leaves_turns_to_others() {
        let turns = RunningCrawls::new(4, 2);
        let greedy = AccountId::new("acc_1");
        let first = turns.take(&greedy, ready(())).await;
        let _second = turns.take(&greedy, ready(())).await;
        let mut third = Box::pin(turns.take(&greedy, ready(())));
        assert!((&mut third).now_or_never().is_none());
        let modest = AccountId::new("acc_2");
        let modest = turns.take(&modest, ready(())).now_or_never();
        assert!(modest.is_some());
        drop(first);
        assert!(third.now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_crawl_that_waits_for_memory_keeps_no_other_account_waiting() {
        let turns = RunningCrawls::new(1, 1);
        let [one, other] = ["acc_1", "acc_2"].map(AccountId::new);
        let (memory, granted) = tokio::sync::oneshot::channel();
        let mut waiting = Box::pin(turns.take(&one, granted));
        assert!((&mut waiting).now_or_never().is_none());
        let runs = turns.take(&other, ready(())).now_or_never();
        let runs = runs.expect("the only turn is free");
        memory.send(7).expect("it is waited for");
        assert!((&mut waiting).now_or_never().is_none(), "another one runs");
        drop(runs);
        let (_permit, granted) = waiting.now_or_never().expect("its turn");
        assert_eq!(granted, Ok(7));
    }

    #[test]
    fn a_request_gets_places_for_all_its_crawls_or_for_none() {
        let places = Arc::new(CrawlCounts::default());
        let (one, other) = (AccountId::new("acc_1"), AccountId::new("acc_2"));
        let limits = CrawlLimits {
            streaming: 3,
            background: 1,
            ..CrawlLimits::default()
        };
        let take = |account: &AccountId, wanted| places.take(account, false, wanted, &limits);
        let mut first = take(&one, 2).expect("room");
        let refused = take(&one, 2).expect_err("full");
        assert_eq!((refused.used, refused.limit, refused.wanted), (2, 3, 2));
        assert!(refused.to_string().starts_with("streaming_crawls: "));
        let others = take(&other, 3).expect("accounts have places of their own");
        let background = places.take(&one, true, 1, &limits).expect("another kind");
        assert!(places.take(&one, true, 1, &limits).is_err());

        let crawl = first.split();
        drop(first);
        assert_eq!(places.in_use(&one).streaming, 1);
        drop(crawl);
        drop((background, others));
        assert_eq!(places.in_use(&one), CrawlsInUse::default());
        assert!(lock(&places.in_use).is_empty(), "nothing is left over");
    }
}
