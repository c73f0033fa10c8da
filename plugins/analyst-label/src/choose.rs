//! Turns evidence into labels with confidences and reasons.

use analyst_base::{digits, rounded};
use serde::{Deserialize, Serialize};

use crate::evidence::{Evidence, Hits};
use crate::taxonomy::{Kind, TermId, labels, labels_of};

/// Term frequency saturation (BM25's k1) for a text of [`USUAL_WORDS`].
const K1: f32 = 2.0;
/// Length normalization (BM25's b).
const B: f32 = 0.6;
/// Typical page length in words.
const USUAL_WORDS: f32 = 500.0;
/// Weight of a matching schema.org type, about that of three strong terms.
const TYPE_WEIGHT: f32 = 6.0;
/// Strength at which the confidence reaches 63 %. Calibrated on the pages in `tests`: of the labels
/// with a assigned confidence, about that share is correct.
const SCALE: f32 = 4.5;
/// Share of the confidence that is independent of competing labels.
const INDEPENDENT_SHARE: f32 = 0.3;
/// Confidence factor if only one term supports a label.
const SINGLE_TERM_FACTOR: f32 = 0.45;
/// Minimum confidence of a returned label.
pub(crate) const CONFIDENCE_MIN: f32 = 0.15;
/// Maximum number of terms quoted in a reason.
const QUOTES_MAX: usize = 4;

/// A label assigned to a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub(crate) label: String,
    /// Confidence, 0 to 1.
    #[serde(serialize_with = "digits")]
    pub(crate) confidence: f32,
    /// The evidence, quoted from the page.
    pub(crate) reason: String,
}

/// The evidence for a label.
#[derive(Clone, Debug, Default)]
pub(crate) struct Support {
    pub(crate) strength: f32,
    /// Terms with their contributions.
    pub(crate) terms: Vec<(f32, TermId)>,
    /// The matching schema.org type.
    pub(crate) kind: Option<&'static str>,
}

/// Saturated frequency of a term, 0 to 1.
pub(crate) fn saturation(hits: &Hits, n_words: usize) -> f32 {
    let length = 1.0 - B + B * (n_words as f32 / USUAL_WORDS);
    hits.weighted / (hits.weighted + K1 * length)
}

/// Collects the evidence for each label of the taxonomy, in its order.
pub(crate) fn supports(evidence: &Evidence) -> Vec<Support> {
    let mut supports = vec![Support::default(); labels().len()];
    let mut terms: Vec<_> = evidence.terms.iter().collect();
    terms.sort_by_key(|(term, _)| **term);
    for (term, hits) in terms {
        // A term shared by many labels is weaker evidence for each.
        let n_labels = labels_of(*term).count() as f32;
        for (label, weight) in labels_of(*term) {
            let adds = weight * saturation(hits, evidence.n_words) / n_labels.sqrt().max(1.0);
            supports[label].strength += adds;
            supports[label].terms.push((adds, *term));
        }
    }
    for (support, label) in supports.iter_mut().zip(labels()) {
        support.kind = label
            .types
            .iter()
            .copied()
            .find(|labels| evidence.types.iter().any(|own| own == labels));
        if support.kind.is_some() {
            support.strength += TYPE_WEIGHT;
        }
        support
            .terms
            .sort_by(|one, other| other.0.total_cmp(&one.0));
    }
    supports
}

/// Confidences of the labels of one kind, by label index.
pub(crate) fn confidences(supports: &[Support], kind: Kind) -> Vec<(usize, f32)> {
    let own = || {
        supports
            .iter()
            .enumerate()
            .filter(|(at, _)| labels()[*at].kind == kind)
    };
    let best = own()
        .map(|(_, support)| support.strength)
        .fold(0.0, f32::max);
    let confidence = |support: &Support| {
        let sure = 1.0 - (-support.strength / SCALE).exp();
        let share = INDEPENDENT_SHARE
            + (1.0 - INDEPENDENT_SHARE) * support.strength / best.max(f32::MIN_POSITIVE);
        let is_single = support.terms.len() < 2 && support.kind.is_none();
        sure * share * if is_single { SINGLE_TERM_FACTOR } else { 1.0 }
    };
    let mut confidences: Vec<(usize, f32)> = own()
        .map(|(at, support)| (at, rounded(confidence(support))))
        .collect();
    confidences.sort_by(|one, other| other.1.total_cmp(&one.1));
    confidences
}

/// The labels of one kind, most confident first.
pub(crate) fn assign(evidence: &Evidence, supports: &[Support], kind: Kind) -> Vec<Assignment> {
    let sure = confidences(supports, kind)
        .into_iter()
        .filter(|(_, confidence)| *confidence >= CONFIDENCE_MIN);
    sure.map(|(at, confidence)| Assignment {
        label: labels()[at].name.to_owned(),
        confidence,
        reason: reason(evidence, &supports[at]),
    })
    .collect()
}

/// Describes the evidence for a label.
pub(crate) fn reason(evidence: &Evidence, support: &Support) -> String {
    let quoted = support
        .terms
        .iter()
        .filter_map(|(_, term)| evidence.terms.get(term));
    let mut parts: Vec<String> = support
        .kind
        .iter()
        .map(|kind| format!("schema.org type “{kind}”"))
        .collect();
    let words = quote(&quoted.take(QUOTES_MAX).collect::<Vec<_>>());
    parts.extend(Some(words).filter(|words| !words.is_empty()));
    parts.join("; ")
}

/// Quotes terms by place: “tea”, “cup” in the title; “milk” in the text.
pub(crate) fn quote(hits: &[&Hits]) -> String {
    let mut places: Vec<_> = hits.iter().map(|hits| hits.place).collect();
    places.sort_unstable();
    places.dedup();
    let parts = places.into_iter().rev().map(|place| {
        let here = hits.iter().filter(|hits| hits.place == place);
        let words = here.map(|hits| match hits.count {
            0..=2 => format!("“{}”", hits.shown),
            count => format!("“{}” ({count} times)", hits.shown),
        });
        format!(
            "{} in {}",
            words.collect::<Vec<_>>().join(", "),
            place.name()
        )
    });
    parts.collect::<Vec<_>>().join("; ")
}
