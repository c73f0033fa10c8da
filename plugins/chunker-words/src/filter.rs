// An xor filter: a compact approximate set of words. It stores 16 bits per word, with a false
// positive rate of 1 in 65,536. The build script includes this file to build the filter; the crate
// queries it.

/// Incremental hash of a word.
#[derive(Clone, Copy)]
pub(crate) struct WordHash(u64);

impl WordHash {
    pub(crate) const EMPTY: Self = Self(0x9e37_79b9_7f4a_7c15);

    /// The hash extended by a character.
    pub(crate) fn and(self, c: char) -> Self {
        Self(
            (self.0 ^ u64::from(c))
                .wrapping_mul(0xd6e8_feb8_6659_fd93)
                .rotate_left(29),
        )
    }

    /// Mixes the hash over all bits.
    pub(crate) fn mixed(self) -> u64 {
        let hash = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xe703_7ed1_a0b4_28db);
        hash ^ (hash >> 29)
    }
}

/// The slots of a word, one in each third of a table of `n_slots`.
pub(crate) fn slots(hash: u64, n_slots: usize) -> [usize; 3] {
    let third = n_slots / 3;
    let within = |part: u64| (((part & 0xffff_ffff) * third as u64) >> 32) as usize;
    [
        within(hash),
        third + within(hash.rotate_left(21)),
        2 * third + within(hash.rotate_left(42)),
    ]
}

/// The fingerprint that the slots of a word XOR to.
pub(crate) fn fingerprint(hash: u64) -> u16 {
    (hash.wrapping_mul(0x9fb2_1c65_1e98_df25) >> 48) as u16
}
