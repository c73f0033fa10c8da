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
    /// left out. Otherwise this page stands for that URL, if it is part of the crawl.
    pub(crate) fn folds_into(&mut self, n: u32, canonical: &Url) -> bool {
        let to = normal(canonical);
        if self.scope.check(&to).is_err() {
            return false;
        }
        let Some(known) = self.table.find(&to) else {
            self.stand_for(n, None, &to);
            return false;
        };
        match self.table.status(known) {
            _ if known == n => false,
            // One of two pages that name each other must stay: that which is completed first.
            UrlStatus::Leased => false,
            UrlStatus::Done => !self.table.is_failed(known),
            UrlStatus::Skipped(SkipReason::Duplicate) => !self.claims.contains(&(n, known)),
            UrlStatus::Waiting | UrlStatus::Skipped(_) => {
                self.stand_for(n, Some(known), &to);
                false
            }
        }
    }

    /// Whether no page of the crawl had this content before.
    pub(crate) fn is_new_content(&mut self, hash: ContentHash) -> bool {
        self.contents.insert(hash)
    }

    /// Notes that a page is delivered: its other URLs are no pages, also in the next process.
    pub(crate) fn note_delivered(&mut self, n: u32) {
        let others = self.claims.extract_if(.., |(by, _)| *by == n);
        let others: Vec<(u32, u32)> = others.collect();
        for (_, other) in others {
            self.set(other, self.table.depth(other), self.table.status(other));
        }
    }

    /// Notes that a page has failed: no other page folds into it.
    pub(crate) fn has_failed(&mut self, n: u32) {
        self.table.set_failed(n);
    }

    /// Notes that the page with this content has failed after all.
    pub(crate) fn forget_content(&mut self, hash: ContentHash) {
        self.contents.remove(&hash);
    }

    /// Takes what is stored of a page that an earlier process completed.
    pub(crate) fn restore_page(&mut self, n: u32, is_failed: bool, content: Option<ContentHash>) {
        if is_failed && (n as usize) < self.table.len() {
            self.table.set_failed(n);
        }
        self.contents.extend(content);
    }
}
