//! Oblivious decision trees: all nodes of a level test the same condition.

use crate::features::{ROW_MAX, Row};

/// An ensemble of trees.
pub(crate) struct Forest {
    /// Conditions of all trees, first level first: feature index and threshold.
    pub(crate) questions: &'static [(u16, f32)],
    /// Leaf values of all trees, indexed by the conditions as bits, the first condition being the
    /// lowest.
    pub(crate) answers: &'static [i16],
    /// Depth of a tree.
    pub(crate) depth: usize,
    /// Scale of the leaf values.
    pub(crate) scale: f32,
    /// Bias added to the sum.
    pub(crate) bias: f32,
}

impl Forest {
    /// Predicts the probabilities of rows of features. Rows are evaluated together because vector
    /// instructions test a condition for several rows at once.
    pub(crate) fn probabilities(&self, rows: &[Row; ROWS]) -> [f32; ROWS] {
        let trees = self.questions.chunks_exact(self.depth);
        let answers = self.answers.chunks_exact(1 << self.depth);
        let mut sums = [0_i32; ROWS];
        for (questions, answers) in trees.zip(answers) {
            let mut places = [0_usize; ROWS];
            for (level, &(feature, border)) in questions.iter().enumerate() {
                let feature = usize::from(feature) % ROW_MAX;
                for (place, row) in places.iter_mut().zip(rows) {
                    *place |= usize::from(row.values[feature] > border) << level;
                }
            }
            for (sum, place) in sums.iter_mut().zip(places) {
                *sum += i32::from(answers[place]);
            }
        }
        sums.map(|sum| 1.0 / (1.0 + (-(sum as f32 * self.scale + self.bias)).exp()))
    }
}

/// Number of rows evaluated together.
pub(crate) const ROWS: usize = 8;
