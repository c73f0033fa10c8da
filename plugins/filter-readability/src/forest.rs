//! Trees of decisions, all of whose branches of a level ask the same question.

use crate::features::{ROW_MAX, Row};

/// A sum of trees.
pub(crate) struct Forest {
    /// Questions of every tree, first level first: is the feature of this number greater than this?
    pub(crate) questions: &'static [(u16, f32)],
    /// Answers of every tree, by the questions' answers as bits, the first question's lowest.
    pub(crate) answers: &'static [i16],
    /// Levels of a tree.
    pub(crate) depth: usize,
    /// What a unit of an answer is worth.
    pub(crate) scale: f32,
    /// What is added to the sum.
    pub(crate) bias: f32,
}

impl Forest {
    /// The sums over all trees for rows of features, as probabilities. Rows are taken together because a processor answers the same
    /// question for several as fast as for one.
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

/// Rows that are answered for together.
pub(crate) const ROWS: usize = 8;
