//! Breadth first: which depth is open.

use std::collections::VecDeque;

/// Addresses that wait or are in flight, by depth.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// Waiting ones in the order of finding. One that was moved stands here still and is passed over.
    pub(super) queues: Vec<VecDeque<u32>>,
    pub(super) n_waiting: Vec<u64>,
    pub(super) n_in_flight: Vec<u64>,
}

impl Levels {
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

    /// The least depth at which something waits, unless a page two or more levels above is still unfinished.
    pub(super) fn open_depth(&self) -> Option<Result<usize, ()>> {
        let depth = self.n_waiting.iter().position(|n| *n > 0)?;
        let above = &self.n_in_flight[..depth.saturating_sub(1)];
        Some(match above.iter().all(|n| *n == 0) {
            true => Ok(depth),
            false => Err(()),
        })
    }
}
