//! Custom labels defined by the caller.

use std::collections::{HashMap, HashSet};

use analyst_base::{lists, rounded};
use trawl_rank::{Vocabulary, each_word, fold};

use crate::choose::{Assignment, Support, confidences, quote, reason, saturation};
use crate::evidence::{Evidence, Hits};
use crate::taxonomy::{Kind, labels, labels_of, phrases_of, terms_of};

/// Maximum number of labels per task.
pub(crate) const LABELS_MAX: usize = 200;
/// Maximum label length in characters.
pub(crate) const LABEL_CHARS_MAX: usize = 100;
/// Maximum number of words in a label taken from a prompt; anything longer is a sentence.
const LABEL_WORDS_MAX: usize = 5;
/// Weight of a label's own words, on the scale of the taxonomy's strong terms.
const OWN_WEIGHT: f32 = 3.0;
/// Strength of own words at which the confidence reaches 63 %.
const OWN_SCALE: f32 = 2.2;
/// Confidence factor when a taxonomy label with the same meaning is assigned.
const SYNONYM_FACTOR: f32 = 0.95;
/// Confidence from the page's own type.
const TYPE_CONFIDENCE: f32 = 0.9;
/// Minimum similarity between a custom label and a taxonomy label.
const SIMILARITY_MIN: f32 = 0.3;
/// Minimum confidence of a returned label.
const CONFIDENCE_MIN: f32 = 0.1;

/// Page types that callers ask for: words of the label, schema.org types, parts of the path.
const PAGE_KINDS: &str = "\
blog weblog|BlogPosting Blog|/blog /weblog
article artikel articulo articolo artigo|Article NewsArticle BlogPosting article|/article /artikel
news nachrichten actualites noticias notizie nieuws|NewsArticle ReportageNewsArticle|/news /nachrichten /noticias /actualites
product produkt produit producto prodotto shop store ecommerce|Product ProductGroup product og:product|/product /produkt /produit /producto /shop/ /store/
recipe rezept recette receta ricetta|Recipe|/recipe /rezept /recette /receta /ricett
event veranstaltung evenement evento|Event MusicEvent BusinessEvent|/event /veranstaltung
video|VideoObject video.other video.movie|/video /watch
forum discussion|DiscussionForumPosting QAPage|/forum /thread /topic/
documentation docs dokumentation|TechArticle APIReference|/docs /documentation /manual /reference
contact kontakt contacto contatti|ContactPage|/contact /kontakt
faq|FAQPage|/faq";

/// The labels of a task: its list, or else those listed in the prompt.
pub(crate) fn named(list: &[String], prompt: Option<&str>) -> Vec<String> {
    let all = match (list, prompt) {
        ([], Some(prompt)) => named_in(prompt),
        _ => list.to_vec(),
    };
    let mut seen = HashSet::new();
    let all = all
        .iter()
        .map(|label| label.trim().chars().take(LABEL_CHARS_MAX).collect());
    all.filter(|label: &String| {
        label.chars().any(char::is_alphanumeric) && seen.insert(label.to_lowercase())
    })
    .take(LABELS_MAX)
    .collect()
}

/// Labels listed in a prompt, separated by commas, semicolons or lines, after a colon if there is
/// one. Empty if the prompt is a sentence.
fn named_in(prompt: &str) -> Vec<String> {
    let list = prompt.rsplit_once(':').map_or(prompt, |(_, list)| list);
    let list = list.trim().trim_end_matches(['.', '?', '!']);
    let ors = [" or ", " oder ", " ou "].iter();
    let list = ors.fold(list.to_owned(), |list, word| list.replace(word, ", "));
    let parts = list.split([',', ';', '\n', '|']).map(|part| {
        let part = part.trim().trim_start_matches(['-', '*', '•', '"']);
        let part = part.trim_end_matches('"').trim();
        let mut ands = ["and ", "und ", "et ", "y ", "o "].iter();
        let bare = ands.find_map(|word| part.strip_prefix(word));
        bare.unwrap_or(part).trim().to_owned()
    });
    let labels: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    let mut n_words = labels.iter().map(|label| label.split_whitespace().count());
    let is_list = labels.len() >= 2 && n_words.all(|n_words| n_words <= LABEL_WORDS_MAX);
    if is_list { labels } else { Vec::new() }
}

/// The custom labels of a page, most confident first.
pub(crate) fn assign(
    evidence: &Evidence,
    supports: &[Support],
    labels: &[String],
) -> Vec<Assignment> {
    let mut stems = Stems::of(evidence);
    let mut sure = confidences(supports, Kind::Topic);
    sure.extend(confidences(supports, Kind::Industry));
    let mut assigned: Vec<Assignment> = labels
        .iter()
        .filter_map(|label| stems.assign(evidence, supports, &sure, label))
        .collect();
    assigned.sort_by(|one, other| other.confidence.total_cmp(&one.confidence));
    assigned
}

/// The words of a page by stem.
struct Stems {
    words: Vocabulary,
    hits: HashMap<u32, Hits>,
}

impl Stems {
    fn of(evidence: &Evidence) -> Self {
        let mut words = Vocabulary::new(evidence.language);
        let mut hits: HashMap<u32, Hits> = HashMap::new();
        for own in evidence.words() {
            for term in words.terms(&own.shown) {
                let sum = hits.entry(term).or_insert_with(|| Hits {
                    weighted: 0.0,
                    count: 0,
                    ..own.clone()
                });
                sum.weighted += own.weighted;
                sum.count += own.count;
                if own.place > sum.place {
                    (sum.place, sum.shown) = (own.place, own.shown.clone());
                }
            }
        }
        Self { words, hits }
    }

    fn assign(
        &mut self,
        evidence: &Evidence,
        supports: &[Support],
        sure: &[(usize, f32)],
        label: &str,
    ) -> Option<Assignment> {
        let terms = self.words.query(label);
        let hits: Vec<&Hits> = terms
            .iter()
            .filter_map(|term| self.hits.get(term))
            .collect();
        let coverage = hits.len() as f32 / terms.len().max(1) as f32;
        let strength: f32 = hits
            .iter()
            .map(|hits| OWN_WEIGHT * saturation(hits, evidence.n_words))
            .sum();
        let own = coverage * coverage * (1.0 - (-strength / OWN_SCALE).exp());
        let synonym = synonym(label, sure);
        let matching_type = matching_type(evidence, label);
        let mut reasons = Vec::new();
        let mut doubt = 1.0;
        if let Some(kind) = matching_type {
            doubt *= 1.0 - TYPE_CONFIDENCE;
            reasons.push(format!("the page's type or URL is “{kind}”"));
        }
        if own > 0.0 {
            doubt *= 1.0 - own;
            reasons.push(quote(&hits));
        }
        if let Some((at, confidence)) = synonym.filter(|(_, confidence)| *confidence > 0.0) {
            doubt *= 1.0 - confidence;
            reasons.push(format!(
                "{} ({})",
                reason(evidence, &supports[at]),
                labels()[at].name
            ));
        }
        let confidence = rounded(1.0 - doubt);
        (confidence >= CONFIDENCE_MIN).then(|| Assignment {
            label: label.to_owned(),
            confidence,
            reason: reasons.join("; "),
        })
    }
}

/// The taxonomy label with the same meaning as a custom label, and the confidence it lends.
fn synonym(label: &str, sure: &[(usize, f32)]) -> Option<(usize, f32)> {
    let mut words = Vec::new();
    each_word(label, |word| words.push(fold(word)));
    words.retain(|word| {
        word.len() > 1
            && !["and", "und", "et", "the", "of", "page", "pages", "site"].contains(&word.as_str())
    });
    let mut similarity: HashMap<usize, f32> = HashMap::new();
    for (at, word) in words.iter().enumerate() {
        let mut by_label: HashMap<usize, f32> = HashMap::new();
        let phrases = phrases_of(word).iter().filter(|(rest, _)| {
            words[at + 1..]
                .join(" ")
                .starts_with(rest.trim_end_matches('*'))
        });
        let terms = terms_of(word).chain(phrases.map(|(_, term)| *term));
        for (label, weight) in terms.flat_map(labels_of) {
            let own = by_label.entry(label).or_default();
            *own = own.max((weight / OWN_WEIGHT).min(1.0));
        }
        for (at, label) in labels().iter().enumerate() {
            let is_named = label
                .name
                .split([' ', '&', ',', '-'])
                .any(|own| own.eq_ignore_ascii_case(word));
            if is_named {
                by_label.insert(at, 1.0);
            }
        }
        for (label, weight) in by_label {
            *similarity.entry(label).or_default() += weight / words.len() as f32;
        }
    }
    let passed = sure.iter().filter_map(|(at, confidence)| {
        let similarity = similarity
            .get(at)
            .copied()
            .filter(|similarity| *similarity >= SIMILARITY_MIN)?;
        Some((*at, confidence * similarity.min(1.0) * SYNONYM_FACTOR))
    });
    passed.max_by(|one, other| one.1.total_cmp(&other.1))
}

/// The schema.org type or part of the path that matches the page type named by a label.
fn matching_type(evidence: &Evidence, label: &str) -> Option<String> {
    let mut words = Vec::new();
    each_word(label, |word| words.push(fold(word)));
    let is_named = |names: &str| {
        words.iter().any(|word| {
            let singular = word.strip_suffix(['s', 'e', 'n']);
            lists(names, word) || singular.is_some_and(|word| lists(names, word))
        })
    };
    let mut kinds = PAGE_KINDS.lines().filter_map(|row| {
        let (names, rest) = row.split_once('|')?;
        rest.split_once('|').filter(|_| is_named(names))
    });
    let (types, paths) = kinds.next()?;
    let kind = evidence.types.iter().find(|own| lists(types, own));
    let path = || paths.split(' ').find(|path| evidence.path.contains(path));
    kind.cloned().or_else(|| path().map(str::to_owned))
}
