//! The prompt that lets a model select labels, and the merge of its answer.

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_rank::{DATA_NOTE, Room, cut, data, holds, squeeze};
use trawl_sdk::analyst::{Model, Question, Reply};

use crate::choose::{Assignment, rounded};
use crate::evidence::Evidence;

/// Approximate answer tokens per label.
const LABEL_TOKENS: u32 = 60;
/// Maximum length of the caller's prompt in characters.
const PROMPT_CHARS_MAX: usize = 2_000;
/// Maximum page text in the prompt, in bytes; more does not improve labels.
const TEXT_BYTES_MAX: usize = 12_000;
/// Minimum token budget for the page text.
const TEXT_TOKENS_MIN: usize = 60;
/// Weight of the model's confidence if the rules found the label too.
const MODEL_PART: f32 = 0.6;
/// Factor on the model's confidence if the rules did not find the label.
const UNSUPPORTED: f32 = 0.8;
/// The same without a quotation that occurs on the page.
const UNQUOTED: f32 = 0.5;
/// Minimum quotation length in characters; shorter strings occur on any page.
const QUOTE_CHARS_MIN: usize = 8;
/// Minimum confidence of a returned label.
const CONFIDENCE_MIN: f32 = 0.15;

const RULES: &str = "You label one web page. Choose from the offered labels those that fit the page as a whole, surest first, each with a confidence between 0 and 1 and a short quotation from the page that shows it, copied character by character. Choose no label that fits only a side remark. If none fits, give an empty list.";

#[derive(Deserialize)]
struct Selection {
    labels: Vec<SelectedLabel>,
}

#[derive(Deserialize)]
struct SelectedLabel {
    label: String,
    confidence: f32,
    #[serde(default)]
    quote: String,
}

/// Builds the question about a page; `None` if the page has no text or the context window is too
/// small.
pub(crate) fn ask(
    evidence: &Evidence,
    title: &str,
    offered: &[String],
    prompt: Option<&str>,
    count: usize,
    model: Model,
) -> Option<Question> {
    let schema = schema(offered, count);
    let prompt: String = prompt
        .unwrap_or_default()
        .chars()
        .take(PROMPT_CHARS_MAX)
        .collect();
    let instruction = if prompt.is_empty() {
        format!("Choose at most {count} labels.")
    } else {
        format!("Choose at most {count} labels. The caller's words: {prompt}")
    };
    let room = Room::new(
        model.context_tokens,
        &[
            RULES,
            DATA_NOTE,
            &instruction,
            &schema.to_string(),
            title,
            "data marks",
        ],
    );
    if room.tokens() < TEXT_TOKENS_MIN || evidence.text.trim().is_empty() {
        return None;
    }
    let bytes = room.bytes().min(TEXT_BYTES_MAX);
    // `cut` counts characters, so text with multi-byte characters has to be cut again.
    let mut text = cut(&evidence.text, bytes);
    while text.len() > bytes {
        text = cut(text, text.chars().count() * bytes / text.len());
    }
    let question = Question::new(schema)
        .system(format!("{RULES}\n{DATA_NOTE}"))
        .user(format!(
            "{instruction}\n\n{}",
            data(&format!("{title}\n{text}"))
        ))
        .answer_tokens(model.answer_tokens.min(LABEL_TOKENS * (count as u32 + 1)));
    Some(question)
}

fn schema(offered: &[String], count: usize) -> Value {
    json!({
        "type": "object",
        "properties": {"labels": {
            "type": "array",
            "maxItems": count,
            "items": {
                "type": "object",
                "properties": {
                    "label": {"enum": offered},
                    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                    "quote": {"type": "string", "maxLength": 200},
                },
                "required": ["label", "confidence", "quote"],
                "additionalProperties": false,
            },
        }},
        "required": ["labels"],
        "additionalProperties": false,
    })
}

/// Merges the model's answer with the labels found by the rules (`known`), and returns the note
/// about the model.
pub(crate) fn take(
    evidence: &Evidence,
    title: &str,
    offered: &[String],
    known: Vec<Assignment>,
    reply: &Reply<'_>,
) -> (Vec<Assignment>, Value) {
    let Reply::Answer(answer) = reply else {
        return (known, reply.note());
    };
    let Ok(selection) = Selection::deserialize(answer) else {
        let note = json!({"used": false, "reason": "the model's answer does not match the schema"});
        return (known, note);
    };
    let page = squeeze(&format!("{title} {}", evidence.text));
    let mut assigned: Vec<Assignment> = Vec::new();
    for selection in selection.labels {
        // Ignores labels that were not offered, and duplicates.
        let is_offered = offered.contains(&selection.label)
            && !assigned.iter().any(|own| own.label == selection.label);
        if !is_offered || !selection.confidence.is_finite() {
            continue;
        }
        let found = known.iter().find(|own| own.label == selection.label);
        let sure = selection.confidence.clamp(0.0, 1.0);
        let is_quoted = squeeze(&selection.quote).chars().count() >= QUOTE_CHARS_MIN
            && holds(&page, &selection.quote);
        let confidence = match (found, is_quoted) {
            (Some(found), _) => MODEL_PART * sure + (1.0 - MODEL_PART) * found.confidence,
            (None, true) => UNSUPPORTED * sure,
            (None, false) => UNQUOTED * sure,
        };
        let mut reasons = vec![if is_quoted {
            format!("the model chose it for “{}”", squeeze(&selection.quote))
        } else {
            "the model chose it".to_owned()
        }];
        reasons.extend(found.map(|found| found.reason.clone()));
        assigned.push(Assignment {
            label: selection.label,
            confidence: rounded(confidence),
            reason: reasons.join("; "),
        });
    }
    assigned.retain(|own| own.confidence >= CONFIDENCE_MIN);
    assigned.sort_by(|one, other| other.confidence.total_cmp(&one.confidence));
    (assigned, reply.note())
}
