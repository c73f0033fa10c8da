//! How well URLs match a query: BM25F over two fields, the words of a URL's path and those of the
//! links to it (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, section
//! 3.6).

use url::form_urlencoded;

use crate::words::{are_forms, words};

/// Words of a query, or of all entries of `words`, that count.
const TERMS_MAX: usize = 100;
/// Term frequency saturation; the most common default.
const K1: f32 = 1.2;
/// Length normalisation; lower than the usual 0.75, because the texts are short.
const B: f32 = 0.5;
/// Weights of the fields. A link says what its page is about, a path also where it is.
const WEIGHTS: [f32; 2] = [1.0, 1.5];

/// The words of a query, lower case, each once.
#[derive(Debug)]
pub(super) struct Terms(Vec<String>);

/// Counts of the terms in the texts of all URLs. Only what occurs takes memory.
#[derive(Debug)]
pub(super) struct Index {
    terms: Terms,
    texts: Vec<Counts>,
    /// Words of each field in all texts.
    n_words: [u64; 2],
}

#[derive(Debug)]
struct Counts {
    lengths: [u32; 2],
    /// The number of a term, and how often it occurs in each field.
    hits: Vec<(usize, [u32; 2])>,
}

impl Terms {
    /// The words of a text.
    pub(super) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut terms: Vec<String> = Vec::new();
        for word in texts.into_iter().flat_map(words) {
            if terms.len() < TERMS_MAX && !terms.contains(&word) {
                terms.push(word);
            }
        }
        Self(terms)
    }

    /// The number of the term that this word is a form of.
    fn find(&self, word: &str) -> Option<usize> {
        let mut terms = self.0.iter();
        let same = self.0.iter().position(|term| term == word);
        same.or_else(|| terms.position(|term| are_forms(term, word)))
    }

    /// Whether a URL, or the text of a link to it, has one of them.
    pub(super) fn occur(&self, url_path: &str, anchor: &str) -> bool {
        let mut all = path_words(url_path).into_iter().chain(words(anchor));
        all.any(|word| self.find(&word).is_some())
    }
}

impl Index {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            terms,
            texts: Vec::new(),
            n_words: [0; 2],
        }
    }

    /// Adds a URL by its path with query, and the text of a link to it.
    pub(super) fn add(&mut self, url_path: &str, anchor: &str) {
        let mut counts = Counts {
            lengths: [0; 2],
            hits: Vec::new(),
        };
        let fields = [path_words(url_path), words(anchor).collect()];
        for (field, words) in fields.into_iter().enumerate() {
            for word in words {
                counts.lengths[field] += 1;
                if let Some(term) = self.terms.find(&word) {
                    counts.hit(term, field);
                }
            }
            self.n_words[field] += u64::from(counts.lengths[field]);
        }
        self.texts.push(counts);
    }

    /// The score of each URL, from 0 (no word occurs) to below 1, in the order they were added.
    pub(super) fn scores(&self) -> Vec<f32> {
        let n_texts = self.texts.len().max(1) as f32;
        let mut frequencies = vec![0_u32; self.terms.0.len()];
        for (term, _) in self.texts.iter().flat_map(|text| &text.hits) {
            frequencies[*term] += 1;
        }
        let weights: Vec<f32> = frequencies
            .iter()
            .map(|&n| inverse_document_frequency(n as f32, n_texts))
            .collect();
        let most: f32 = weights.iter().sum();
        let means = self.n_words.map(|n| (n as f32 / n_texts).max(1.0));
        let texts = self.texts.iter();
        texts
            .map(|text| text.score(&weights, means) / most.max(f32::MIN_POSITIVE))
            .collect()
    }
}

impl Counts {
    fn hit(&mut self, term: usize, field: usize) {
        if let Some((_, counts)) = self.hits.iter_mut().find(|(known, _)| *known == term) {
            counts[field] += 1;
            return;
        }
        let mut counts = [0; 2];
        counts[field] = 1;
        self.hits.push((term, counts));
    }

    fn score(&self, weights: &[f32], means: [f32; 2]) -> f32 {
        let of_term = |(term, counts): &(usize, [u32; 2])| {
            let lengths = self.lengths.iter().zip(means);
            let lengths = lengths.map(|(&length, mean)| 1.0 - B + B * length as f32 / mean);
            let fields = WEIGHTS.iter().zip(counts).zip(lengths);
            let frequency: f32 = fields
                .map(|((weight, &count), length)| weight * count as f32 / length)
                .sum();
            weights[*term] * frequency / (frequency + K1)
        };
        // Without hits the sum of floats would be minus zero.
        self.hits.iter().map(of_term).sum::<f32>() + 0.0
    }
}

/// Inverse document frequency of a term that occurs in `n` of `n_texts` texts; always positive.
fn inverse_document_frequency(n: f32, n_texts: f32) -> f32 {
    let n = n.max(1.0);
    (1.0 + ((n_texts - n).max(0.0) + 0.5) / (n + 0.5)).ln()
}

/// The words of a path with its query, decoded.
fn path_words(path: &str) -> Vec<String> {
    // Splits at `=`, `&` and `+` as well, which separate words anyway.
    let parts = form_urlencoded::parse(path.as_bytes());
    let mut found = Vec::new();
    for (name, value) in parts {
        found.extend(words(&name));
        found.extend(words(&value));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(query: &str, texts: &[(&str, &str)]) -> Vec<usize> {
        let mut index = Index::new(Terms::of([query]));
        for (path, anchor) in texts {
            index.add(path, anchor);
        }
        let scores = index.scores();
        assert!(
            scores
                .iter()
                .all(|score| (0.0..1.0).contains(score) && score.is_sign_positive()),
            "{scores:?}"
        );
        let mut order: Vec<usize> = (0..texts.len()).filter(|n| scores[*n] > 0.0).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        order
    }

    #[test]
    fn paths_and_link_texts_count_and_rare_words_more() {
        let texts = [
            ("/docs/about", ""),
            ("/docs/install/linux", ""),
            ("/docs/p/17", "Installation on Linux"),
            ("/docs/install/mac", ""),
            ("/blog", "News"),
        ];
        let found = order("install linux", &texts);
        assert_eq!(found.len(), 3);
        let mut first = found[..2].to_vec();
        first.sort_unstable();
        assert_eq!((first, found[2]), (vec![1, 2], 3));
    }

    #[test]
    fn encoded_and_foreign_words_are_read() {
        let texts = [("/s%C3%BCd/stra%C3%9Fe?q=caf%C3%A9+au", ""), ("/nord", "")];
        assert_eq!(order("Straße", &texts), [0]);
        assert_eq!(order("CAFÉ", &texts), [0]);
        assert_eq!(order("nothing", &texts), [0; 0]);
        assert_eq!(order("!", &texts), [0; 0]);
    }

    #[test]
    fn a_form_of_a_word_counts_as_it() {
        let terms = Terms::of(["guide", "faq"]);
        assert!(terms.occur("/x", "The FAQ") && terms.occur("/user-guides/1", ""));
        assert!(!terms.occur("/x", "news"));
    }
}
