//! The pages that have a reservation, and those of them that wait for more.
//!
//! A page that needs more than it has reserved waits for others to end. When all of them wait, none
//! would ever end: then the one that looks next is refused and gives its money to the others.

use std::sync::{Mutex, PoisonError};

/// The pages with a reservation of one run, of one key, or of one account.
#[derive(Debug, Default)]
pub(crate) struct Flights(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Pages with a reservation.
    open: usize,
    /// Those of them that wait for more.
    growing: usize,
    /// Those of the growing that wait for money of this run, key or account.
    starving: usize,
}

/// A page that waits for more than it has reserved, until this is dropped.
#[derive(Debug)]
pub(crate) struct Growing<'a> {
    flights: &'a Flights,
    is_starving: bool,
    /// Whether it still counts as waiting.
    is_counted: bool,
}

impl Flights {
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
            flights: self,
            is_starving,
            is_counted: true,
        }
    }

    fn with<T>(&self, use_counts: impl FnOnce(&mut Counts) -> T) -> T {
        use_counts(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Growing<'_> {
    /// Whether the page may go on waiting: another one has a reservation and does not wait. If
    /// none has, this page stops waiting, so that the others see that it is about to end.
    pub(crate) fn may_wait(mut self) -> Option<Self> {
        // One step under the lock, so that of several pages only one is refused.
        self.flights.with(|counts| {
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
            self.flights.with(|counts| counts.end(self.is_starving));
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
        let flights = Flights::default();
        flights.enter();
        flights.enter();
        let first = flights.grow(true).may_wait().expect("the other runs");
        assert!(flights.is_starving());
        assert!(flights.grow(false).may_wait().is_none());
        // The refused page runs until it ends.
        let first = first.may_wait().expect("the other is about to end");
        assert!(flights.leave());
        assert!(first.may_wait().is_none(), "it is alone");
        assert!(!flights.is_starving() && !flights.leave());
    }

    /// However a wait ends, its page counts no longer.
    #[test]
    fn every_wait_is_counted_once_and_ends_once() {
        let flights = Flights::default();
        let growing = || flights.with(|counts| (counts.growing, counts.starving));
        flights.enter();
        flights.enter();
        let dropped = flights.grow(true);
        assert_eq!(growing(), (1, 1));
        drop(dropped);
        let kept = flights.grow(true).may_wait();
        assert_eq!(growing(), (1, 1));
        drop(flights.grow(true).may_wait());
        assert_eq!(growing(), (1, 1), "the refused page counts no longer");
        drop(kept);
        assert_eq!(growing(), (0, 0));
    }
}
