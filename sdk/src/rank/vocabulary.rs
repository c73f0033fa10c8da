//! Words as numbers: what is compared in ranking.

use std::collections::{HashMap, HashSet};

use rust_stemmers::Stemmer;

use super::Language;
use super::words::{each_word, fold};

/// A term of a [`Vocabulary`]: words with one stem are one term.
pub type Term = u32;

/// What a word is that says nothing.
const STOP: Term = Term::MAX;

/// The terms of some texts in one language. A word is lower-cased, reduced to its stem and freed of accents, once however often it stands.
pub struct Vocabulary {
    language: Language,
    stemmer: Option<Stemmer>,
    by_word: HashMap<Box<str>, Term>,
    by_stem: HashMap<Box<str>, Term>,
    names: Vec<Box<str>>,
}

impl Vocabulary {
    /// An empty vocabulary.
    pub fn new(language: Language) -> Self {
        Self {
            language,
            stemmer: language.algorithm().map(Stemmer::create),
            by_word: HashMap::new(),
            by_stem: HashMap::new(),
            names: Vec::new(),
        }
    }

    /// The language whose stems these are.
    pub fn language(&self) -> Language {
        self.language
    }

    /// The terms of a text in order, words that say nothing left out.
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

    /// The terms of a text, each once, in order of their first place. None when all of its words say nothing.
    pub fn query(&mut self, text: &str) -> Vec<Term> {
        let mut seen = HashSet::new();
        let mut terms = self.terms(text);
        terms.retain(|term| seen.insert(*term));
        terms
    }

    /// The stem that a term stands for.
    pub fn name(&self, term: Term) -> &str {
        &self.names[term as usize]
    }

    fn term(&mut self, word: &str) -> Term {
        if let Some(&term) = self.by_word.get(word) {
            return term;
        }
        let is_stop = self.language.stop_words().binary_search(&word).is_ok();
        let is_single = word.len() == 1 && !word.as_bytes()[0].is_ascii_digit();
        let term = match is_stop || is_single {
            true => STOP,
            false => self.stem(word),
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
