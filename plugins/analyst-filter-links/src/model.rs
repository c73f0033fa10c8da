//! The prompt that lets a model select links, and the merge of its answer.

use std::collections::BTreeSet;

use analyst_base::{Prompt, list_schema, rounded};
use serde::Deserialize;
use serde_json::json;
use trawl_rank::squeeze;
use trawl_sdk::analyst::{Model, Question};

use crate::ranking::{RankedLink, sort};

/// Maximum number of links in a prompt: answers get worse with more.
const OFFERED_MAX: usize = 150;
/// Approximate answer tokens per link.
const LINK_TOKENS: u32 = 30;
/// Maximum anchor text length in the prompt, in characters.
const TEXT_CHARS_MAX: usize = 120;
/// Maximum URL length in the prompt, in characters.
const URL_CHARS_MAX: usize = 200;
/// Maximum reason length in characters. Asking for a reason improves the selection; it is not
/// returned because it cannot be verified.
const REASON_CHARS_MAX: usize = 200;
/// Base score of a link selected by the model.
const CHOSEN: f32 = 0.5;

const RULES: &str = "You choose links of one web page. Each is numbered, with its text, its URL and the heading above it. Choose those that fit what the caller asks for, best first, by their numbers, each with a reason of a few words. Choose none that does not fit; if none fits, give an empty list.";

/// The answer of the model.
#[derive(Deserialize)]
pub struct Selection {
    links: Vec<SelectedLink>,
}

#[derive(Deserialize)]
struct SelectedLink {
    number: i64,
}

/// Builds the question and the number of offered links; `None` if there is nothing to ask.
pub(crate) fn ask(
    links: &[RankedLink],
    request: &str,
    count: usize,
    model: Model,
) -> Option<(Question, usize)> {
    let affordable = (model.answer_tokens / LINK_TOKENS).max(1) as usize;
    let count = count.min(affordable);
    let schema = list_schema(
        "links",
        count,
        &json!({
            "number": {"type": "integer", "minimum": 1, "maximum": links.len().min(OFFERED_MAX)},
            "reason": {"type": "string", "maxLength": REASON_CHARS_MAX},
        }),
    );
    let request = format!("Choose at most {count} links. The caller asks for: {request}");
    let tokens = LINK_TOKENS * (count as u32 + 1);
    let mut prompt = Prompt::new(model, RULES, request, schema, tokens);
    let mut lines = String::new();
    let mut n_offered = 0;
    let short = |text: &str, chars: usize| squeeze(text).chars().take(chars).collect::<String>();
    for link in links.iter().take(OFFERED_MAX) {
        let line = format!(
            "[{}] {} | {} | {}\n",
            n_offered + 1,
            short(&link.text, TEXT_CHARS_MAX),
            short(&link.url, URL_CHARS_MAX),
            short(&link.heading, TEXT_CHARS_MAX)
        );
        if !prompt.room.take(&line) {
            break;
        }
        lines.push_str(&line);
        n_offered += 1;
    }
    (n_offered > 0).then(|| (prompt.about(&lines), n_offered))
}

/// Merges the model's selection into the links, the first `n_offered` of which were offered.
/// Constraints and `threshold` still apply.
pub(crate) fn merge(
    links: &mut [RankedLink],
    n_offered: usize,
    threshold: Option<f32>,
    selection: &Selection,
) {
    // Unknown numbers and duplicates have no effect.
    let numbers = selection.links.iter();
    let chosen: BTreeSet<i64> = numbers.map(|link| link.number).collect();
    for (link, number) in links.iter_mut().take(n_offered).zip(1..) {
        let is_chosen = chosen.contains(&number);
        let is_taken = is_chosen && !link.is_excluded;
        link.score = rounded(if is_taken {
            CHOSEN + (1.0 - CHOSEN) * link.score
        } else {
            CHOSEN * link.score
        });
        link.relevant = is_taken && link.score >= threshold.unwrap_or(0.0);
        let verdict = if is_chosen {
            "chosen by the model"
        } else {
            "not chosen by the model"
        };
        link.reason = format!("{verdict}; {}", link.reason);
    }
    sort(links);
}
