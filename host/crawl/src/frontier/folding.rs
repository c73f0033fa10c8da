//! Pages that the crawl has under another URL: by their canonical URL, or by equal content.

use url::Url;

use trawl_model::{ContentHash, Discovered, SkipReason};

use super::scope::normal;
use super::state::Frontier;
use super::table::UrlStatus;

impl Frontier {
    /// Completes a page that the crawl has under another URL: it is skipped and does not count, and
    /// its links are added as those of [`Self::complete`].
    pub(crate) fn complete_folded(&mut self, n: u32, found: &Discovered, obeys_nofollow: bool) {
        if self.table.status(n) != UrlStatus::Leased {
            return;
        }
        self.skip(n, SkipReason::Duplicate);
        self.add_links(n, found, obeys_nofollow);
    }

    /// Whether another page of the crawl has the canonical URL of this one, so that this one is
    /// left out. Otherwise this page, which is to be completed next, stands for that URL, if it is
    /// part of the crawl.
    pub(crate) fn folds_into(&mut self, n: u32, canonical: &Url) -> bool {
        let to = normal(canonical);
        if self.scope.check(&to).is_err() {
            return false;
        }
        let Some(known) = self.table.find(&to) else {
            self.stand_for_canonical(n, None, &to);
            return false;
        };
        match self.table.status(known) {
            _ if known == n => false,
            // One of two pages that name each other must stay: that which is completed first.
            UrlStatus::Leased => false,
            UrlStatus::Done => self.folds_into_page(n, known),
            UrlStatus::Skipped(SkipReason::Duplicate) => match self.page_with_url(known) {
                Some(page) if page == n || self.table.status(page) == UrlStatus::Leased => false,
                Some(page) => self.folds_into_page(n, page),
                None => !self.table.is_failed(known),
            },
            UrlStatus::Waiting | UrlStatus::Skipped(_) => {
                self.stand_for_canonical(n, Some(known), &to);
                false
            }
        }
    }

    /// The page that another URL belongs to, until it is delivered.
    pub(super) fn page_with_url(&self, url: u32) -> Option<u32> {
        let mut claims = self.claims.iter();
        let claimed = claims.find(|(_, target)| *target == url);
        claimed
            .map(|(page, _)| *page)
            .or_else(|| self.folds.page_of(url))
    }

    /// Leaves out a page for another one that is completed, unless that has failed.
    fn folds_into_page(&mut self, n: u32, page: u32) -> bool {
        let is_good = !self.table.is_failed(page);
        if is_good {
            self.folds.fold(n, page);
        }
        is_good
    }

    /// Leaves out the canonical URL of a page. `known` is its number.
    fn stand_for_canonical(&mut self, n: u32, known: Option<u32>, url: &str) {
        if let Some(canonical) = self.make_duplicate(n, known, url) {
            self.folds.stand_for(n, canonical);
        }
    }

    /// Whether no other page of the crawl has this content, so that this one, which is to be
    /// completed next, is not left out.
    pub(crate) fn is_new_content(&mut self, n: u32, content: ContentHash) -> bool {
        match self.folds.page_with(content) {
            Some(page) if page != n => {
                self.folds.fold(n, page);
                false
            }
            _ => {
                self.folds.note_content(n, content);
                true
            }
        }
    }

    /// Notes that a page is delivered: its other URLs are not pages, also in the next process.
    pub(crate) fn note_delivered(&mut self, n: u32) {
        let others = self.claims.extract_if(.., |(by, _)| *by == n);
        let mut others: Vec<u32> = others.map(|(_, other)| other).collect();
        others.extend(self.folds.deliver(n));
        for other in others {
            self.set(other, self.table.depth(other), self.table.status(other));
        }
    }

    /// Notes that a page has failed, perhaps only because it could not be paid, or that it is not
    /// delivered: no other page folds into it, and those that have are fetched again.
    pub(crate) fn has_failed(&mut self, n: u32) {
        self.table.set_failed(n);
        for (by, target) in &self.claims {
            if *by == n {
                self.table.set_failed(*target);
            }
        }
        self.release_folded(n);
    }

    /// Pages that were left out for this one, and its canonical URL, wait to be fetched: it is not
    /// delivered.
    pub(super) fn release_folded(&mut self, n: u32) {
        for other in self.folds.fail(n) {
            self.wait_again(other);
        }
    }

    /// Takes what is stored of a page that an earlier process completed.
    pub(crate) fn restore_page(&mut self, n: u32, is_failed: bool, content: Option<ContentHash>) {
        if is_failed && (n as usize) < self.table.len() {
            self.table.set_failed(n);
        }
        if let Some(content) = content {
            self.folds.restore_content(n, content);
        }
    }
}
