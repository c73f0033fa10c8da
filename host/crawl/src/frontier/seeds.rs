//! Where a crawl begins.

use std::sync::Arc;

use url::Url;

use super::Frontier;
use super::scope::normal;
use super::table::UrlStatus;

/// Seeds that are taken beyond `limit`, in place of those that turn out to be no page (robots, a redirect to a known one, budget).
/// More of them would be work and rows in the store for pages that are never fetched.
pub(super) const RESERVE_MAX: u64 = 1_000;

impl Frontier {
    /// Adds the seed, unless the crawl is of sitemaps only, and the other addresses where the crawl begins. A seed that the
    /// caller named is always taken; the others, and the seed when it is the first of them, are as far as `blacklist` and `whitelist`
    /// let them. Under a `limit` no more are taken than that and a reserve.
    pub fn add_seed(&mut self) {
        let Ok(seed) = self.plan.seed.url.clone() else {
            return;
        };
        if self.plan.sitemap.only {
            return;
        }
        let seed = normal(&seed);
        let named = self.plan.named.clone();
        let mut named = named.iter().flat_map(|named| named.iter()).peekable();
        // Then it was found, as all others were.
        let is_found = named
            .peek()
            .and_then(|(url, _)| Url::parse(url).ok())
            .is_some_and(|first| normal(&first) == seed);
        if !is_found {
            self.insert(&seed, 0, UrlStatus::Waiting);
        }
        let limit = self.plan.limit.unwrap_or(u64::MAX);
        let waiting_max = limit.saturating_add(RESERVE_MAX);
        for (url, _) in named {
            if self.levels.waiting() >= waiting_max {
                break;
            }
            if self.table.find(url).is_none() {
                let standing = match self.scope.check(url) {
                    Ok(()) => UrlStatus::Waiting,
                    Err(skip) => UrlStatus::Skipped(skip),
                };
                self.insert(url, 0, standing);
            }
        }
        // No more than the table takes, which numbers them so.
        self.n_seeds = self.table.len() as u32;
    }
    /// Adds the seeds that a crawl lost when it was killed before all were stored. They have the first numbers, and numbers are stored
    /// without gaps: those that are not there come next.
    pub(super) fn add_missing_seeds(&mut self) {
        let mut begun = Self::new(Arc::clone(&self.plan));
        begun.add_seed();
        for n in self.table.len() as u32..begun.n_seeds {
            self.insert(begun.table.url(n), 0, begun.table.standing(n));
        }
        self.n_seeds = begun.n_seeds;
    }
}
