//! How much of a text fits.

use crate::estimate::Starts;

/// Tokens of an answer's text, by the estimate of the chunker `tokens`.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
}

impl Budget {
    /// A budget of so many tokens.
    pub(crate) fn new(tokens: usize) -> Self {
        Self { left: tokens }
    }

    /// Whether nothing is left.
    pub(crate) fn is_used_up(&self) -> bool {
        self.left == 0
    }

    /// Makes at least so much be left.
    pub(crate) fn ensure(&mut self, tokens: usize) {
        self.left = self.left.max(tokens);
    }

    /// Takes the beginning of a text that fits, up to the end of a line if one is in its last
    /// quarter. A text that is cut uses the budget up.
    pub(crate) fn take<'t>(&mut self, text: &'t str) -> &'t str {
        let mut n_tokens = 0;
        for start in Starts::of(text) {
            if n_tokens == self.left {
                self.left = 0;
                return &text[..end_of_line(text, start)];
            }
            n_tokens += 1;
        }
        self.left -= n_tokens;
        text
    }
}

/// The end of the last line before this place if it is in the last quarter, else the place.
fn end_of_line(text: &str, place: usize) -> usize {
    let end = text[..place].rfind('\n').map(|at| at + 1);
    end.filter(|end| *end >= place - place / 4).unwrap_or(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_the_budget_ends() {
        let mut budget = Budget::new(3);
        assert_eq!(budget.take("one two"), "one two");
        assert!(!budget.is_used_up());
        assert_eq!(budget.take("three four"), "three ");
        assert!(budget.is_used_up());
        assert_eq!(budget.take("five"), "");
        budget.ensure(1);
        assert_eq!(budget.take("five six"), "five ");
    }

    #[test]
    fn the_end_of_a_line_nearby_is_better() {
        let mut budget = Budget::new(6);
        assert_eq!(budget.take("a b c d e\nf g h"), "a b c d e\n");
        let mut budget = Budget::new(6);
        assert_eq!(budget.take("a\nb c d e f g h"), "a\nb c d e f ");
    }

    #[test]
    fn what_fits_exactly_is_whole() {
        let mut budget = Budget::new(2);
        assert_eq!(budget.take("one two"), "one two");
        assert!(budget.is_used_up());
        assert_eq!(budget.take(""), "");
    }
}
