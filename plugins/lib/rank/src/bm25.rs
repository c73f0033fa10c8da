//! BM25F: BM25 over texts with fields (Robertson and Zaragoza, "The Probabilistic Relevance
//! Framework", 2009, section 3.6).

use std::collections::BTreeMap;

use super::Term;

/// Term frequency saturation; the most common default.
const K1: f32 = 1.2;
/// Length normalisation; lower than the usual 0.75, because passages and anchors differ little in
/// length.
const B: f32 = 0.5;
/// Weight of a query term that occurs in no text, relative to a term that occurs in one. Such a
/// term is as often an instruction ("explain") as part of the subject.
const ABSENT: f32 = 0.5;

/// Term counts of some texts for a query, each text with `F` fields. Counts only the query's terms,
/// so a text takes little memory.
#[derive(Clone, Debug)]
pub struct Bm25<const F: usize> {
    query: Vec<Term>,
    weights: [f32; F],
    texts: Vec<Counts<F>>,
    n_words: [u64; F],
}

#[derive(Clone, Debug)]
struct Counts<const F: usize> {
    lengths: [u32; F],
    /// For each query term that occurs in the text: its index in the query and its count in each
    /// field.
    hits: Vec<(u32, [u32; F])>,
}

/// How well a text matches a query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// BM25 score relative to its upper bound: 0 if no term occurs, always below 1.
    pub value: f32,
    /// Fraction of the query terms that occur in the text, weighted by their rarity, from 0 to 1.
    pub coverage: f32,
}

/// Collection statistics that scores depend on; statistics of several collections can be added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Number of texts.
    pub n_texts: u64,
    /// Number of terms in each field over all texts.
    pub n_words: Vec<u64>,
    /// For each query term, in order, the number of texts it occurs in.
    pub frequencies: Vec<u64>,
}

impl<const F: usize> Bm25<F> {
    /// Creates an index without texts. `query` contains each term once
    /// ([`Vocabulary::query`](super::Vocabulary::query)); `weights` are the weights of the fields.
    pub fn new(query: &[Term], weights: [f32; F]) -> Self {
        Self {
            query: query.to_vec(),
            weights,
            texts: Vec::new(),
            n_words: [0; F],
        }
    }

    /// Adds a text, given the terms of each field.
    pub fn add(&mut self, fields: [&[Term]; F]) {
        let mut hits: BTreeMap<u32, [u32; F]> = BTreeMap::new();
        for (field, terms) in fields.iter().enumerate() {
            self.n_words[field] += terms.len() as u64;
            for term in *terms {
                // Queries are short, so a linear search beats hashing.
                if let Some(index) = self.query.iter().position(|own| own == term) {
                    hits.entry(index as u32).or_insert([0; F])[field] += 1;
                }
            }
        }
        self.texts.push(Counts {
            lengths: fields.map(|terms| terms.len() as u32),
            hits: hits.into_iter().collect(),
        });
    }

    /// Collection statistics of these texts.
    pub fn statistics(&self) -> Statistics {
        let mut frequencies = vec![0; self.query.len()];
        for text in &self.texts {
            for (index, _) in &text.hits {
                frequencies[*index as usize] += 1;
            }
        }
        Statistics {
            n_texts: self.texts.len() as u64,
            n_words: self.n_words.to_vec(),
            frequencies,
        }
    }

    /// Scores of all texts, in insertion order.
    pub fn scores(&self) -> Vec<Score> {
        self.scores_among(&self.statistics())
    }

    /// Scores of all texts within a larger collection with these statistics, which include these
    /// texts.
    pub fn scores_among(&self, statistics: &Statistics) -> Vec<Score> {
        let weights: Vec<f32> = statistics
            .frequencies
            .iter()
            .map(|&n| inverse_document_frequency(n, statistics.n_texts))
            .collect();
        let score_max: f32 = weights.iter().sum();
        let n_texts = statistics.n_texts.max(1) as f32;
        let mut means = [1.0_f32; F];
        for (mean, n_words) in means.iter_mut().zip(&statistics.n_words) {
            *mean = (*n_words as f32 / n_texts).max(1.0);
        }
        let texts = self.texts.iter();
        texts
            .map(|text| self.score(text, &weights, score_max, &means))
            .collect()
    }

    /// Indices of the query terms that occur in a text.
    pub fn matched(&self, text: usize) -> impl Iterator<Item = usize> {
        self.texts[text]
            .hits
            .iter()
            .map(|(index, _)| *index as usize)
    }

    /// How often a query term occurs in a field of a text.
    pub fn count(&self, text: usize, index: usize, field: usize) -> u32 {
        let hits = &self.texts[text].hits;
        let hit = hits.iter().find(|(own, _)| *own as usize == index);
        hit.map_or(0, |(_, counts)| counts[field])
    }

    fn score(&self, text: &Counts<F>, weights: &[f32], score_max: f32, means: &[f32; F]) -> Score {
        let mut score = Score::default();
        if score_max <= 0.0 {
            return score;
        }
        for (index, counts) in &text.hits {
            let mut frequency = 0.0;
            for field in 0..F {
                let length = 1.0 - B + B * text.lengths[field] as f32 / means[field];
                frequency += self.weights[field] * counts[field] as f32 / length;
            }
            let weight = weights.get(*index as usize).copied().unwrap_or_default();
            score.value += weight * frequency / (frequency + K1);
            score.coverage += weight;
        }
        score.value /= score_max;
        score.coverage = (score.coverage / score_max).min(1.0);
        score
    }
}

impl Statistics {
    /// Adds the statistics of another collection for the same query.
    pub fn add(&mut self, other: &Self) {
        self.n_texts += other.n_texts;
        add_each(&mut self.n_words, &other.n_words);
        add_each(&mut self.frequencies, &other.frequencies);
    }
}

fn add_each(to: &mut Vec<u64>, from: &[u64]) {
    to.resize(to.len().max(from.len()), 0);
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// Inverse document frequency of a term that occurs in `n` of `n_texts` texts; always positive.
fn inverse_document_frequency(n: u64, n_texts: u64) -> f32 {
    let part = if n == 0 { ABSENT } else { 1.0 };
    let (n, n_texts) = (n.max(1) as f32, n_texts as f32);
    part * (1.0 + ((n_texts - n).max(0.0) + 0.5) / (n + 0.5)).ln()
}
