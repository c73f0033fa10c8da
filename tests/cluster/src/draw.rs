//! Numbers that a seed repeats.

/// A sequence of numbers from a seed: SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// A number from `least` up to and without `end`.
    ///
    /// # Panics
    /// There is none.
    pub fn between(&mut self, least: u64, end: u64) -> u64 {
        assert!(least < end, "an empty range");
        least + self.number() % (end - least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_numbers() {
        let draw = |seed| {
            let mut draw = Draw::new(seed);
            [draw.number(), draw.between(3, 5), draw.between(0, 1)]
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1)[0], draw(2)[0]);
        // The first number of the reference implementation for the seed 0.
        assert_eq!(draw(0)[0], 0xe220_a839_7b1d_cdaf);
        assert!((3..5).contains(&draw(7)[1]) && draw(7)[2] == 0);
    }
}
