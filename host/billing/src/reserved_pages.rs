//! The pages that have a reservation, and which of them wait for more.
//!
//! A page that needs more than it has reserved waits for others to end. When all of them wait, none
//! would ever end: then the one that looks next is refused and gives its money to the others.

use std::sync::{Mutex, PoisonError};

/// The pages with a reservation of one run, of one key, or of one account.
#[derive(Debug, Default)]
pub(crate) struct ReservedPages(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Pages with a reservation.
    open: usize,
    /// Pages with a reservation that wait for more.
    growing: usize,
    /// Growing pages that wait for money of this run, key or account.
    starving: usize,
}

/// A page that waits for more than it has reserved, until this is dropped.
#[derive(Debug)]
pub(crate) struct Growing<'a> {
    reserved_pages: &'a ReservedPages,
    is_starving: bool,
    /// Whether it still counts as waiting.
    is_counted: bool,
}

impl ReservedPages {
    /// A page has a reservation now.
    pub(crate) fn enter(&self) {
        self.with(|counts| counts.open += 1);
    }

    /// A page has none any more. Returns whether others wait for one.
    pub(crate) fn leave(&self) -> bool {
        self.with(|counts| {
            counts.open -= 1;
            counts.growing > 0
        })
    }

    /// Whether pages in flight wait for more: new ones must not take it from them.
    pub(crate) fn is_starving(&self) -> bool {
        self.with(|counts| counts.starving > 0)
    }

    /// Marks a page with a reservation as waiting for more. `is_starving`: for money of this run,
    /// key or account, so that new pages wait too.
    pub(crate) fn grow(&self, is_starving: bool) -> Growing<'_> {
        self.with(|counts| {
            counts.growing += 1;
            counts.starving += usize::from(is_starving);
        });
        Growing {
            reserved_pages: self,
            is_starving,
            is_counted: true,
        }
    }

    fn with<T>(&self, use_counts: impl FnOnce(&mut Counts) -> T) -> T {
        use_counts(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Growing<'_> {
    /// Whether the page may continue to wait: another one has a reservation and does not wait. If
    /// none has, this page stops waiting, so that the others see that it is about to end.
    pub(crate) fn may_wait(mut self) -> Option<Self> {
        // One step under the lock, so that of several pages only one is refused.
        self.reserved_pages.with(|counts| {
            if counts.open <= counts.growing {
                counts.end(self.is_starving);
                self.is_counted = false;
            }
        });
        self.is_counted.then_some(self)
    }
}

impl Drop for Growing<'_> {
    fn drop(&mut self) {
        if self.is_counted {
            self.reserved_pages
                .with(|counts| counts.end(self.is_starving));
        }
    }
}

impl Counts {
    fn end(&mut self, is_starving: bool) {
        self.growing -= 1;
        self.starving -= usize::from(is_starving);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_page_that_would_wait_for_the_others_is_refused() {
        let reserved_pages = ReservedPages::default();
        reserved_pages.enter();
        reserved_pages.enter();
        let first = reserved_pages
            .grow(true)
            .may_wait()
            .expect("the other runs");
        assert!(reserved_pages.is_starving());
        assert!(reserved_pages.grow(false).may_wait().is_none());
        // The refused page runs until it ends.
        let first = first.may_wait().expect("the other is about to end");
        assert!(reserved_pages.leave());
        assert!(first.may_wait().is_none(), "it is alone");
        assert!(!reserved_pages.is_starving() && !reserved_pages.leave());
    }

    /// However a wait ends, its page counts no longer.
    #[test]
    fn every_wait_is_counted_once_and_ends_once() {
        let reserved_pages = ReservedPages::default();
        let growing = || reserved_pages.with(|counts| (counts.growing, counts.starving));
        reserved_pages.enter();
        reserved_pages.enter();
        let dropped = reserved_pages.grow(true);
        assert_eq!(growing(), (1, 1));
        drop(dropped);
        let kept = reserved_pages.grow(true).may_wait();
        assert_eq!(growing(), (1, 1));
        drop(reserved_pages.grow(true).may_wait());
        assert_eq!(growing(), (1, 1), "the refused page counts no longer");
        drop(kept);
        assert_eq!(growing(), (0, 0));
    }
}
