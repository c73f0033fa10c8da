//! Breadth-first order: queues by depth.

use std::collections::VecDeque;

/// URLs that wait or are in flight, by depth.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// Waiting URLs in the order of discovery. A URL that changed its status stays here and is
    /// ignored.
    pub(super) queues: Vec<VecDeque<u32>>,
    pub(super) n_waiting: Vec<u64>,
    pub(super) n_in_flight: Vec<u64>,
}

/// The depth that URLs are leased from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenDepth {
    /// URLs of this depth may be leased.
    At(usize),
    /// URLs wait, but a page in flight may still show shorter distances.
    Blocked,
    /// Nothing waits.
    Empty,
}

impl Levels {
    /// Makes room for a depth, and returns it as an index.
    pub(super) fn reach(&mut self, depth: u16) -> usize {
        let depth = usize::from(depth);
        if self.queues.len() <= depth {
            self.queues.resize_with(depth + 1, VecDeque::new);
            self.n_waiting.resize(depth + 1, 0);
            self.n_in_flight.resize(depth + 1, 0);
        }
        depth
    }

    pub(super) fn waiting(&self) -> u64 {
        self.n_waiting.iter().sum()
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.n_in_flight.iter().sum()
    }

    /// The lowest depth with waiting URLs. It is blocked while a page two or more levels above is
    /// unfinished.
    pub(super) fn open_depth(&self) -> OpenDepth {
        let Some(depth) = self.n_waiting.iter().position(|n| *n > 0) else {
            return OpenDepth::Empty;
        };
        let above = &self.n_in_flight[..depth.saturating_sub(1)];
        if above.iter().all(|n| *n == 0) {
            OpenDepth::At(depth)
        } else {
            OpenDepth::Blocked
        }
    }
}
