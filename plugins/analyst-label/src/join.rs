//! Merges the labels of all pages of a run.

use std::collections::BTreeMap;

use analyst_base::{digits, model_note, rounded};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trawl_sdk::analyst::Finding;

use crate::choose::Assignment;

/// The labels of a run.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Joined {
    labels: Vec<SharedLabel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    industry: Option<SharedLabel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Value>,
}

/// A label assigned to several pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct SharedLabel {
    label: String,
    /// Mean over all labelled pages; a page without this label counts as 0.
    #[serde(serialize_with = "digits")]
    confidence: f32,
    /// Number of pages with this label.
    pages: usize,
}

/// The parts of a page's answer that the join reads.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PageAnswer {
    labels: Vec<Assignment>,
    industry: Option<Assignment>,
    model: Option<Value>,
}

/// Merges the findings of all pages.
pub(crate) fn join(findings: &[Finding], count: usize) -> Joined {
    let pages: Vec<PageAnswer> = findings
        .iter()
        .map(|finding| PageAnswer::deserialize(&finding.value).unwrap_or_default())
        .collect();
    let labels = shared(pages.iter().map(|found| found.labels.as_slice()));
    let industries = shared(pages.iter().map(|found| found.industry.as_slice()));
    Joined {
        labels: labels.into_iter().take(count).collect(),
        industry: industries.into_iter().next(),
        model: model_note(pages.iter().filter_map(|found| found.model.as_ref())),
    }
}

/// Averages each label over the labelled pages, most confident first.
fn shared<'g>(pages: impl Iterator<Item = &'g [Assignment]>) -> Vec<SharedLabel> {
    let mut sums: BTreeMap<&str, (f32, usize)> = BTreeMap::new();
    let mut n_pages = 0;
    for labels in pages.filter(|labels| !labels.is_empty()) {
        n_pages += 1;
        for given in labels {
            let sum = sums.entry(&given.label).or_default();
            sum.0 += given.confidence.clamp(0.0, 1.0);
            sum.1 += 1;
        }
    }
    let means = sums.into_iter().map(|(label, (sum, pages))| SharedLabel {
        label: label.to_owned(),
        confidence: rounded(sum / n_pages as f32),
        pages,
    });
    let mut means: Vec<SharedLabel> = means.filter(|shared| shared.confidence > 0.0).collect();
    means.sort_by(|one, other| {
        other
            .confidence
            .total_cmp(&one.confidence)
            .then(other.pages.cmp(&one.pages))
    });
    means
}
