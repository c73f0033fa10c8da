//! Detects near-duplicate texts.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::words::each_word;

/// Number of consecutive words in a shingle.
const SHINGLE_WORDS: usize = 3;

/// Set of a text's shingles, its sequences of three words: a measure for near-duplicates (Broder,
/// 1997). For a text with fewer words, the set of its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shingles(Vec<u64>);

impl Shingles {
    /// Creates the shingles of a text.
    pub fn of(text: &str) -> Self {
        let mut words = Vec::new();
        each_word(text, |word| words.push(hash(word)));
        let mut shingles: Vec<u64> = if words.len() < SHINGLE_WORDS {
            words
        } else {
            words.windows(SHINGLE_WORDS).map(|row| hash(&row)).collect()
        };
        shingles.sort_unstable();
        shingles.dedup();
        Self(shingles)
    }

    /// Fraction of the smaller set that the other one contains, from 0 to 1; 1 if one text contains
    /// the other.
    pub fn overlap(&self, other: &Self) -> f32 {
        let smaller = self.0.len().min(other.0.len());
        if smaller == 0 {
            return if self.0.len() == other.0.len() {
                1.0
            } else {
                0.0
            };
        }
        let (mut at, mut n_common) = (0, 0);
        for shingle in &self.0 {
            while other.0.get(at).is_some_and(|own| own < shingle) {
                at += 1;
            }
            n_common += usize::from(other.0.get(at) == Some(shingle));
        }
        n_common as f32 / smaller as f32
    }
}

/// A hash that is the same in every run.
fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
