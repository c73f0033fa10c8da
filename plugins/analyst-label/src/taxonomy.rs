//! The built-in topics and industries, and the terms that indicate them.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A label a line: its name, schema.org types that imply it, and terms. `!` marks a strong term,
/// `~` a weak one, a final `*` any ending; accents are folded.
const TABLES: [(Kind, &str); 2] = [
    (Kind::Topic, include_str!("../taxonomy/topics.txt")),
    (Kind::Industry, include_str!("../taxonomy/industries.txt")),
];
/// Weights of terms.
const STRONG: f32 = 3.0;
const USUAL: f32 = 1.2;
const WEAK: f32 = 0.4;

static TAXONOMY: LazyLock<Taxonomy> = LazyLock::new(Taxonomy::read);

/// A label of the taxonomy.
#[derive(Debug)]
pub(crate) struct Label {
    /// Its name in answers.
    pub(crate) name: &'static str,
    /// Topic or industry.
    pub(crate) kind: Kind,
    /// schema.org types that imply it.
    pub(crate) types: Vec<&'static str>,
}

/// Kind of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What a page is about.
    Topic,
    /// The business of the site's owner.
    Industry,
}

/// Index of a term.
pub(crate) type TermId = usize;

/// A term of several words: those after the first, and its index.
pub(crate) type Phrase = (&'static str, TermId);

#[derive(Default)]
struct Taxonomy {
    labels: Vec<Label>,
    /// For each term the labels that it is evidence for, by index, with its weight.
    terms: Vec<Vec<(usize, f32)>>,
    words: HashMap<&'static str, TermId>,
    /// Word prefixes.
    stems: HashMap<&'static str, TermId>,
    /// Terms of several words by the first one.
    phrases: HashMap<&'static str, Vec<Phrase>>,
}

impl Taxonomy {
    fn read() -> Self {
        let mut taxonomy = Self::default();
        for (kind, table) in TABLES {
            for line in table.lines().filter(|line| !line.starts_with('#')) {
                let mut columns = line.split('|').map(str::trim);
                let mut column = || columns.next().unwrap_or_default();
                let (name, types, terms) = (column(), column(), column());
                let types = types.split(',').map(str::trim);
                taxonomy.labels.push(Label {
                    name,
                    kind,
                    types: types.filter(|own| !own.is_empty()).collect(),
                });
                for term in terms.split(',').map(str::trim) {
                    taxonomy.add(term);
                }
            }
        }
        taxonomy
    }

    /// Adds a term of the last label.
    fn add(&mut self, term: &'static str) {
        let (weight, term) = match term.strip_prefix('!') {
            Some(term) => (STRONG, term),
            None => match term.strip_prefix('~') {
                Some(term) => (WEAK, term),
                None => (USUAL, term),
            },
        };
        let next = self.terms.len();
        let id = match (term.split_once(' '), term.strip_suffix('*')) {
            (Some((first, rest)), _) => {
                let phrases = self.phrases.entry(without_article(first)).or_default();
                let known = phrases.iter().find(|(own, _)| *own == rest);
                let known = known.map(|(_, id)| *id);
                known.unwrap_or_else(|| {
                    phrases.push((rest, next));
                    next
                })
            }
            (None, Some(stem)) => *self.stems.entry(without_article(stem)).or_insert(next),
            (None, None) => *self.words.entry(without_article(term)).or_insert(next),
        };
        if id == next {
            self.terms.push(Vec::new());
        }
        let label = self.labels.len() - 1;
        let labels = &mut self.terms[id];
        if labels.last().is_none_or(|(last, _)| *last != label) {
            labels.push((label, weight));
        }
    }
}

/// A word without its elided article, as the tokenizer reads it.
pub(crate) fn without_article(word: &str) -> &str {
    word.split_once('\'').map_or(word, |(_, rest)| rest)
}

/// All labels, topics first.
pub(crate) fn labels() -> &'static [Label] {
    &TAXONOMY.labels
}

/// The labels a term is evidence for, by index, with the term's weight.
pub(crate) fn labels_of(term: TermId) -> impl Iterator<Item = (usize, f32)> {
    TAXONOMY.terms[term].iter().copied()
}

/// The terms that match a folded word: the word itself, and its longest prefix that is a term.
pub(crate) fn terms_of(word: &str) -> impl Iterator<Item = TermId> {
    let exact = TAXONOMY.words.get(word).copied();
    let mut ends = word.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
    let stem = ends.find_map(|end| TAXONOMY.stems.get(&word[..end]).copied());
    exact.into_iter().chain(stem)
}

/// The multi-word terms that start with this word.
pub(crate) fn phrases_of(first: &str) -> &'static [Phrase] {
    TAXONOMY.phrases.get(first).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::{Kind, labels, labels_of, phrases_of, terms_of};

    fn names(word: &str) -> Vec<&'static str> {
        terms_of(word)
            .flat_map(labels_of)
            .map(|(label, _)| labels()[label].name)
            .collect()
    }

    #[test]
    fn there_are_topics_and_industries() {
        let topics = labels().iter().filter(|label| label.kind == Kind::Topic);
        let mut topics: Vec<&str> = topics.map(|label| label.name).collect();
        let n_topics = topics.len();
        assert!((60..=100).contains(&n_topics), "{n_topics}");
        assert!((35..=60).contains(&(labels().len() - n_topics)));
        topics.sort_unstable();
        topics.dedup();
        assert_eq!(topics.len(), n_topics, "no topic is listed twice");
    }

    #[test]
    fn words_are_evidence_for_labels() {
        assert!(names("rezepte").contains(&"Cooking & Recipes"));
        assert!(names("versicherungen").contains(&"Insurance"));
        assert_eq!(
            names("investigation"),
            ["Crime & Justice"],
            "the longest prefix counts"
        );
        assert!(names("xyzzy").is_empty());
        assert!(phrases_of("real").iter().any(|(rest, _)| *rest == "estate"));
        assert!(phrases_of("zzz").is_empty());
    }
}
