//! Random choices that a seed repeats.

/// A sequence of choices: SplitMix64.
pub(crate) struct Draw {
    state: u64,
}

impl Draw {
    /// The sequence of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound as u64) as usize
    }

    /// A number from the first to the second.
    pub(crate) fn between(&mut self, first: usize, last: usize) -> usize {
        first + self.below(last - first + 1)
    }

    /// True so many times in a hundred.
    pub(crate) fn often(&mut self, in_a_hundred: usize) -> bool {
        self.below(100) < in_a_hundred
    }

    /// One of these.
    pub(crate) fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// One of these letters or other parts, so many times.
    pub(crate) fn several(&mut self, n: usize, of: &[&str]) -> String {
        (0..n).map(|_| self.one(of)).collect()
    }
}

#[test]
fn a_seed_repeats_its_draws() {
    let numbers = |seed| {
        let mut draw = Draw::of(seed);
        [draw.number(), draw.number(), draw.number()]
    };
    assert_eq!(numbers(7), numbers(7));
    assert_ne!(numbers(7), numbers(8));
    let mut draw = Draw::of(1);
    let mut seen = [false; 3];
    for _ in 0..100 {
        seen[draw.between(2, 4) - 2] = true;
    }
    assert_eq!(seen, [true; 3]);
}
