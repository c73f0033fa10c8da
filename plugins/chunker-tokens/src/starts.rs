//! Where pieces may start, given where the tokens of a vocabulary start.

use std::iter::Peekable;

use crate::graphemes::Graphemes;

/// Offsets at which a piece may start, one for each token, from the starts of the tokens: a token
/// that begins within a character that a reader sees counts where the character begins, and one
/// that begins with a blank counts behind it, so that the blank ends the piece before. No more than
/// `most` are at one offset, so a piece of so many tokens has at least one character.
pub(crate) fn piece_starts<'t>(
    text: &'t str,
    tokens: impl Iterator<Item = usize> + 't,
    most: usize,
) -> impl Iterator<Item = usize> + 't {
    let mut characters = Characters {
        starts: Graphemes::of(text).peekable(),
        last: 0,
    };
    let (mut at, mut n_there) = (0, 0);
    tokens.filter_map(move |token| {
        let blank = usize::from(token > 0 && text.as_bytes()[token] == b' ');
        let start = characters.start_at_or_before(token + blank);
        n_there = if start == at { n_there + 1 } else { 1 };
        at = start;
        (n_there <= most).then_some(start)
    })
}

/// The characters that a reader sees, read once.
struct Characters<'t> {
    starts: Peekable<Graphemes<'t>>,
    last: usize,
}

impl Characters<'_> {
    /// Where the character at this offset begins. The offsets must not decrease.
    fn start_at_or_before(&mut self, at: usize) -> usize {
        while let Some(start) = self.starts.next_if(|&start| start <= at) {
            self.last = start;
        }
        self.last
    }
}
