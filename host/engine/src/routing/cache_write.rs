//! What is stored in the page cache once a page is paid for.

use std::fmt;
use std::sync::Arc;

use crate::cache::{Key, PageCache, StoredPage};

/// A write of a fetched page to the cache, committed once the page is paid for: a page that failed
/// or outgrew its ceiling cost nothing and must not be free the next time. Dropping it stores
/// nothing.
#[derive(Clone)]
pub struct CacheWrite {
    pub(super) cache: Arc<PageCache>,
    pub(super) pages: Vec<(Key, StoredPage)>,
}

impl CacheWrite {
    /// Stores the page. Another thread writes it to disk, so this does not wait.
    pub fn commit(self) {
        for (key, page) in self.pages {
            self.cache.store(key, page);
        }
    }
}

impl fmt::Debug for CacheWrite {
    /// Without the pages and the whole cache.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheWrite")
            .field("n_pages", &self.pages.len())
            .finish_non_exhaustive()
    }
}
