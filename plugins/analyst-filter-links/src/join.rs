//! Merges the links of all pages of a run, best first.

use std::collections::HashMap;

use analyst_base::{digits, model_note};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trawl_sdk::analyst::Finding;

use crate::ranking::RankedLink;

/// The answer of a run.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Joined {
    relevant_urls: Vec<String>,
    links: Vec<PageLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Value>,
}

/// A relevant link and the page on which it scored best.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct PageLink {
    url: String,
    text: String,
    #[serde(serialize_with = "digits")]
    score: f32,
    content_type: String,
    reason: String,
    page: String,
}

/// The parts of a page's answer that the join reads.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PageAnswer {
    links: Vec<RankedLink>,
    model: Option<Value>,
}

/// Merges the findings of all pages. A URL is listed once, with its best score.
pub(crate) fn join(findings: &[Finding], count: usize) -> Joined {
    let mut links: Vec<PageLink> = Vec::new();
    let mut by_url: HashMap<String, usize> = HashMap::new();
    let mut notes: Vec<Value> = Vec::new();
    for finding in findings {
        let found = PageAnswer::deserialize(&finding.value).unwrap_or_default();
        notes.extend(found.model);
        for link in found.links.into_iter().filter(|link| link.relevant) {
            let link = PageLink {
                text: link.text,
                score: link.score.clamp(0.0, 1.0),
                content_type: link.content_type,
                reason: link.reason,
                page: finding.url.clone(),
                url: link.url,
            };
            match by_url.get(&link.url) {
                Some(&at) if links[at].score < link.score => links[at] = link,
                Some(_) => {}
                None => {
                    by_url.insert(link.url.clone(), links.len());
                    links.push(link);
                }
            }
        }
    }
    links.sort_by(|one, other| other.score.total_cmp(&one.score));
    links.truncate(count);
    Joined {
        relevant_urls: links.iter().map(|link| link.url.clone()).collect(),
        model: model_note(notes.iter()),
        links,
    }
}
