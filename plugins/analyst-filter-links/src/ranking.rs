//! Scores links, decides relevance and gives reasons.

use serde::{Deserialize, Serialize, Serializer};
use trawl_sdk::Document;
use trawl_sdk::rank::{Bm25, Language, Region, Vocabulary, each_word};

use crate::Request;
use crate::content_type::{Classification, ContentType, is_social};
use crate::link::{Link, links};
use crate::url::UrlParts;

/// BM25 field weights: anchor text, label, URL, heading above, surrounding text.
const WEIGHTS: [f32; 5] = [3.0, 2.0, 2.0, 0.8, 0.6];
/// Field names in reasons.
const FIELDS: [&str; 5] = [
    "its text",
    "its label",
    "its URL",
    "the heading above",
    "the surrounding text",
];
/// Minimum score with a query, absolute and relative to the best link.
const QUERY_MIN: f32 = 0.22;
const QUERY_SHARE_MIN: f32 = 0.45;
/// Minimum score without a query.
const PRIOR_MIN: f32 = 0.4;
/// Minimum certainty of a requested type.
const TYPE_MIN: f32 = 0.45;
/// Score factor of a link that violates a constraint.
const EXCLUDED_FACTOR: f32 = 0.2;

/// A scored link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RankedLink {
    pub(crate) url: String,
    pub(crate) text: String,
    /// Relevance score, 0 to 1.
    #[serde(serialize_with = "digits")]
    pub(crate) score: f32,
    pub(crate) content_type: String,
    pub(crate) relevant: bool,
    pub(crate) reason: String,
    /// Heading above the link, for the model's prompt.
    #[serde(skip)]
    pub(crate) heading: String,
    /// Whether a constraint excludes it, regardless of the model.
    #[serde(skip)]
    pub(crate) is_excluded: bool,
}

/// Scores the links of a page, best first; ties keep page order.
pub(crate) fn rank(document: &Document<'_>, request: &Request) -> Vec<RankedLink> {
    let own = UrlParts::of(document.url());
    let found: Vec<Candidate> = links(document)
        .into_iter()
        .map(|link| {
            let url = UrlParts::of(&link.url);
            let classification = Classification::of(&link, &url);
            Candidate {
                link,
                url,
                classification,
            }
        })
        .collect();
    let matches = matched(document, &found, &request.criteria.query);
    let has_query = !request.criteria.query.is_empty();
    let links = found.into_iter().enumerate();
    let mut ranked: Vec<RankedLink> = links
        .map(|(at, candidate)| {
            let matched = matches.as_ref().map(|matches| &matches[at]);
            candidate.ranked(matched, request, &own)
        })
        .collect();
    let best = ranked
        .iter()
        .filter(|link| link.relevant)
        .map(|link| link.score)
        .fold(0.0, f32::max);
    let least = request.threshold.unwrap_or(if has_query {
        QUERY_MIN.max(best * QUERY_SHARE_MIN)
    } else {
        PRIOR_MIN
    });
    for link in &mut ranked {
        link.relevant &= link.score >= least && link.score > 0.0;
    }
    ranked.sort_by(|one, other| {
        other
            .relevant
            .cmp(&one.relevant)
            .then(other.score.total_cmp(&one.score))
    });
    ranked
}

struct Candidate {
    link: Link,
    url: UrlParts,
    classification: Classification,
}

impl Candidate {
    /// Scores a link, given its query score and matching words if there is a query. `own` is the
    /// page it is on.
    fn ranked(
        self,
        matched: Option<&(f32, String)>,
        request: &Request,
        own: &UrlParts,
    ) -> RankedLink {
        let region = self.link.region;
        let (mut score, mut reasons) = match matched {
            Some((score, words)) => (score * place_factor(region, true), vec![words.clone()]),
            None => (
                prior(&self, request) * place_factor(region, false),
                Vec::new(),
            ),
        };
        let violation = violation(&self, request, own)
            .or_else(|| (self.url == *own).then(|| "it links to this page".to_owned()));
        let content_type = self.classification.content_type.name();
        let reason = self.classification.reason;
        reasons.push(match self.classification.content_type {
            ContentType::Other => reason,
            _ => format!("classified as {content_type}: {reason}"),
        });
        if region != Region::Main {
            reasons.push(format!("it is in the {}", region.name()));
        }
        let is_excluded = violation.is_some();
        if let Some(violation) = violation {
            score *= EXCLUDED_FACTOR;
            reasons.insert(0, violation);
        }
        RankedLink {
            score: rounded(score),
            content_type: content_type.to_owned(),
            relevant: !is_excluded,
            reason: reasons.join("; "),
            url: self.link.url,
            text: self.link.text,
            heading: self.link.heading,
            is_excluded,
        }
    }
}

/// Query score of each link and the matching words by field; `None` without a query.
fn matched(
    document: &Document<'_>,
    found: &[Candidate],
    query: &str,
) -> Option<Vec<(f32, String)>> {
    if query.is_empty() {
        return None;
    }
    let sample: Vec<&str> = found
        .iter()
        .flat_map(|candidate| {
            [
                candidate.link.text.as_str(),
                candidate.link.context.as_str(),
            ]
        })
        .collect();
    let mut words = Vocabulary::new(Language::of_page(document, &sample.join("\n")));
    let terms = words.query(query);
    let mut shown = vec![String::new(); terms.len()];
    each_word(query, |word| {
        let own = words
            .terms(word)
            .into_iter()
            .find_map(|term| terms.iter().position(|own| *own == term));
        if let Some(place) = own.filter(|place| shown[*place].is_empty()) {
            shown[place] = word.to_owned();
        }
    });
    let mut index = Bm25::new(&terms, WEIGHTS);
    for Candidate { link, url, .. } in found {
        let texts = [
            &link.text,
            &link.label,
            &url.words(),
            &link.heading,
            &link.context,
        ];
        let fields = texts.map(|text| words.terms(text));
        index.add([&fields[0], &fields[1], &fields[2], &fields[3], &fields[4]]);
    }
    let scores = index.scores().into_iter().enumerate();
    let matches = scores.map(|(at, score)| {
        let value = (score.value * score.coverage).sqrt();
        (value, quote(&index, &shown, at))
    });
    Some(matches.collect())
}

/// The matching query words of a link, by field.
fn quote(index: &Bm25<5>, words: &[String], link: usize) -> String {
    let mut parts = Vec::new();
    for (field, name) in FIELDS.iter().enumerate() {
        let here = index
            .matched(link)
            .filter(|place| index.count(link, *place, field) > 0);
        let shown: Vec<String> = here.map(|place| format!("“{}”", words[place])).collect();
        if !shown.is_empty() {
            parts.push(format!("{} in {name}", shown.join(", ")));
        }
    }
    if parts.is_empty() {
        "it has no word of the query".to_owned()
    } else {
        parts.join(", ")
    }
}

/// Score of a link without a query.
fn prior(candidate: &Candidate, request: &Request) -> f32 {
    let classification = &candidate.classification;
    if request.types().next().is_some() || !request.criteria.files.is_empty() {
        return classification.certainty;
    }
    let worth = match classification.content_type {
        ContentType::Article | ContentType::Product | ContentType::Documentation => 0.9,
        ContentType::Listing => 0.6,
        ContentType::Download | ContentType::Media => 0.55,
        ContentType::About | ContentType::Contact => 0.5,
        ContentType::Other if is_social(&candidate.url) => 0.1,
        ContentType::Other if candidate.url.segments.is_empty() => 0.3,
        ContentType::Other => 0.6,
        ContentType::Legal | ContentType::Login => 0.1,
    };
    // Page numbers and anchors without words lead to more of the same.
    if candidate
        .link
        .text
        .chars()
        .filter(|c| c.is_alphabetic())
        .count()
        < 3
    {
        worth * 0.6
    } else {
        worth
    }
}

/// Score factor by page region. It is weaker with a query.
fn place_factor(region: Region, has_query: bool) -> f32 {
    match (region, has_query) {
        (Region::Main, _) => 1.0,
        (Region::Aside, _) => 0.9,
        (_, true) => 0.85,
        (Region::Header, false) => 0.7,
        (Region::Nav, false) => 0.6,
        (Region::Footer | Region::Notice, false) => 0.5,
        (_, false) => 0.8,
    }
}

/// Why a link violates a constraint.
fn violation(candidate: &Candidate, request: &Request, own: &UrlParts) -> Option<String> {
    let (criteria, classification) = (&request.criteria, &candidate.classification);
    let extension = candidate.url.extension.as_str();
    let is_file = |kinds: &[&crate::vocabulary::FileKind]| {
        kinds
            .iter()
            .any(|kind| kind.extensions.contains(&extension))
    };
    let is_wanted_file = is_file(&criteria.files);
    if !criteria.files.is_empty() && !is_wanted_file {
        return Some("it is not a file of the requested type".to_owned());
    }
    if is_file(&criteria.not_files) {
        return Some(format!(".{extension} files are excluded"));
    }
    if criteria.not_types.contains(&classification.content_type)
        && classification.certainty >= TYPE_MIN
    {
        return Some(format!(
            "{} is excluded",
            classification.content_type.name()
        ));
    }
    let mut types = request.types().peekable();
    let is_wanted = types.peek().is_none()
        || is_wanted_file
        || types
            .any(|own| own == classification.content_type && classification.certainty >= TYPE_MIN);
    if !is_wanted {
        return Some("it is not of the requested type".to_owned());
    }
    if let Some(is_internal) = criteria.is_internal
        && is_internal != (site(&candidate.url.host) == site(&own.host))
    {
        return Some(format!(
            "it leads {} the site",
            if is_internal { "out of" } else { "to pages of" }
        ));
    }
    let texts = [
        &candidate.link.text,
        &candidate.link.label,
        &candidate.url.words(),
    ];
    let has = |word: &&String| texts.iter().any(|text| has_word(text, word));
    criteria
        .not_words
        .iter()
        .find(has)
        .map(|word| format!("“{word}” is excluded"))
}

/// Host without `www.`.
fn site(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}

/// Whether the text contains the word or a common inflection of it.
fn has_word(text: &str, word: &str) -> bool {
    let stem = word
        .strip_suffix('s')
        .filter(|stem| stem.len() > 3)
        .unwrap_or(word);
    let mut found = false;
    trawl_sdk::rank::each_word(text, |own| {
        let rest = own.strip_prefix(stem);
        found |= rest.is_some_and(|rest| rest.len() <= 2);
    });
    found
}

/// Serializes a score with three decimal places, without `f32` noise.
pub(crate) fn digits<S: Serializer>(score: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((f64::from(*score) * 1000.0).round() / 1000.0)
}

/// Rounds a score to three decimal places.
pub(crate) fn rounded(score: f32) -> f32 {
    (score.clamp(0.0, 1.0) * 1000.0).round() / 1000.0
}
