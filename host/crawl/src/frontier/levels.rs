//! Breadth-first order: how many URLs wait, and which depths are in flight.

use std::collections::BTreeMap;

/// Numbers of URLs that wait or are in flight.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// URLs that wait.
    pub(super) n_waiting: u64,
    /// URLs in flight.
    pub(super) n_in_flight: u64,
    /// Those in flight by depth.
    in_flight: BTreeMap<u16, u64>,
}

impl Levels {
    /// Counts a URL as in flight.
    pub(super) fn start(&mut self, depth: u16) {
        self.n_in_flight += 1;
        *self.in_flight.entry(depth).or_default() += 1;
    }

    /// Counts a URL as no longer in flight.
    pub(super) fn end(&mut self, depth: u16) {
        self.n_in_flight -= 1;
        if let Some(n) = self.in_flight.get_mut(&depth) {
            *n -= 1;
            if *n == 0 {
                self.in_flight.remove(&depth);
            }
        }
    }

    /// Whether a page two or more levels above this depth is in flight. It may still show shorter
    /// distances.
    pub(super) fn is_blocked(&self, depth: u16) -> bool {
        let highest = self.in_flight.first_key_value();
        highest.is_some_and(|(above, _)| u32::from(*above) + 1 < u32::from(depth))
    }
}
