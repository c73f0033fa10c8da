//! A budget for work on a page.

use std::cell::Cell;

/// Steps that selectors and XPath expressions may take on a page: about one a node, attribute or 32 bytes of text looked at, a few for
/// going from an element to its neighbour in CSS. A budget may be shared by several; it only shrinks.
#[derive(Clone, Debug)]
pub struct Steps {
    left: Cell<u64>,
}

impl Steps {
    /// What one evaluation may take where nobody says otherwise. A large page has a million nodes, and an ordinary path over all of it
    /// takes two to five steps a node.
    pub const MAX: u64 = 20_000_000;

    /// A budget of `n` steps.
    pub const fn new(n: u64) -> Self {
        Self { left: Cell::new(n) }
    }

    /// Takes `n` steps; `false`, now and from then on, when there are not so many left.
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
