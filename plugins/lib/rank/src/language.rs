//! Language of a page, as needed for ranking: selects the stemmer and the stop words.

use rust_stemmers::Algorithm;

use super::stop_words::STOP_WORDS;
use super::words::each_word;
use trawl_sdk::{Document, Tag};

/// Bytes of text used to guess a language; stop words are frequent, so a short sample is enough.
const GUESS_BYTES: usize = 6_000;
/// Minimum number of stop words of a language for a guess.
const GUESS_HITS_MIN: usize = 4;

/// A language with a stemmer, or [`Other`](Language::Other) for one whose words are used unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Language {
    /// Any language without a stemmer here.
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
    /// Language of a tag as in `lang` attributes (BCP 47): `de`, `pt-BR`, `en_GB`.
    pub fn of_tag(tag: &str) -> Self {
        let primary = tag.trim().split(['-', '_']).next().unwrap_or_default();
        let primary = primary.to_ascii_lowercase();
        let found = TAGS.iter().find(|(known, _)| *known == primary);
        found.map_or(Self::Other, |&(_, language)| language)
    }

    /// Primary language subtag: `de`; `und` for [`Other`](Self::Other).
    pub fn tag(self) -> &'static str {
        let found = TAGS.iter().find(|(_, language)| *language == self);
        found.map_or("und", |(tag, _)| tag)
    }

    /// Guesses the language of a text from its stop words; `None` if they do not decide.
    pub fn guess(text: &str) -> Option<Self> {
        let mut hits = vec![0_usize; STOP_WORDS.len()];
        let mut end = text.len().min(GUESS_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        each_word(&text[..end], |word| {
            for (count, (_, stop_words)) in hits.iter_mut().zip(&*STOP_WORDS) {
                *count += usize::from(stop_words.binary_search(&word).is_ok());
            }
        });
        let best = (0..hits.len()).max_by_key(|&at| (hits[at], hits.len() - at))?;
        let others = hits.iter().enumerate().filter(|(at, _)| *at != best);
        let second = others.map(|(_, hits)| *hits).max().unwrap_or_default();
        // Related languages share words: the best must lead by 20 %.
        let is_clear = hits[best] >= GUESS_HITS_MIN && hits[best] * 5 > second * 6;
        is_clear.then(|| Self::of_tag(STOP_WORDS[best].0))
    }

    /// Language of a page with this text: guessed from the text, otherwise declared by the page,
    /// otherwise English, the most common language on the web.
    pub fn of_page(document: &Document<'_>, text: &str) -> Self {
        Self::guess(text).unwrap_or_else(|| Self::declared(document))
    }

    /// Language declared by the page in `lang` of `<html>`, in `og:locale` or in
    /// `content-language`; English if there is none.
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

    /// Stop words of the language, sorted.
    pub fn stop_words(self) -> &'static [&'static str] {
        let mut languages = STOP_WORDS.iter();
        let found = languages.find(|(tag, _)| *tag == self.tag());
        found.map_or(&[], |(_, words)| words.as_slice())
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
