//! The language of a page, as far as ranking needs it: which stems, which words that say nothing.

use rust_stemmers::Algorithm;

use super::stops;
use super::words::each_word;
use crate::{Document, Tag};

/// Bytes of text from which a language is guessed: words that say nothing are frequent, so the beginning is enough.
const GUESS_BYTES: usize = 6_000;
/// Fewest words of a language that have to stand in a text for a guess.
const GUESS_HITS_MIN: usize = 4;

/// A language whose words can be reduced to stems, or [`Other`](Language::Other) for one whose words count as they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Language {
    /// Any language without stems here.
    #[default]
    Other,
    /// Danish.
    Danish,
    /// German.
    German,
    /// English.
    English,
    /// Spanish.
    Spanish,
    /// Finnish.
    Finnish,
    /// French.
    French,
    /// Hungarian.
    Hungarian,
    /// Italian.
    Italian,
    /// Dutch.
    Dutch,
    /// Norwegian.
    Norwegian,
    /// Portuguese.
    Portuguese,
    /// Romanian.
    Romanian,
    /// Russian.
    Russian,
    /// Swedish.
    Swedish,
    /// Turkish.
    Turkish,
}

const TAGS: [(&str, Language); 17] = [
    ("da", Language::Danish),
    ("de", Language::German),
    ("en", Language::English),
    ("es", Language::Spanish),
    ("fi", Language::Finnish),
    ("fr", Language::French),
    ("hu", Language::Hungarian),
    ("it", Language::Italian),
    ("nb", Language::Norwegian),
    ("nl", Language::Dutch),
    ("nn", Language::Norwegian),
    ("no", Language::Norwegian),
    ("pt", Language::Portuguese),
    ("ro", Language::Romanian),
    ("ru", Language::Russian),
    ("sv", Language::Swedish),
    ("tr", Language::Turkish),
];

impl Language {
    /// The language of a tag as in `lang` attributes (BCP 47): `de`, `pt-BR`, `en_GB`.
    pub fn of_tag(tag: &str) -> Self {
        let primary = tag.trim().split(['-', '_']).next().unwrap_or_default();
        let primary = primary.to_ascii_lowercase();
        let found = TAGS.iter().find(|(known, _)| *known == primary);
        found.map_or(Self::Other, |&(_, language)| language)
    }

    /// The language's primary tag: `de`; `und` for [`Other`](Self::Other).
    pub fn tag(self) -> &'static str {
        let found = TAGS.iter().find(|(_, language)| *language == self);
        found.map_or("und", |(tag, _)| tag)
    }

    /// The language that a text is written in, told by its commonest words; `None` when they do not tell.
    pub fn guess(text: &str) -> Option<Self> {
        let mut hits = [0_usize; stops::STOPS.len()];
        let mut end = text.len().min(GUESS_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        each_word(&text[..end], |word| {
            for (count, (_, stops)) in hits.iter_mut().zip(stops::STOPS) {
                *count += usize::from(stops.binary_search(&word).is_ok());
            }
        });
        let best = (0..hits.len()).max_by_key(|&at| (hits[at], hits.len() - at))?;
        let others = hits.iter().enumerate().filter(|(at, _)| *at != best);
        let second = others.map(|(_, hits)| *hits).max().unwrap_or_default();
        // Kin languages share words: the best has to lead by a fifth.
        let is_clear = hits[best] >= GUESS_HITS_MIN && hits[best] * 5 > second * 6;
        is_clear.then_some(stops::STOPS[best].0)
    }

    /// The language of a page whose text this is: what the text tells, else what the page says of itself, else English, which
    /// most of the web is written in.
    pub fn of_page(document: &Document<'_>, text: &str) -> Self {
        Self::guess(text).unwrap_or_else(|| Self::declared(document))
    }

    /// What the page says of its language: `lang` of `<html>`, or `og:locale`; English when it says nothing.
    fn declared(document: &Document<'_>) -> Self {
        let lang = document.html().and_then(|html| html.attr("lang"));
        if let Some(lang) = lang.filter(|lang| !lang.trim().is_empty()) {
            return Self::of_tag(lang);
        }
        let metas = document
            .head()
            .into_iter()
            .flat_map(|head| head.child_elements())
            .filter(|element| element.tag() == Tag::Meta);
        let mut metas = metas.filter(|meta| {
            meta.attr("property") == Some("og:locale")
                || meta
                    .attr("http-equiv")
                    .is_some_and(|name| name.eq_ignore_ascii_case("content-language"))
        });
        metas
            .find_map(|meta| meta.attr("content"))
            .map_or(Self::English, Self::of_tag)
    }

    /// Words of the language that say nothing about what a text is about, sorted.
    pub fn stop_words(self) -> &'static [&'static str] {
        let found = stops::STOPS.iter().find(|(language, _)| *language == self);
        found.map_or(&[], |(_, words)| words)
    }

    pub(super) fn algorithm(self) -> Option<Algorithm> {
        Some(match self {
            Self::Other => return None,
            Self::Danish => Algorithm::Danish,
            Self::German => Algorithm::German,
            Self::English => Algorithm::English,
            Self::Spanish => Algorithm::Spanish,
            Self::Finnish => Algorithm::Finnish,
            Self::French => Algorithm::French,
            Self::Hungarian => Algorithm::Hungarian,
            Self::Italian => Algorithm::Italian,
            Self::Dutch => Algorithm::Dutch,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Romanian => Algorithm::Romanian,
            Self::Russian => Algorithm::Russian,
            Self::Swedish => Algorithm::Swedish,
            Self::Turkish => Algorithm::Turkish,
        })
    }
}
