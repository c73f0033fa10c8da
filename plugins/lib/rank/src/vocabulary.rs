//! Maps words to terms, the units of ranking.

use std::collections::{HashMap, HashSet};

use rust_stemmers::Stemmer;

use super::Language;
use super::words::{each_word, fold};

/// A term of a [`Vocabulary`]: words with the same stem are the same term.
pub type Term = u32;

/// Marks a stop word.
const STOP: Term = Term::MAX;

/// The terms of texts in one language. A word is lower-cased, stemmed and stripped of accents; the
/// result is cached.
pub struct Vocabulary {
    language: Language,
    stemmer: Option<Stemmer>,
    by_word: HashMap<Box<str>, Term>,
    by_stem: HashMap<Box<str>, Term>,
    names: Vec<Box<str>>,
}

impl Vocabulary {
    /// Creates an empty vocabulary.
    pub fn new(language: Language) -> Self {
        Self {
            language,
            stemmer: language.algorithm().map(Stemmer::create),
            by_word: HashMap::new(),
            by_stem: HashMap::new(),
            names: Vec::new(),
        }
    }

    /// The language that selects the stemmer.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Terms of a text in order, without stop words.
    pub fn terms(&mut self, text: &str) -> Vec<Term> {
        let mut terms = Vec::new();
        each_word(text, |word| {
            let term = self.term(word);
            if term != STOP {
                terms.push(term);
            }
        });
        terms
    }

    /// Distinct terms of a text in order of first occurrence. Empty if the text has only stop
    /// words.
    pub fn query(&mut self, text: &str) -> Vec<Term> {
        let mut seen = HashSet::new();
        let mut terms = self.terms(text);
        terms.retain(|term| seen.insert(*term));
        terms
    }

    /// The stem behind a term.
    pub fn name(&self, term: Term) -> &str {
        &self.names[term as usize]
    }

    fn term(&mut self, word: &str) -> Term {
        if let Some(&term) = self.by_word.get(word) {
            return term;
        }
        let is_stop = self.language.stop_words().binary_search(&word).is_ok();
        let is_single = word.len() == 1 && !word.as_bytes()[0].is_ascii_digit();
        let term = if is_stop || is_single {
            STOP
        } else {
            self.stem(word)
        };
        self.by_word.insert(word.into(), term);
        term
    }

    fn stem(&mut self, word: &str) -> Term {
        let is_plain = word.bytes().any(|byte| byte.is_ascii_digit());
        let stem = match &self.stemmer {
            Some(stemmer) if !is_plain => fold(&stemmer.stem(word)),
            _ => fold(word),
        };
        if let Some(&term) = self.by_stem.get(stem.as_str()) {
            return term;
        }
        let term = self.names.len() as Term;
        self.names.push(stem.as_str().into());
        self.by_stem.insert(stem.into(), term);
        term
    }
}
