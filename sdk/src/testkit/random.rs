//! Numbers and texts that look random and are the same in each run.

/// A source of numbers that are the same in each run.
#[derive(Clone, Debug)]
pub struct Random(u32);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u32) -> Self {
        Self(seed)
    }

    /// A number below `n`, which is not zero.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % n
    }

    /// So many of the pieces, which are not none.
    pub fn text(&mut self, pieces: &[&str], n: usize) -> String {
        (0..n).map(|_| pieces[self.below(pieces.len())]).collect()
    }

    /// The text with pieces in up to `n_max` places, mostly instead of a few characters.
    pub fn mutated(&mut self, text: &str, pieces: &[&str], n_max: usize) -> String {
        let mut text: Vec<char> = text.chars().collect();
        for _ in 0..self.below(n_max + 1) {
            let at = self.below(text.len() + 1);
            let end = (at + self.below(6)).min(text.len());
            let piece = pieces[self.below(pieces.len())].chars();
            text.splice(at..end, piece);
        }
        text.into_iter().collect()
    }
}
