//! Merges the best pairs of all pages of a run.

use std::collections::BTreeMap;

use analyst_base::{digits, model_note, rounded};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trawl_sdk::analyst::Finding;
use trawl_sdk::rank::Language;

use crate::Options;
use crate::page::PASSAGE_FACTOR;
use crate::pair::{Distinct, From, Pair};
use crate::rank::{Counts, Inquiry, RELEVANCE_MIN, SHARE_MIN};

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
    #[serde(skip)]
    is_passage: bool,
    /// Whether a model selected it: it may use other words than the inquiry.
    #[serde(skip)]
    is_chosen: bool,
}

/// The parts of a page's answer that the join reads.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PageAnswer {
    pairs: Vec<Pair>,
    counts: Option<Counts>,
    model: Option<Value>,
}

/// Merges the findings of all pages.
pub(crate) fn join(findings: &[Finding], options: &Options) -> Joined {
    let pages = findings.iter().map(|finding| {
        (
            finding.url.as_str(),
            PageAnswer::deserialize(&finding.value).unwrap_or_default(),
        )
    });
    let pages: Vec<(&str, PageAnswer)> = pages.collect();
    let mut by_language: BTreeMap<Language, Vec<PagePair>> = BTreeMap::new();
    for (url, found) in &pages {
        let language = found
            .counts
            .as_ref()
            .map_or(Language::Other, Counts::language);
        let is_used = found
            .model
            .as_ref()
            .is_some_and(|note| note["used"] == true);
        let page_pairs = found.pairs.iter().map(|pair| page_pair(pair, url, is_used));
        by_language.entry(language).or_default().extend(page_pairs);
    }
    let counts: Vec<&Counts> = pages
        .iter()
        .filter_map(|(_, found)| found.counts.as_ref())
        .collect();
    let mut pairs = Vec::new();
    for (language, mut page_pairs) in by_language {
        let inquiry = options
            .prompt()
            .and_then(|prompt| Inquiry::new(prompt, language));
        if let Some(inquiry) = inquiry.filter(|_| !counts.is_empty()) {
            rank(inquiry, &counts, &mut page_pairs);
        }
        pairs.extend(page_pairs);
    }
    if !counts.is_empty() {
        let best = pairs.iter().map(|pair| pair.score).fold(0.0, f32::max);
        pairs.retain(|pair| pair.score >= RELEVANCE_MIN.max(best * SHARE_MIN));
    }
    pairs.sort_by(|one, other| other.score.total_cmp(&one.score));
    let mut distinct = Distinct::default();
    let pairs = pairs
        .into_iter()
        .filter(|pair| distinct.take(&pair.question, &pair.answer));
    Joined {
        content: pairs.take(options.count()).collect(),
        model: model_note(pages.iter().filter_map(|(_, found)| found.model.as_ref())),
    }
}

fn page_pair(pair: &Pair, url: &str, is_used: bool) -> PagePair {
    PagePair {
        question: pair.question.clone(),
        answer: pair.answer.clone(),
        url: url.to_owned(),
        score: pair.score,
        is_passage: pair.from == From::Passage,
        is_chosen: is_used && pair.from == From::Passage,
    }
}

/// Ranks the pairs of all pages in one language as one collection.
fn rank(mut inquiry: Inquiry, counts: &[&Counts], pairs: &mut [PagePair]) {
    let statistics = inquiry.statistics(counts.iter().copied());
    let mut ranking = inquiry.ranking();
    for pair in pairs.iter() {
        inquiry.add(&mut ranking, &pair.question, &pair.answer);
    }
    for (pair, relevance) in pairs.iter_mut().zip(ranking.relevances(&statistics)) {
        let own = if pair.is_passage {
            relevance * PASSAGE_FACTOR
        } else {
            relevance
        };
        let least = if pair.is_chosen {
            pair.score * PASSAGE_FACTOR
        } else {
            0.0
        };
        pair.score = rounded(own.max(least));
    }
}
