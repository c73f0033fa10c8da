//! Question and answer pairs.

use analyst_base::digits;
use serde::{Deserialize, Serialize};
use trawl_rank::{Shingles, cut, squeeze};

/// Maximum question length in characters.
pub(crate) const QUESTION_CHARS_MAX: usize = 300;
/// Maximum answer length in characters; a longer one is cut at the end of a sentence.
pub(crate) const ANSWER_CHARS_MAX: usize = 2_000;
/// Minimum length in characters for comparing answers by their words: `Yes.` may answer many
/// questions.
const COMPARABLE_CHARS_MIN: usize = 60;
/// Minimum overlap of two texts that count as duplicates.
const SAME: f32 = 0.85;

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pair {
    /// The question.
    pub(crate) question: String,
    /// The answer, quoted verbatim.
    pub(crate) answer: String,
    /// Score, 0 to 1.
    #[serde(serialize_with = "digits")]
    pub(crate) score: f32,
    /// How it was found.
    pub(crate) from: From,
}

/// How a pair was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum From {
    /// Markup for questions and answers: schema.org, `<details>`, an accordion.
    FaqMarkup,
    /// A heading that is a question, with the text below it.
    FaqHeading,
    /// A term and its definition.
    DefinitionList,
    /// A passage of the page.
    Passage,
}

impl From {
    /// Worth of such a pair without an inquiry.
    pub(crate) const fn worth(self) -> f32 {
        match self {
            Self::FaqMarkup => 0.95,
            Self::FaqHeading => 0.8,
            Self::DefinitionList => 0.55,
            Self::Passage => 0.3,
        }
    }
}

impl Pair {
    /// A pair; `None` if the question or the answer is not usable.
    pub(crate) fn new(question: &str, answer: &str, from: From) -> Option<Self> {
        let question = unmarked(&squeeze(question), QUESTION_MARKS).to_owned();
        let answer = unmarked(answer.trim(), ANSWER_MARKS);
        let answer = cut(answer, ANSWER_CHARS_MAX).to_owned();
        let n_chars = question.chars().count();
        let is_pair = (2..=QUESTION_CHARS_MAX).contains(&n_chars)
            && answer.chars().any(char::is_alphanumeric)
            && squeeze(&answer) != question;
        is_pair.then_some(Self {
            question,
            answer,
            score: from.worth(),
            from,
        })
    }
}

const QUESTION_MARKS: &str = "Q: Q. F: Frage: Question: Pregunta: Domanda: Vraag:";
const ANSWER_MARKS: &str = "A: A. R: Antwort: Answer: Réponse: Respuesta: Risposta:";

/// The text without a leading mark such as `Q:`.
fn unmarked<'t>(text: &'t str, marks: &str) -> &'t str {
    let mut marks = marks.split(' ');
    let found = marks.find_map(|mark| text.strip_prefix(mark));
    found
        .filter(|rest| rest.starts_with(' '))
        .map_or(text, str::trim_start)
}

/// Whether a text begins with a question mark such as `Q:`.
pub(crate) fn is_marked_question(text: &str) -> bool {
    unmarked(text, QUESTION_MARKS).len() < text.len()
}

/// Filters duplicate pairs; offer better pairs first.
#[derive(Default)]
pub(crate) struct Distinct {
    seen: Vec<(Shingles, Shingles, bool)>,
}

impl Distinct {
    /// Accepts a pair unless a similar one was accepted before.
    pub(crate) fn take(&mut self, question: &str, answer: &str) -> bool {
        let own = (Shingles::of(question), Shingles::of(answer));
        let is_telling = answer.chars().count() >= COMPARABLE_CHARS_MIN;
        let is_new = !self.seen.iter().any(|(other, text, is_other_telling)| {
            let is_same_answer = own.1.overlap(text) >= SAME;
            is_same_answer && (own.0.overlap(other) >= SAME || (is_telling && *is_other_telling))
        });
        if is_new {
            self.seen.push((own.0, own.1, is_telling));
        }
        is_new
    }
}
