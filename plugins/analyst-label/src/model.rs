//! The prompt that lets a model select labels, and the merge of its answer.

use analyst_base::{Prompt, is_quoted, list_schema, rounded};
use serde::Deserialize;
use serde_json::json;
use trawl_rank::{cut, squeeze};
use trawl_sdk::analyst::{Model, Question};

use crate::choose::{Assignment, CONFIDENCE_MIN};
use crate::{Options, Page};

/// Approximate answer tokens per label.
const LABEL_TOKENS: u32 = 60;
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

const RULES: &str = "You label one web page. Choose from the offered labels those that fit the page as a whole, surest first, each with a confidence between 0 and 1 and a short quotation from the page that shows it, copied character by character. Choose no label that fits only a side remark. If none fits, give an empty list.";

/// The answer of the model.
#[derive(Deserialize)]
pub struct Selection {
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
pub(crate) fn ask(page: &Page, options: &Options, model: Model) -> Option<Question> {
    let count = options.count();
    let schema = list_schema(
        "labels",
        count,
        &json!({
            "label": {"enum": page.offered},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "quote": {"type": "string", "maxLength": 200},
        }),
    );
    let request = match options.prompt() {
        Some(prompt) => {
            format!("Choose at most {count} labels. The caller's words: {prompt}")
        }
        None => format!("Choose at most {count} labels."),
    };
    let tokens = LABEL_TOKENS * (count as u32 + 1);
    let mut prompt = Prompt::new(model, RULES, request, schema, tokens);
    let has_room = prompt.room.take(&page.title) && prompt.room.tokens() >= TEXT_TOKENS_MIN;
    if !has_room || page.evidence.text.trim().is_empty() {
        return None;
    }
    let bytes = prompt.room.bytes().min(TEXT_BYTES_MAX);
    // `cut` counts characters, so text with multi-byte characters has to be cut again.
    let mut text = cut(&page.evidence.text, bytes);
    while text.len() > bytes {
        text = cut(text, text.chars().count() * bytes / text.len());
    }
    Some(prompt.about(&format!("{}\n{text}", page.title)))
}

/// Merges the model's selection with the labels found by the rules.
pub(crate) fn merge(page: &mut Page, selection: Selection) {
    let known = std::mem::take(&mut page.labels);
    let text = squeeze(&format!("{} {}", page.title, page.evidence.text));
    for selected in selection.labels {
        // Ignores labels that were not offered, and duplicates.
        let is_offered = page.offered.contains(&selected.label)
            && !page.labels.iter().any(|own| own.label == selected.label);
        if !is_offered || !selected.confidence.is_finite() {
            continue;
        }
        let found = known.iter().find(|own| own.label == selected.label);
        let sure = selected.confidence.clamp(0.0, 1.0);
        let is_quoted = is_quoted(&text, &selected.quote);
        let confidence = match (found, is_quoted) {
            (Some(found), _) => MODEL_PART * sure + (1.0 - MODEL_PART) * found.confidence,
            (None, true) => UNSUPPORTED * sure,
            (None, false) => UNQUOTED * sure,
        };
        let mut reasons = vec![if is_quoted {
            format!("the model chose it for “{}”", squeeze(&selected.quote))
        } else {
            "the model chose it".to_owned()
        }];
        reasons.extend(found.map(|found| found.reason.clone()));
        page.labels.push(Assignment {
            label: selected.label,
            confidence: rounded(confidence),
            reason: reasons.join("; "),
        });
    }
    page.labels.retain(|own| own.confidence >= CONFIDENCE_MIN);
    page.labels
        .sort_by(|one, other| other.confidence.total_cmp(&one.confidence));
}
