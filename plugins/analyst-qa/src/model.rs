//! The prompt that lets a model write questions, and the verification of its answer.

use analyst_base::{Prompt, is_quoted, list_schema, rounded};
use serde::Deserialize;
use serde_json::json;
use trawl_rank::{Room, squeeze};
use trawl_sdk::analyst::{Model, Question};

use crate::Options;
use crate::page::Page;
use crate::pair::{From, Pair, QUESTION_CHARS_MAX};
use crate::question::is_question;
use crate::rank::Inquiry;

/// Approximate answer tokens per pair.
const PAIR_TOKENS: u32 = 120;
/// Worth of a verified pair without an inquiry.
const WORTH: f32 = 0.7;
/// Minimum relevance of a verified pair: the model judged it an answer, whatever its words.
const RELEVANCE: f32 = 0.5;

const RULES: &str = "You write questions that the numbered passages of one web page answer. For each question give the number of the passage and a quotation from it that is the whole answer: copied character by character, at least a clause, never changed, shortened inside or translated. Write the question in the language of the passage. Use no knowledge of your own. If there is an inquiry, give only pairs that answer it; if nothing answers it, give an empty list.";

/// The answer of the model.
#[derive(Deserialize)]
pub struct WrittenPairs {
    pairs: Vec<WrittenPair>,
}

#[derive(Deserialize)]
struct WrittenPair {
    question: String,
    quote: String,
}

/// Builds the question about a page; `None` if the page has no text or the context window is too
/// small.
pub(crate) fn ask(page: &Page, options: &Options, model: Model) -> Option<Question> {
    let affordable = (model.answer_tokens / PAIR_TOKENS).max(1) as usize;
    let count = options.count().min(affordable);
    let schema = list_schema(
        "pairs",
        count,
        &json!({
            "passage": {"type": "integer", "minimum": 1},
            "question": {"type": "string", "maxLength": QUESTION_CHARS_MAX},
            "quote": {"type": "string", "description": "The answer, copied from the passage."},
        }),
    );
    let request = match options.prompt() {
        Some(prompt) => format!("Write at most {count} pairs. The inquiry: {prompt}"),
        None => {
            format!("Write at most {count} pairs about what readers of the page want to know.")
        }
    };
    let tokens = PAIR_TOKENS * (count as u32 + 1);
    let mut prompt = Prompt::new(model, RULES, request, schema, tokens);
    let passages = offered(page, &mut prompt.room);
    (!passages.is_empty()).then(|| prompt.about(&passages))
}

/// The passages that fit, best first, then numbered in page order.
fn offered(page: &Page, room: &mut Room) -> String {
    let mut order: Vec<usize> = (0..page.passages.len()).collect();
    order.sort_by(|one, other| {
        page.passages[*other]
            .score
            .total_cmp(&page.passages[*one].score)
    });
    let mut chosen: Vec<(usize, String)> = Vec::new();
    for at in order {
        let passage = &page.passages[at];
        let heading = passage.heading.as_deref().unwrap_or_default();
        let text = format!("[{}] {heading}\n{}\n", at + 1, passage.text);
        if room.take(&text) {
            chosen.push((at, text));
        }
    }
    chosen.sort_by_key(|(at, _)| *at);
    chosen.into_iter().map(|(_, text)| text).collect()
}

/// Adds the verified pairs to the page.
pub(crate) fn merge(page: &mut Page, options: &Options, written: &WrittenPairs) {
    let pairs = written
        .pairs
        .iter()
        .filter_map(|written| checked(page, options, written));
    let mut pairs: Vec<Pair> = pairs.take(options.count()).collect();
    if !pairs.is_empty() {
        score(page, options, &mut pairs);
        // The model's questions replace passages below a heading, but not the page's own questions.
        page.pairs.retain(|pair| pair.from != From::Passage);
        page.pairs.extend(pairs);
        page.pairs
            .sort_by(|one, other| other.score.total_cmp(&one.score));
    }
}

/// A pair whose answer occurs on the page and whose question adds no claim of its own.
fn checked(page: &Page, options: &Options, written: &WrittenPair) -> Option<Pair> {
    let question = squeeze(&written.question);
    let quote = squeeze(&written.quote);
    if !is_quoted(&page.text, &quote) || !is_question(&question, page.language) {
        return None;
    }
    let prompt = options.prompt().unwrap_or_default();
    let is_grounded = question.split_whitespace().all(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_fact = word.chars().any(|c| c.is_ascii_digit())
            || word.contains("://")
            || word.contains('@')
            || word.starts_with("www.");
        !is_fact || page.text.contains(word) || prompt.contains(word)
    });
    is_grounded.then(|| Pair::new(&question, &quote, From::Passage))?
}

fn score(page: &Page, options: &Options, pairs: &mut [Pair]) {
    let inquiry = options
        .prompt()
        .and_then(|prompt| Inquiry::new(prompt, page.language));
    let Some(mut inquiry) = inquiry else {
        pairs.iter_mut().for_each(|pair| pair.score = WORTH);
        return;
    };
    let mut ranking = inquiry.ranking();
    for passage in &page.passages {
        inquiry.add(
            &mut ranking,
            passage.heading.as_deref().unwrap_or_default(),
            &passage.text,
        );
    }
    let statistics = ranking.statistics();
    let mut written = inquiry.ranking();
    for pair in pairs.iter() {
        inquiry.add(&mut written, &pair.question, &pair.answer);
    }
    for (pair, relevance) in pairs.iter_mut().zip(written.relevances(&statistics)) {
        pair.score = rounded(relevance.max(RELEVANCE));
    }
}
