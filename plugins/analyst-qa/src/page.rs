//! The questions and answers of one page.

use analyst_base::{digits, rounded};
use serde::Serialize;
use serde_json::Value;
use trawl_rank::{Block, BlockKind, Language, Passage, Region, blocks, passages, squeeze};
use trawl_sdk::Document;

use crate::pair::{Distinct, From, Pair};
use crate::question::{is_asked, is_question};
use crate::rank::{Inquiry, RELEVANCE_MIN, SHARE_MIN};
use crate::{Options, disclosure, headings, markup};

/// Relevance factor of a passage outside the main content.
const OUTSIDE_MAIN_FACTOR: f32 = 0.8;
/// Worth factor of a marked-up question that is not phrased as one: a disclosure widget may hide
/// anything.
const NON_QUESTION_FACTOR: f32 = 0.7;
/// Relevance factor of a passage as an answer, compared with a question and answer on the page.
const PASSAGE_FACTOR: f32 = 0.85;
/// Minimum number of words in a passage that can be an answer.
const PASSAGE_WORDS_MIN: usize = 4;

/// The passages and pairs of a page.
pub struct Page {
    /// The page's language.
    pub(crate) language: Language,
    /// The full text on one line, for verifying quotations.
    pub(crate) text: String,
    /// Passages in page order.
    pub(crate) passages: Vec<Ranked>,
    /// Pairs, best first.
    pub(crate) pairs: Vec<Pair>,
}

/// A passage and its score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Ranked {
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) heading: Option<String>,
    #[serde(serialize_with = "digits")]
    pub(crate) score: f32,
}

/// The answer for one page.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    passages: Vec<Ranked>,
    pairs: Vec<Pair>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Value>,
}

impl Page {
    /// Reads a page for these options.
    pub(crate) fn read(document: &Document<'_>, options: &Options) -> Self {
        let blocks = blocks(document.root());
        let text = all_text(&blocks);
        let language = Language::of_page(document, &text);
        let mut pairs = markup::pairs(document);
        pairs.extend(disclosure::pairs(document, language));
        pairs.extend(headings::pairs(&blocks, language));
        for pair in pairs
            .iter_mut()
            .filter(|pair| pair.from != From::DefinitionList)
        {
            if !is_question(&pair.question, language) {
                pair.score = rounded(pair.score * NON_QUESTION_FACTOR);
            }
        }
        let pieces = passages(&blocks);
        let heading_of = |piece: &Passage| piece.heading.map(|at| blocks[at].text.clone());
        let ranked = pieces.iter().map(|piece| Ranked {
            text: piece.text.clone(),
            heading: heading_of(piece),
            score: 0.0,
        });
        let mut page = Self {
            language,
            text,
            passages: ranked.collect(),
            pairs,
        };
        let factors: Vec<f32> = pieces.iter().map(|piece| factor(piece.region)).collect();
        let inquiry = options
            .prompt()
            .and_then(|prompt| Inquiry::new(prompt, language));
        match inquiry {
            Some(inquiry) => page.rank(inquiry, options.prompt().unwrap_or_default(), &factors),
            None => page.order(&subject(document, &blocks), &factors),
        }
        page.pairs
            .sort_by(|one, other| other.score.total_cmp(&one.score));
        page
    }

    /// Ranks by an inquiry and drops pairs that do not answer it.
    fn rank(&mut self, mut inquiry: Inquiry, prompt: &str, factors: &[f32]) {
        let (mut marked, mut found) = (inquiry.ranking(), inquiry.ranking());
        for pair in &self.pairs {
            inquiry.add(&mut marked, &pair.question, &pair.answer);
        }
        for passage in &self.passages {
            inquiry.add(
                &mut found,
                passage.heading.as_deref().unwrap_or_default(),
                &passage.text,
            );
        }
        let mut statistics = found.statistics();
        statistics.add(&marked.statistics());
        for (pair, relevance) in self.pairs.iter_mut().zip(marked.relevances(&statistics)) {
            pair.score = relevance;
        }
        let relevances = found.relevances(&statistics);
        for ((passage, relevance), factor) in self.passages.iter_mut().zip(relevances).zip(factors)
        {
            passage.score = rounded(relevance * factor);
        }
        let answers = self
            .passages
            .iter()
            .filter_map(|passage| answering(passage, prompt, self.language));
        self.pairs.extend(answers);
        let best = self.pairs.iter().map(|pair| pair.score).fold(0.0, f32::max);
        self.pairs
            .retain(|pair| pair.score >= RELEVANCE_MIN.max(best * SHARE_MIN));
    }

    /// Ranks passages by the page's subject; a page without questions of its own returns them as
    /// pairs.
    fn order(&mut self, subject: &str, factors: &[f32]) {
        if let Some(mut inquiry) = Inquiry::new(subject, self.language) {
            let mut ranking = inquiry.ranking();
            for passage in &self.passages {
                inquiry.add(
                    &mut ranking,
                    passage.heading.as_deref().unwrap_or_default(),
                    &passage.text,
                );
            }
            // A passage need not cover half of the title to be about it.
            let relevances = ranking.strengths();
            for ((passage, relevance), factor) in
                self.passages.iter_mut().zip(relevances).zip(factors)
            {
                passage.score = rounded(relevance * factor);
            }
        }
        if self.pairs.is_empty() {
            let pairs = self
                .passages
                .iter()
                .filter(|passage| is_answer(passage))
                .filter_map(|passage| {
                    Pair::new(passage.heading.as_deref()?, &passage.text, From::Passage)
                });
            self.pairs = pairs.collect();
        }
    }

    /// The answer with the best passages and pairs, `count` of each, and the note about the model.
    pub(crate) fn answer(self, count: usize, model: Option<Value>) -> Answer {
        let mut distinct = Distinct::default();
        let pairs = self
            .pairs
            .into_iter()
            .filter(|pair| distinct.take(&pair.question, &pair.answer));
        let pairs = pairs.take(count).collect();
        let mut passages = self.passages;
        passages.retain(|passage| passage.score > 0.0);
        passages.sort_by(|one, other| other.score.total_cmp(&one.score));
        passages.truncate(count);
        Answer {
            passages,
            pairs,
            model,
        }
    }
}

fn factor(region: Region) -> f32 {
    if region == Region::Main {
        1.0
    } else {
        OUTSIDE_MAIN_FACTOR
    }
}

fn is_answer(passage: &Ranked) -> bool {
    passage.text.split_whitespace().count() >= PASSAGE_WORDS_MIN
        || passage.text.chars().any(trawl_rank::is_spaceless)
}

/// Turns a passage into a pair: its question is the passage's heading if that is a question,
/// otherwise the inquiry if that is one, otherwise the heading.
fn answering(passage: &Ranked, prompt: &str, language: Language) -> Option<Pair> {
    if passage.score <= 0.0 || !is_answer(passage) {
        return None;
    }
    let heading = passage.heading.as_deref();
    let question = match heading {
        Some(heading) if is_question(heading, language) => heading,
        _ if is_asked(prompt) || is_question(prompt, language) => prompt,
        Some(heading) => heading,
        None => prompt,
    };
    let mut pair = Pair::new(question, &passage.text, From::Passage)?;
    pair.score = rounded(passage.score * PASSAGE_FACTOR);
    Some(pair)
}

fn all_text(blocks: &[Block<'_>]) -> String {
    let mut text = String::new();
    for block in blocks {
        text.push_str(&block.text);
        text.push(' ');
    }
    squeeze(&text)
}

/// The page's subject: title and first heading.
fn subject(document: &Document<'_>, blocks: &[Block<'_>]) -> String {
    let heading = blocks
        .iter()
        .find(|block| matches!(block.kind, BlockKind::Heading(1)));
    let title = document.title().unwrap_or_default();
    format!("{title} {}", heading.map_or("", |heading| &heading.text))
}
