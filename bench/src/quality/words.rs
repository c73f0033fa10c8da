//! Similarity of two texts as bags of words.

use std::collections::HashMap;

/// Precision, recall and F1, each from 0 to 1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Score {
    pub(super) precision: f64,
    pub(super) recall: f64,
    pub(super) f1: f64,
}

impl Score {
    /// Scores `found` against `truth`. A word is a run of letters, digits and `_`; case is ignored.
    pub(super) fn of(truth: &str, found: &str) -> Self {
        let (truth, found) = (counts(truth), counts(found));
        let total = |bag: &HashMap<String, u32>| bag.values().sum::<u32>();
        let (n_truth, n_found) = (total(&truth), total(&found));
        if n_truth == 0 || n_found == 0 {
            let score = if n_truth == n_found { 1.0 } else { 0.0 };
            return Self {
                precision: score,
                recall: score,
                f1: score,
            };
        }
        let common = truth
            .iter()
            .map(|(word, &n)| n.min(found.get(word).copied().unwrap_or(0)));
        let common = f64::from(common.sum::<u32>());
        let (precision, recall) = (common / f64::from(n_found), common / f64::from(n_truth));
        let f1 = if common > 0.0 {
            2.0 * precision * recall / (precision + recall)
        } else {
            0.0
        };
        Self {
            precision,
            recall,
            f1,
        }
    }

    /// Macro average: the mean of each figure.
    pub(super) fn mean(scores: &[Self]) -> Self {
        let mean =
            |part: fn(&Self) -> f64| scores.iter().map(part).sum::<f64>() / scores.len() as f64;
        Self {
            precision: mean(|score| score.precision),
            recall: mean(|score| score.recall),
            f1: mean(|score| score.f1),
        }
    }
}

/// Number of occurrences of each word.
fn counts(text: &str) -> HashMap<String, u32> {
    let mut counts = HashMap::new();
    let text = text.to_lowercase();
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    for word in text
        .split(|char| !is_part(char))
        .filter(|word| !word.is_empty())
    {
        *counts.entry(word.to_owned()).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::Score;

    #[test]
    fn repeated_words_count_each_time() {
        let score = Score::of("a b b c", "B b b d");
        assert_eq!((score.precision, score.recall), (0.5, 0.5));
        assert_eq!(Score::of("", "").f1, 1.0);
        assert_eq!(Score::of("a", " . ").f1, 0.0);
        assert_eq!(Score::of("日本", "日本").f1, 1.0);
    }
}
