//! The URLs that a crawl starts with: its seeds, or its stored frontier.

use std::sync::Arc;

use url::Url;

use trawl_model::{SkipReason, UrlRow};
use trawl_plan::BatchPlan;
use trawl_plan::crawl::CrawlPlan;

use super::scope::normal;
use super::state::Frontier;
use super::table::UrlStatus;

/// Seeds that are added beyond `limit`, to replace seeds that are skipped (robots.txt, a redirect
/// to a known page, budget). More would be stored and never fetched.
pub(super) const SPARE_SEEDS_MAX: u64 = 1_000;

impl Frontier {
    /// Adds the seeds, unless the crawl is of sitemaps only. A seed that the caller named is always
    /// added. Those of a text, and the first seed when it is one of them, must pass `blacklist` and
    /// `whitelist`. Under a `limit`, no more of them are added than that and a reserve.
    pub(crate) fn add_seeds(&mut self) {
        if self.plan.sitemap.only {
            return;
        }
        if let Some(batch) = self.plan.batch.clone() {
            return self.add_batch(&batch);
        }
        let seed = normal(&self.plan.seed.url);
        let named = self.plan.named.clone();
        let mut named = named.iter().flat_map(|named| named.iter()).peekable();
        // Then the seed was found in the text, as the others were.
        let is_found = named
            .peek()
            .and_then(|(url, _)| Url::parse(url).ok())
            .is_some_and(|first| normal(&first) == seed);
        if !is_found {
            self.insert(&seed, 0, UrlStatus::Waiting);
        }
        let plan = Arc::clone(&self.plan);
        for root in plan.roots.iter().map(|root| normal(&root.url)) {
            if self.table.find(&root).is_none() {
                self.insert(&root, 0, UrlStatus::Waiting);
            }
        }
        let limit = self.plan.limit.unwrap_or(u64::MAX);
        let waiting_max = limit.saturating_add(SPARE_SEEDS_MAX);
        for (url, _) in named {
            if self.levels.n_waiting >= waiting_max {
                break;
            }
            if self.table.find(url).is_none() {
                let status = match self.scope.check(url) {
                    Ok(()) => UrlStatus::Waiting,
                    Err(skip) => UrlStatus::Skipped(skip),
                };
                self.insert(url, 0, status);
            }
        }
        // Fits: the table numbers URLs with 32 bits.
        self.n_seeds = self.table.len() as u32;
    }

    /// Adds the pages of a batch: the row of each has its index, also where two have one URL. What
    /// is listed again is no page of its own.
    fn add_batch(&mut self, batch: &BatchPlan) {
        for page in &batch.pages {
            let status = match page.original {
                None => UrlStatus::Waiting,
                Some(_) => UrlStatus::Skipped(SkipReason::Duplicate),
            };
            self.insert(page.url(), 0, status);
        }
        // Fits: a request has far fewer.
        self.n_seeds = self.table.len() as u32;
    }

    /// Whether the pages are those of a batch.
    pub(crate) fn is_of_batch(&self) -> bool {
        self.plan.batch.is_some()
    }

    /// The frontier from its stored rows, in the order of their numbers. Pages that were in flight
    /// wait again; seeds that are not stored are added.
    pub(crate) fn restore(plan: Arc<CrawlPlan>, rows: impl Iterator<Item = UrlRow>) -> Self {
        let mut frontier = Self::new(plan);
        for row in rows {
            if !frontier.restore_row(&row) {
                break;
            }
        }
        frontier.add_missing_seeds();
        frontier.widen_again();
        frontier
    }

    /// Adds the hosts to the scope that redirects of seeds added before: those of URLs without a
    /// hop that are not seeds.
    fn widen_again(&mut self) {
        if self.plan.named.is_some() || self.plan.sitemap.only {
            return;
        }
        for n in self.n_seeds..self.table.len() as u32 {
            let may_be_target = self.table.depth(n) == 0
                && matches!(
                    self.table.status(n),
                    UrlStatus::Waiting
                        | UrlStatus::Done
                        | UrlStatus::Skipped(SkipReason::Duplicate)
                );
            if may_be_target
                && self.scope.check(self.table.url(n)) == Err(SkipReason::Scope)
                && let Ok(target) = Url::parse(self.table.url(n))
            {
                self.scope.widen(&target);
            }
        }
    }

    /// Adds the seeds that were not stored before the last process was killed. Seeds have the
    /// lowest numbers, and numbers are stored without gaps, so the missing seeds come next.
    fn add_missing_seeds(&mut self) {
        let mut fresh = Self::new(Arc::clone(&self.plan));
        fresh.add_seeds();
        for n in self.table.len() as u32..fresh.n_seeds {
            self.insert(fresh.table.url(n), 0, fresh.table.status(n));
        }
        self.n_seeds = fresh.n_seeds;
    }
}
