//! Ranks texts by an inquiry.

use analyst_base::{lists, rounded};
use trawl_rank::{Bm25, Language, Score, Statistics, Term, Vocabulary, each_word, fold};

/// BM25 field weights: question or heading, answer.
const WEIGHTS: [f32; 2] = [1.6, 1.0];
/// Minimum share of the inquiry's words, by weight, that a pair must contain.
pub(crate) const COVERAGE_MIN: f32 = 0.4;
/// Minimum relevance of a pair.
pub(crate) const RELEVANCE_MIN: f32 = 0.3;
/// Minimum relevance relative to the best pair.
pub(crate) const SHARE_MIN: f32 = 0.4;

/// Words that express the request itself; accents are folded.
const REQUEST_WORDS: &str = "\
    about all answer answers article best content create describe details every explain extract \
    faq faqs find generate get give important information inquiry key know list main make need \
    page pages pair pairs please qa question questions relevant show site summarise summarize \
    tell text thing things topic topics want website write alle antwort antworten frage fragen \
    seite webseite preguntas respuestas reponses domande perguntas";

/// Words after `how` that ask for a measure: `how long`, `wie viel`.
const MEASURES: &str = "long lange lang lenge much viel veel mycket many viele often oft far weit";

/// An inquiry in one language.
pub(crate) struct Inquiry {
    words: Vocabulary,
    terms: Vec<Term>,
}

/// Texts to rank by an inquiry.
pub(crate) struct Ranking {
    index: Bm25<2>,
}

impl Inquiry {
    /// Parses an inquiry; `None` if none of its words has topical meaning.
    pub(crate) fn new(prompt: &str, language: Language) -> Option<Self> {
        let mut subject = String::new();
        let mut is_after_how = false;
        each_word(prompt, |word| {
            let folded = fold(word);
            let is_measure = is_after_how && lists(MEASURES, &folded);
            is_after_how = matches!(folded.as_str(), "how" | "wie" | "hoe" | "hur" | "hvor");
            if !is_measure && !lists(REQUEST_WORDS, &folded) {
                subject.push_str(word);
                subject.push(' ');
            }
        });
        let mut words = Vocabulary::new(language);
        let terms = words.query(&subject);
        (!terms.is_empty()).then_some(Self { words, terms })
    }

    /// An empty ranking.
    pub(crate) fn ranking(&self) -> Ranking {
        Ranking {
            index: Bm25::new(&self.terms, WEIGHTS),
        }
    }

    /// Adds a text with its heading.
    pub(crate) fn add(&mut self, ranking: &mut Ranking, heading: &str, text: &str) {
        let (heading, text) = (self.words.terms(heading), self.words.terms(text));
        ranking.index.add([&heading, &text]);
    }
}

impl Ranking {
    pub(crate) fn statistics(&self) -> Statistics {
        self.index.statistics()
    }

    /// Relevance of each text, 0 to 1, in insertion order; 0 if too much of the inquiry is missing.
    pub(crate) fn relevances(&self, statistics: &Statistics) -> Vec<f32> {
        let scores = self.index.scores_among(statistics);
        scores.into_iter().map(relevance).collect()
    }

    /// Match strength of each text, 0 to 1, regardless of coverage.
    pub(crate) fn strengths(&self) -> Vec<f32> {
        self.index
            .scores()
            .into_iter()
            .map(|score| score.value)
            .collect()
    }
}

/// Combines coverage and match strength.
fn relevance(score: Score) -> f32 {
    if score.coverage >= COVERAGE_MIN {
        rounded((score.coverage * score.value).sqrt())
    } else {
        0.0
    }
}
