//! URLs of sitemaps.

use super::scope::{Screened, normal};
use super::state::Frontier;
use super::table::UrlStatus;

impl Frontier {
    /// Adds URLs of sitemaps, at depth 1, or at depth 0 when the crawl is of sitemaps only.
    pub(crate) fn add_sitemap<'a>(
        &mut self,
        urls: impl Iterator<Item = &'a str>,
        screened: Screened,
    ) -> Screened {
        self.set_screened(screened);
        let depth = u16::from(!self.plan.sitemap.only);
        for url in urls {
            self.find(url, depth, None, false);
        }
        std::mem::take(&mut self.scope.screened)
    }

    /// Sets whether sitemaps are still being read: then an empty frontier waits.
    pub(crate) fn set_sitemaps_pending(&mut self, pending: bool) {
        self.are_sitemaps_pending = pending;
    }

    /// The sitemaps have ended. If a crawl of sitemaps only found no page in them, its seed stands
    /// for them: it becomes a failed page with the reason.
    pub(crate) fn end_sitemaps(&mut self) {
        self.are_sitemaps_pending = false;
        let counts = self.counts();
        let has_pages = counts.known > counts.skipped;
        if !self.plan.sitemap.only || has_pages || self.stop.is_some() {
            return;
        }
        let seed = normal(&self.plan.seed.url);
        self.without_sitemap = match self.table.find(&seed) {
            Some(n) => {
                self.revive(n, 0);
                Some(n)
            }
            None => self.insert(&seed, 0, UrlStatus::Waiting),
        };
    }
}
