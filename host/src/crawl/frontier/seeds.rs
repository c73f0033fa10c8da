//! Where a crawl begins.

use super::Frontier;
use super::scope::normal;
use super::table::Standing;

impl Frontier {
    /// Adds the seed, unless the crawl is of sitemaps only, and the other addresses where the crawl begins. The seed is always taken;
    /// the others are as far as `blacklist` and `whitelist` let them.
    pub fn add_seed(&mut self) {
        let Ok(seed) = self.plan.seed.url.clone() else {
            return;
        };
        if self.plan.sitemap.only {
            return;
        }
        self.insert(&normal(&seed), 0, Standing::Waiting);
        let named = self.plan.named.clone();
        for (url, _) in named.iter().flat_map(|named| named.iter()) {
            if self.table.find(url).is_none() {
                let standing = match self.scope.check(url) {
                    Ok(()) => Standing::Waiting,
                    Err(skip) => Standing::Skipped(skip),
                };
                self.insert(url, 0, standing);
            }
        }
        // No more than the table takes, which numbers them so.
        self.n_seeds = self.table.len() as u32;
    }
}
