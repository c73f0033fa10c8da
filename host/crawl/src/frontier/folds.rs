//! Pages that are left out because another page stands for them: until that one is delivered, it
//! may still fail, for example because it cannot be paid, and then they are fetched after all.

use std::collections::HashMap;

use trawl_model::ContentHash;

/// The contents of a crawl's pages, and what is left out for pages that are not delivered yet.
#[derive(Debug, Default)]
pub(super) struct Folds {
    /// The page with each content, if equal ones are left out.
    contents: HashMap<ContentHash, u32>,
    /// Pages that are completed and not delivered.
    undelivered: HashMap<u32, Undelivered>,
    /// The undelivered page that a URL is left out for.
    pages: HashMap<u32, u32>,
}

/// A page that may still fail.
#[derive(Debug, Default)]
struct Undelivered {
    /// Its content, if it is the first page with it.
    content: Option<ContentHash>,
    /// The URLs that are left out for it.
    left_out: Vec<u32>,
}

impl Folds {
    /// A page is completed and not delivered yet. It is not left out.
    pub(super) fn complete(&mut self, n: u32) {
        self.undelivered.entry(n).or_default();
        if let Some(page) = self.pages.remove(&n)
            && let Some(undelivered) = self.undelivered.get_mut(&page)
        {
            undelivered.left_out.retain(|other| *other != n);
        }
    }

    /// Leaves out a page for another one that is completed.
    pub(super) fn fold(&mut self, n: u32, page: u32) {
        if let Some(undelivered) = self.undelivered.get_mut(&page) {
            undelivered.left_out.push(n);
            self.pages.insert(n, page);
        }
    }

    /// Leaves out a URL that was not fetched, for a page that is about to be completed.
    pub(super) fn stand_for(&mut self, page: u32, url: u32) {
        self.undelivered.entry(page).or_default();
        self.fold(url, page);
    }

    /// The page with this content.
    pub(super) fn page_with(&self, content: ContentHash) -> Option<u32> {
        self.contents.get(&content).copied()
    }

    /// Notes the content of a page that is about to be completed.
    pub(super) fn note_content(&mut self, n: u32, content: ContentHash) {
        self.contents.insert(content, n);
        self.undelivered.entry(n).or_default().content = Some(content);
    }

    /// Takes the content of a page that an earlier process delivered.
    pub(super) fn restore_content(&mut self, n: u32, content: ContentHash) {
        self.contents.insert(content, n);
    }

    /// The undelivered page that a URL is left out for.
    pub(super) fn page_of(&self, url: u32) -> Option<u32> {
        self.pages.get(&url).copied()
    }

    /// Whether a URL may have to be fetched after all.
    pub(super) fn has_pending(&self) -> bool {
        !self.pages.is_empty()
    }

    /// A page is delivered. Returns the URLs that were left out for it.
    pub(super) fn deliver(&mut self, n: u32) -> Vec<u32> {
        self.end(n).left_out
    }

    /// A page is not delivered, or has failed: its content is forgotten. Returns the URLs that were
    /// left out for it.
    pub(super) fn fail(&mut self, n: u32) -> Vec<u32> {
        let ended = self.end(n);
        if let Some(content) = ended.content {
            self.contents.remove(&content);
        }
        ended.left_out
    }

    fn end(&mut self, n: u32) -> Undelivered {
        let ended = self.undelivered.remove(&n).unwrap_or_default();
        for url in &ended.left_out {
            self.pages.remove(url);
        }
        ended
    }
}
