//! Parses a prompt: query words, content types, file types, and exclusions.

use analyst_base::lists;
use trawl_rank::{each_word, fold};

use crate::names::{ContentType, type_word};
use crate::vocabulary::{FileKind, NEGATION_ENDS, NEGATIONS, file_kind, is_filler};

/// Words after the name of a page type that confirm it.
const PAGES: &str = "page pages link links seite seiten paginas post posts";
/// Names of page types that need no other word.
const PLURALS: &str = "articles posts products produkte produits productos prodotti articulos \
    articoli tutorials guides docs documentation videos downloads manuals stories";

/// The constraints of a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Criteria {
    /// Query words.
    pub(crate) query: String,
    /// Accepted types; empty accepts any type.
    pub(crate) types: Vec<ContentType>,
    /// Excluded types.
    pub(crate) not_types: Vec<ContentType>,
    /// Accepted and excluded file types.
    pub(crate) files: Vec<&'static FileKind>,
    pub(crate) not_files: Vec<&'static FileKind>,
    /// Excluded words.
    pub(crate) not_words: Vec<String>,
    /// `true` for internal links only, `false` for external links only.
    pub(crate) is_internal: Option<bool>,
}

impl Criteria {
    /// Parses a prompt. Clauses end at commas and full stops; a negation applies to the rest of its
    /// clause.
    pub(crate) fn of(prompt: &str) -> Self {
        let mut criteria = Self::default();
        for clause in prompt.split([',', ';', '.', '\n', '(', ')', ':']) {
            criteria.read(clause);
        }
        criteria.query = criteria.query.trim().to_owned();
        criteria
    }

    fn read(&mut self, clause: &str) {
        let mut shown = Vec::new();
        each_word(clause, |word| shown.push(word.to_owned()));
        let words: Vec<String> = shown.iter().map(|word| fold(word)).collect();
        let mut is_negated = false;
        let mut at = 0;
        while at < words.len() {
            let word = words[at].as_str();
            let next = words.get(at + 1).map(String::as_str);
            if lists(NEGATIONS, word) {
                is_negated = true;
            } else if lists(NEGATION_ENDS, word) {
                is_negated = false;
            } else if matches!(word, "internal" | "interne" | "internos")
                || matches!(word, "external" | "externe" | "externos" | "outbound")
            {
                let is_internal = matches!(word, "internal" | "interne" | "internos");
                self.is_internal = Some(is_internal != is_negated);
            } else if word == "about"
                && (matches!(next, Some("us" | "page" | "pages")) || words.len() == 1)
            {
                self.add_type(ContentType::About, is_negated);
                at += usize::from(next == Some("us"));
            } else if matches!((word, next), ("sign" | "log", Some("in" | "up"))) {
                self.add_type(ContentType::Login, is_negated);
                at += 1;
            } else if let Some(kind) = file_kind(word) {
                let kinds = if is_negated {
                    &mut self.not_files
                } else {
                    &mut self.files
                };
                kinds.push(kind);
            } else if let Some(own) = type_word(word).filter(|_| is_named(&words, at, is_negated)) {
                self.add_type(own, is_negated);
            } else if !is_filler(word) {
                if is_negated {
                    self.not_words.push(shown[at].clone());
                } else {
                    self.query.push(' ');
                    self.query.push_str(&shown[at]);
                }
            }
            at += 1;
        }
    }

    fn add_type(&mut self, own: ContentType, is_negated: bool) {
        let types = if is_negated {
            &mut self.not_types
        } else {
            &mut self.types
        };
        if !types.contains(&own) {
            types.push(own);
        }
    }

    /// Whether the prompt has no constraint at all.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether the word at `at` names a page type instead of being part of the query: `product pages`,
/// but not `product safety`.
fn is_named(words: &[String], at: usize, is_negated: bool) -> bool {
    let next = words.get(at + 1).map(String::as_str);
    let is_closed = next.is_none_or(|next| {
        is_filler(next)
            || lists(NEGATION_ENDS, next)
            || lists(NEGATIONS, next)
            || type_word(next).is_some()
    });
    let previous = at.checked_sub(1).map(|before| words[before].as_str());
    // A preceding word makes it part of a compound: `annual press`, `climate news`.
    let is_compound = previous.is_some_and(|previous| {
        !is_filler(previous) && !lists(NEGATIONS, previous) && type_word(previous).is_none()
    });
    let is_said_page = next.is_some_and(|next| lists(PAGES, next));
    is_negated || (is_closed && (!is_compound || is_said_page || lists(PLURALS, &words[at])))
}
