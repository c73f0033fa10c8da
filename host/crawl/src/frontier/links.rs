//! Links: which URLs a page adds, and by which link a URL was found.

use url::Url;

use trawl_model::outcome::CrawlPlace;
use trawl_model::{Discovered, SkipReason};

use super::queues::Rank;
use super::scope::{self, Screened, normal};
use super::state::Frontier;
use super::table::{Twin, UrlStatus, with_other_scheme};

/// A link on a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<'a> {
    /// The page.
    from: u32,
    /// The text of the link.
    anchor: Option<&'a str>,
}

impl Frontier {
    /// Which of these URLs are new, and would be matched with the expressions of the plan.
    pub(crate) fn unscreened<'u>(&mut self, urls: impl Iterator<Item = &'u str>) -> Vec<String> {
        let is_new =
            |url: &&str| self.table.find(url).is_none() && self.scope.asks_expressions(url);
        urls.filter(is_new).map(str::to_owned).collect()
    }

    /// Sets what the expressions of the plan say about URLs, for the next call that adds URLs.
    pub(crate) fn set_screened(&mut self, screened: Screened) {
        self.scope.screened = screened;
    }

    pub(super) fn add_links(&mut self, n: u32, found: &Discovered, obeys_nofollow: bool) {
        if self.plan.sitemap.only {
            return;
        }
        let depth = self.table.depth(n).saturating_add(1);
        for (number, (url, nofollow)) in found.iter().enumerate() {
            let link = Some(Link {
                from: n,
                anchor: found.anchor(number),
            });
            self.find(url, depth, link, nofollow && obeys_nofollow);
        }
        self.set_screened(Screened::default());
    }

    /// Adds a URL in the form of the `url` crate that was found by this link.
    pub(super) fn find(
        &mut self,
        url: &str,
        depth: u16,
        link: Option<Link<'_>>,
        is_nofollow: bool,
    ) {
        let beyond = depth > self.plan.depth;
        let Some(n) = self.table.find(url) else {
            let status = match self.scope.check(url) {
                Err(skip) => UrlStatus::Skipped(skip),
                Ok(()) if is_nofollow => UrlStatus::Skipped(SkipReason::Nofollow),
                Ok(()) if self.is_trap(url) => UrlStatus::Skipped(SkipReason::Trap),
                Ok(()) if beyond => UrlStatus::Skipped(SkipReason::Depth),
                Ok(()) => UrlStatus::Waiting,
            };
            if let Some(n) = self.insert(url, depth, status) {
                let before = self.rank(n);
                self.set_link(n, link);
                self.push_if_before(n, before);
            }
            return;
        };
        if is_nofollow {
            return;
        }
        if is_https(url) != is_https(self.table.url(n)) {
            self.table.set_twin(n, Twin::Linked);
            self.add_twin(n);
        }
        match self.table.status(n) {
            UrlStatus::Skipped(SkipReason::Depth | SkipReason::Nofollow) if !beyond => {
                self.set_link(n, link);
                self.revive(n, depth)
            }
            UrlStatus::Skipped(SkipReason::Nofollow) => {
                self.move_to(n, UrlStatus::Skipped(SkipReason::Depth))
            }
            UrlStatus::Waiting if depth < self.table.depth(n) => {
                self.set_link(n, link);
                self.levels.n_waiting -= 1;
                self.set(n, depth, UrlStatus::Waiting);
                self.queue(n);
            }
            // Another link of the same depth may be preferred.
            UrlStatus::Waiting if depth == self.table.depth(n) && self.prefers_words() => {
                let (before, known) = (self.rank(n), self.anchors.get(n));
                let anchor = link.and_then(|link| link.anchor);
                self.anchors.set(n, anchor);
                if self.rank(n) < before {
                    self.set_link(n, link);
                    self.set(n, depth, UrlStatus::Waiting);
                    self.push_if_before(n, before);
                } else {
                    self.anchors.set(n, known.as_deref());
                }
            }
            _ => {}
        }
    }

    fn prefers_words(&self) -> bool {
        !self.plan.prefer.words.is_empty()
    }

    /// Queues a waiting URL once more, if it goes before where it is now. The other place is
    /// ignored when it comes up.
    fn push_if_before(&mut self, n: u32, before: Rank) {
        if self.table.status(n) == UrlStatus::Waiting && self.rank(n) < before {
            self.push(n);
        }
    }

    /// Notes the link that a URL has its depth by.
    fn set_link(&mut self, n: u32, link: Option<Link<'_>>) {
        self.table.set_referrer(n, link.map(|link| link.from));
        self.anchors.set(n, link.and_then(|link| link.anchor));
    }

    fn is_trap(&mut self, url: &str) -> bool {
        let path = scope::path_of(url);
        !self.plan.follows_traps && self.traps.has(url, path, &self.table)
    }

    /// The site of a page did not answer under the scheme of its URL. If the crawl knows a link to
    /// it with the other scheme, or finds one later, that is fetched as well. Decision D391.
    pub(crate) fn is_unanswered(&mut self, n: u32) {
        self.table.set_twin(n, Twin::Wanted);
        self.add_twin(n);
    }

    /// Adds a URL with the other scheme, once, if that is wanted and a page links to it.
    fn add_twin(&mut self, n: u32) {
        let is = |twin| self.table.is_twin(n, twin);
        if is(Twin::Added) || !is(Twin::Wanted) || !is(Twin::Linked) {
            return;
        }
        let Some(url) = with_other_scheme(self.table.url(n)) else {
            return;
        };
        let depth = self.table.depth(n);
        let referrer = self.table.referrer(n);
        let status = match self.scope.check(&url) {
            Ok(()) => UrlStatus::Waiting,
            Err(skip) => UrlStatus::Skipped(skip),
        };
        self.table.set_twin(n, Twin::Added);
        if let Some(twin) = self.insert(&url, depth, status) {
            self.table.set_twin(twin, Twin::Added);
            self.table.set_referrer(twin, referrer);
            let anchor = self.anchors.get(n);
            self.anchors.set(twin, anchor.as_deref());
        }
    }

    /// Whether this URL and that with the other scheme are pages of their own. Decision D391.
    pub(crate) fn has_twin(&self, url: &Url) -> bool {
        let found = self.table.find(&normal(url));
        found.is_some_and(|n| self.table.is_twin(n, Twin::Added))
    }

    /// Where a page was found.
    pub(crate) fn place(&self, n: u32) -> CrawlPlace {
        let referrer = self.table.referrer(n);
        let referrer = referrer.filter(|from| (*from as usize) < self.table.len());
        CrawlPlace {
            depth: self.table.depth(n),
            referrer: referrer.map(|from| self.table.url(from).to_owned()),
            // With preferred words it is known, whether asked for or not.
            anchor: match self.plan.anchors || !self.prefers_words() {
                true => self.anchors.get(n),
                false => None,
            },
        }
    }
}

fn is_https(url: &str) -> bool {
    url.starts_with("https:")
}
