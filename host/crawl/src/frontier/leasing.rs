//! The way of a page: it is leased, then completed or skipped.

use url::Url;

use trawl_model::{Discovered, SkipReason};

use super::lease::{Lease, Leased};
use super::scope;
use super::state::Frontier;
use super::stopping::skip_after;
use super::table::UrlStatus;

impl Frontier {
    /// Leases the next page that all caps allow.
    pub(crate) fn lease(&mut self) -> Lease {
        let in_flight = self.levels.n_in_flight;
        loop {
            if let Some(stop) = self.stop {
                return match in_flight {
                    0 => Lease::Done(stop),
                    _ => Lease::Wait,
                };
            }
            if in_flight >= self.plan.in_flight as u64 {
                return Lease::Wait;
            }
            let Some(n) = self.first_waiting() else {
                // A page in flight may be skipped, and leave its place in a budget. One that is not
                // delivered may fail, and those that were folded into it are fetched.
                if in_flight > 0 || self.are_sitemaps_pending || self.folds.has_pending() {
                    return Lease::Wait;
                }
                self.skip_waiting(SkipReason::Budget);
                self.stop = Some(self.natural_stop());
                continue;
            };
            let is_by_depth = self.plan.prefer.is_empty();
            if is_by_depth && self.levels.is_blocked(self.table.depth(n)) {
                return Lease::Wait;
            }
            if let Some(stop) = self.caps.used_up() {
                // A page in flight may be skipped and taken out of the count.
                if in_flight > 0 {
                    return Lease::Wait;
                }
                self.stop(stop);
                continue;
            }
            self.queues.pop_first();
            self.move_to(n, UrlStatus::Leased);
            self.take(n);
            self.hosts.start(scope::host(self.table.url(n)));
            match self.url_to_fetch(n) {
                Some(url) => {
                    return Lease::Page(Leased {
                        n,
                        url,
                        is_seed: n < self.n_seeds || self.without_sitemap == Some(n),
                        has_no_sitemap: self.without_sitemap == Some(n),
                    });
                }
                None => self.skip(n, SkipReason::Scheme),
            }
        }
    }

    /// The URL of a page. What a batch lists may be no URL: then it is this one, of which nothing
    /// is fetched, and the plan of the page says what it is.
    fn url_to_fetch(&self, n: u32) -> Option<Url> {
        let url = Url::parse(self.table.url(n)).ok();
        let is_listed = || self.is_of_batch();
        url.or_else(|| Url::parse("about:blank").ok().filter(|_| is_listed()))
    }

    /// Completes a page that was fetched, even if that failed, and adds its links. With
    /// `obeys_nofollow`, links with `nofollow` are skipped unless another page links to the same
    /// URL without it.
    pub(crate) fn complete(&mut self, n: u32, found: &Discovered, obeys_nofollow: bool) {
        if self.table.status(n) != UrlStatus::Leased {
            return;
        }
        self.move_to(n, UrlStatus::Done);
        self.folds.complete(n);
        self.end_at_host(n);
        self.add_links(n, found, obeys_nofollow);
    }

    /// Skips a leased page. It no longer counts, and the targets of its redirects and its canonical
    /// URL are pages of their own again.
    pub(crate) fn skip(&mut self, n: u32, reason: SkipReason) {
        if self.table.status(n) != UrlStatus::Leased {
            return;
        }
        self.untake(n);
        self.move_to(n, UrlStatus::Skipped(reason));
        let claims = std::mem::take(&mut self.claims);
        for (by, target) in claims {
            if by == n {
                self.wait_again(target);
            } else {
                self.claims.push((by, target));
            }
        }
        self.release_folded(n);
    }

    /// Puts back a leased page that was not requested: it waits as before, unless the crawl has
    /// stopped.
    pub(crate) fn put_back(&mut self, n: u32) {
        match self.stop {
            Some(stop) => self.skip(n, skip_after(stop)),
            None if self.table.status(n) == UrlStatus::Leased => {
                self.untake(n);
                self.move_to(n, UrlStatus::Waiting);
            }
            None => {}
        }
    }

    /// Takes a leased page out of the counts of pages.
    fn untake(&mut self, n: u32) {
        self.caps.give_back();
        self.queues.give_back(self.table.url(n));
        self.hosts.give_back(scope::host(self.table.url(n)));
        self.end_at_host(n);
    }

    /// The host of a page asks for a delay between requests, or does not. Returns whether more of
    /// its pages may be leased than before.
    pub(crate) fn pace_host(&mut self, n: u32, is_paced: bool) -> bool {
        let freed = self.hosts.pace(scope::host(self.table.url(n)), is_paced);
        for &held in &freed {
            self.requeue(held);
        }
        !freed.is_empty()
    }

    /// Puts a URL that was held back into its queue, if it still waits. It is still counted as
    /// waiting.
    fn requeue(&mut self, n: u32) -> bool {
        let is_waiting = self.table.status(n) == UrlStatus::Waiting;
        if is_waiting {
            self.push(n);
        }
        is_waiting
    }

    /// Gives the place of a page at its host to a URL that waits for it.
    fn end_at_host(&mut self, n: u32) {
        self.hosts.end(scope::host(self.table.url(n)));
        while let Some(held) = self.hosts.next_held(scope::host(self.table.url(n))) {
            if self.requeue(held) {
                return;
            }
        }
    }

    /// The first waiting URL that neither a budget nor its host holds back; it is also the first of
    /// the queues.
    pub(super) fn first_waiting(&mut self) -> Option<u32> {
        while let Some(first) = self.queues.first() {
            let waits = self.table.status(first.n) == UrlStatus::Waiting;
            if waits && self.table.depth(first.n) == first.rank.depth {
                let host = scope::host(self.table.url(first.n));
                if !self.hosts.hold_if_full(host, first.rank.missed, first.n) {
                    return Some(first.n);
                }
            }
            self.queues.pop_first();
        }
        None
    }
}
