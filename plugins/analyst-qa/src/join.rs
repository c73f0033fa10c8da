//! Merges the best pairs of all pages of a run.

use analyst_base::{digits, model_note};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trawl_rank::Language;
use trawl_sdk::analyst::Finding;

use crate::Options;
use crate::pair::{Distinct, Pair};
use crate::rank::{Inquiry, RELEVANCE_MIN, SHARE_MIN};

/// The answer of a run.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Joined {
    content: Vec<PagePair>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PagePair {
    question: String,
    answer: String,
    url: String,
    #[serde(serialize_with = "digits")]
    score: f32,
}

/// The parts of a page's answer that the join reads.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PageAnswer {
    pairs: Vec<Pair>,
    model: Option<Value>,
}

/// Merges the findings of all pages: with an inquiry, the pairs that answer it about as well as the
/// best one.
pub(crate) fn join(findings: &[Finding], options: &Options) -> Joined {
    let mut pairs = Vec::new();
    let mut notes = Vec::new();
    for finding in findings {
        let found = PageAnswer::deserialize(&finding.value).unwrap_or_default();
        notes.extend(found.model);
        pairs.extend(found.pairs.into_iter().map(|pair| PagePair {
            question: pair.question,
            answer: pair.answer,
            url: finding.url.clone(),
            score: pair.score,
        }));
    }
    let inquiry = options.prompt();
    // Whether words have a meaning hardly depends on the language.
    if inquiry.is_some_and(|prompt| Inquiry::new(prompt, Language::English).is_some()) {
        let best = pairs.iter().map(|pair| pair.score).fold(0.0, f32::max);
        pairs.retain(|pair| pair.score >= RELEVANCE_MIN.max(best * SHARE_MIN));
    }
    pairs.sort_by(|one, other| other.score.total_cmp(&one.score));
    let mut distinct = Distinct::default();
    pairs.retain(|pair| distinct.take(&pair.question, &pair.answer));
    pairs.truncate(options.count());
    Joined {
        content: pairs,
        model: model_note(notes.iter()),
    }
}
