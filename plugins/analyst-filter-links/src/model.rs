//! The prompt that lets a model select links, and the merge of its answer.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_rank::{DATA_NOTE, Room, data, squeeze};
use trawl_sdk::analyst::{Model, Question, Reply};

use crate::ranking::{RankedLink, rounded};

/// Maximum number of links in a prompt: answers get worse with more.
const OFFERED_MAX: usize = 150;
/// Approximate answer tokens per link.
const LINK_TOKENS: u32 = 30;
/// Maximum length of the caller's prompt in characters.
const PROMPT_CHARS_MAX: usize = 2_000;
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

#[derive(Deserialize)]
struct Selection {
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
    let request: String = request.chars().take(PROMPT_CHARS_MAX).collect();
    let affordable = (model.answer_tokens / LINK_TOKENS).max(1) as usize;
    let count = count.min(affordable);
    let request = format!("Choose at most {count} links. The caller asks for: {request}");
    // The number of offered links is not known yet; the maximum takes the most space.
    let room = schema(count, OFFERED_MAX).to_string();
    let mut room = Room::new(
        model.context_tokens,
        &[RULES, DATA_NOTE, &request, &room, "data marks"],
    );
    let mut lines = String::new();
    let mut n_offered = 0;
    for link in links.iter().take(OFFERED_MAX) {
        let short =
            |text: &str, chars: usize| squeeze(text).chars().take(chars).collect::<String>();
        let line = format!(
            "[{}] {} | {} | {}\n",
            n_offered + 1,
            short(&link.text, TEXT_CHARS_MAX),
            short(&link.url, URL_CHARS_MAX),
            short(&link.heading, TEXT_CHARS_MAX)
        );
        if !room.take(&line) {
            break;
        }
        lines.push_str(&line);
        n_offered += 1;
    }
    let question = Question::new(schema(count, n_offered))
        .system(format!("{RULES}\n{DATA_NOTE}"))
        .user(format!("{request}\n\n{}", data(&lines)))
        .answer_tokens(model.answer_tokens.min(LINK_TOKENS * (count as u32 + 1)));
    (n_offered > 0).then_some((question, n_offered))
}

fn schema(count: usize, n_offered: usize) -> Value {
    json!({
        "type": "object",
        "properties": {"links": {
            "type": "array",
            "maxItems": count,
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer", "minimum": 1, "maximum": n_offered},
                    "reason": {"type": "string", "maxLength": REASON_CHARS_MAX},
                },
                "required": ["number", "reason"],
                "additionalProperties": false,
            },
        }},
        "required": ["links"],
        "additionalProperties": false,
    })
}

/// Merges the model's answer into the links, the first `n_offered` of which were offered, and
/// returns the note about the model. Constraints and `threshold` still apply.
pub(crate) fn merge(
    links: &mut [RankedLink],
    n_offered: usize,
    threshold: Option<f32>,
    reply: &Reply<'_>,
) -> Value {
    let Reply::Answer(answer) = reply else {
        return reply.note();
    };
    let Ok(selection) = Selection::deserialize(answer) else {
        return json!({"used": false, "reason": "the model's answer does not match the schema"});
    };
    let n_offered = n_offered.min(links.len());
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    for link in &selection.links {
        // Ignores unknown numbers and duplicates.
        let at = usize::try_from(link.number)
            .ok()
            .and_then(|number| number.checked_sub(1));
        if let Some(at) = at.filter(|at| *at < n_offered) {
            chosen.insert(at);
        }
    }
    for (at, link) in links.iter_mut().take(n_offered).enumerate() {
        let is_chosen = chosen.contains(&at);
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
    links.sort_by(|one, other| {
        other
            .relevant
            .cmp(&one.relevant)
            .then(other.score.total_cmp(&one.score))
    });
    reply.note()
}
