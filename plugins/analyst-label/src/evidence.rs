//! What a page has that labels are told by: its words with the places where they stand, and what it says of itself.

use std::collections::HashMap;

use trawl_sdk::embedded;
use trawl_sdk::rank::{Block, BlockKind, Language, Region, blocks, each_word, fold};
use trawl_sdk::{Document, Tag};

use crate::taxonomy::{TermId, phrases_of, terms_of};

/// Words of a page that are read; a longer page is about what it begins with.
const WORDS_MAX: usize = 40_000;

/// Where a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Navigation, foot, what stands beside the content.
    Beside,
    /// The content.
    Text,
    /// The address.
    Address,
    /// A heading below the first.
    Heading,
    /// The description or the keywords for machines.
    Description,
    /// The title or the first heading.
    Title,
    /// A section, breadcrumb or category that the page is filed under.
    Section,
}

impl Place {
    /// What a word at this place counts of one in the text.
    pub(crate) const fn weight(self) -> f32 {
        match self {
            Self::Beside => 0.25,
            Self::Text => 1.0,
            Self::Address | Self::Heading => 2.0,
            Self::Description => 3.0,
            Self::Title => 4.0,
            Self::Section => 5.0,
        }
    }

    /// Its name in reasons.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Beside => "the navigation",
            Self::Text => "the text",
            Self::Address => "the address",
            Self::Heading => "a heading",
            Self::Description => "the description",
            Self::Title => "the title",
            Self::Section => "the section",
        }
    }
}

/// How a word or a term stands in a page.
#[derive(Clone, Debug)]
pub(crate) struct Hits {
    /// As the page writes it the first time at its best place, lower case.
    pub(crate) shown: String,
    /// How often, weighted by place.
    pub(crate) weighted: f32,
    /// How often.
    pub(crate) count: u32,
    /// Its best place.
    pub(crate) place: Place,
}

/// What was read of a page.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// Its language.
    pub(crate) language: Language,
    /// The taxonomy's terms in it.
    pub(crate) terms: HashMap<TermId, Hits>,
    /// Its words, as written in lower case.
    pub(crate) words: HashMap<Box<str>, Hits>,
    /// Number of words in its content.
    pub(crate) n_words: usize,
    /// Types of schema.org and of Open Graph that it gives itself.
    pub(crate) types: Vec<String>,
    /// Its address, path and query in lower case.
    pub(crate) path: String,
    /// Beginning of its text, for a model.
    pub(crate) text: String,
    known: HashMap<Box<str>, Known>,
    n_read: usize,
}

/// What the taxonomy knows of a word.
#[derive(Clone, Debug, Default)]
struct Known {
    terms: Vec<TermId>,
    begins_phrase: bool,
    folded: Box<str>,
}

impl Evidence {
    /// Reads a page.
    pub(crate) fn of(document: &Document<'_>) -> Self {
        let blocks = blocks(document.root());
        let mut evidence = Self::default();
        for block in blocks.iter().filter(|block| {
            block.region == Region::Main || matches!(block.kind, BlockKind::Heading(_))
        }) {
            evidence.text.push_str(&block.text);
            evidence.text.push('\n');
        }
        evidence.language = Language::of_page(document, &evidence.text);
        evidence.read_head(document);
        evidence.read_address(document);
        let mut has_first = false;
        for block in &blocks {
            let place = place(block, &mut has_first);
            if block.region != Region::Notice {
                evidence.read(&block.text, place);
            }
        }
        evidence
    }

    fn read_head(&mut self, document: &Document<'_>) {
        self.read(&document.title().unwrap_or_default(), Place::Title);
        let metas = document
            .elements()
            .filter(|element| element.tag() == Tag::Meta);
        for meta in metas {
            let name = meta
                .attr("name")
                .or_else(|| meta.attr("property"))
                .unwrap_or_default();
            let content = meta.attr("content").unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "description" | "keywords" | "news_keywords" => {
                    self.read(content, Place::Description)
                }
                "article:section" | "article:tag" | "category" | "parsely-section" => {
                    self.read(content, Place::Section)
                }
                "og:type" => self.types.push(content.trim().to_ascii_lowercase()),
                _ => {}
            }
        }
        let values = embedded::json_ld(document);
        for item in embedded::items(&values) {
            self.types.extend(embedded::types(item).map(str::to_owned));
            for key in [
                "articleSection",
                "keywords",
                "genre",
                "category",
                "recipeCategory",
                "servesCuisine",
            ] {
                if let Some(text) = item.get(key).and_then(embedded::string) {
                    self.read(text, Place::Section);
                }
            }
            if embedded::has_type(item, &["ListItem"]) {
                let inner = item.get("item").and_then(|inner| inner.get("name"));
                if let Some(text) = item.get("name").or(inner).and_then(embedded::string) {
                    self.read(text, Place::Section);
                }
            }
        }
        for element in document.elements() {
            if let Some(types) = element.attr("itemtype") {
                let names = types
                    .split_ascii_whitespace()
                    .filter_map(|own| own.rsplit('/').next());
                self.types.extend(names.map(str::to_owned));
            }
        }
    }

    fn read_address(&mut self, document: &Document<'_>) {
        let address = document.url();
        let behind = address
            .split_once("://")
            .map_or(address, |(_, behind)| behind);
        let (host, path) = behind.split_once('/').unwrap_or((behind, ""));
        self.path = format!("/{path}").to_lowercase();
        let path = path.split(['?', '#']).next().unwrap_or_default().to_owned();
        self.read(
            &path.replace(['/', '-', '_', '.', '+'], " "),
            Place::Address,
        );
        // Whatever stands before the public suffix names the site.
        let names: Vec<&str> = host.split('.').collect();
        let name = names.iter().rev().nth(1).copied().unwrap_or_default();
        self.read(&name.replace('-', " "), Place::Text);
    }

    /// Reads a text that stands at a place.
    fn read(&mut self, text: &str, place: Place) {
        if self.n_read >= WORDS_MAX {
            return;
        }
        let mut run: Vec<Box<str>> = Vec::new();
        each_word(text, |word| run.push(word.into()));
        self.n_read += run.len();
        if place >= Place::Text && place != Place::Address {
            self.n_words += run.len();
        }
        for (at, word) in run.iter().enumerate() {
            count(&mut self.words, word.clone(), || word.to_string(), place);
            let known = self
                .known
                .entry(word.clone())
                .or_insert_with(|| Known::of(word));
            for term in &known.terms {
                count(&mut self.terms, *term, || word.to_string(), place);
            }
            if known.begins_phrase {
                let folded = known.folded.clone();
                for (term, len) in phrases_at(&folded, &run[at + 1..]) {
                    count(
                        &mut self.terms,
                        term,
                        || run[at..=at + len].join(" "),
                        place,
                    );
                }
            }
        }
    }
}

impl Known {
    fn of(word: &str) -> Self {
        let folded = fold(word);
        Self {
            terms: terms_of(&folded).collect(),
            begins_phrase: !phrases_of(&folded).is_empty(),
            folded: folded.into(),
        }
    }
}

fn place(block: &Block<'_>, has_first: &mut bool) -> Place {
    match (block.region, block.kind) {
        (Region::Main, BlockKind::Heading(1)) | (Region::Header, BlockKind::Heading(1))
            if !*has_first =>
        {
            *has_first = true;
            Place::Title
        }
        (Region::Main, BlockKind::Heading(_)) => Place::Heading,
        (Region::Main, _) => Place::Text,
        (Region::Nav, _) if is_breadcrumb(block) => Place::Section,
        _ => Place::Beside,
    }
}

fn is_breadcrumb(block: &Block<'_>) -> bool {
    let elements = std::iter::once(block.element).chain(block.element.ancestors());
    elements.take(5).any(|element| {
        let names = [
            element.attr("class"),
            element.attr("id"),
            element.attr("aria-label"),
        ];
        names
            .into_iter()
            .flatten()
            .any(|name| name.to_ascii_lowercase().contains("breadcrumb"))
    })
}

/// The phrases that a word begins, with the number of words behind it that they take.
fn phrases_at(first: &str, behind: &[Box<str>]) -> Vec<(TermId, usize)> {
    let mut found = Vec::new();
    for (_, rest, term) in phrases_of(first) {
        let wanted: Vec<&str> = rest.split(' ').collect();
        let is_there = behind.len() >= wanted.len()
            && wanted.iter().zip(behind).all(|(wanted, word)| {
                let word = fold(word);
                wanted
                    .strip_suffix('*')
                    .map_or(*wanted == word, |stem| word.starts_with(stem))
            });
        if is_there {
            found.push((*term, wanted.len()));
        }
    }
    found
}

fn count<K: std::hash::Hash + Eq>(
    hits: &mut HashMap<K, Hits>,
    key: K,
    shown: impl Fn() -> String,
    place: Place,
) {
    let hits = hits.entry(key).or_insert_with(|| Hits {
        shown: shown(),
        weighted: 0.0,
        count: 0,
        place,
    });
    hits.weighted += place.weight();
    hits.count += 1;
    if place > hits.place {
        (hits.place, hits.shown) = (place, shown());
    }
}
