//! Step budget for selectors and XPath expressions.

use std::cell::Cell;

/// Steps that selectors and XPath expressions may take on a page: about one per node, attribute or
/// 32 bytes of text examined, and a few for moving from an element to its neighbour in CSS. Several
/// evaluations may share a budget; it only shrinks.
#[derive(Clone, Debug)]
pub struct Steps {
    left: Cell<u64>,
}

impl Steps {
    /// Default budget of one evaluation. A large page has a million nodes, and a typical path over
    /// all of them takes two to five steps per node.
    pub const MAX: u64 = 20_000_000;

    /// Creates a budget of `n` steps.
    pub const fn new(n: u64) -> Self {
        Self { left: Cell::new(n) }
    }

    /// Takes `n` steps. Returns `false`, now and from then on, if not enough are left.
    #[inline]
    pub fn spend(&self, n: u64) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(n));
        left > n
    }

    /// Whether no steps are left.
    #[inline]
    pub fn are_spent(&self) -> bool {
        self.left.get() == 0
    }
}

impl Default for Steps {
    fn default() -> Self {
        Self::new(Self::MAX)
    }
}
