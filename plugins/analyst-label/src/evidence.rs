//! The evidence on a page: its words by place, and its own metadata.

use std::collections::HashMap;

use analyst_base::structured_data;
use trawl_rank::{Block, BlockKind, Language, Region, blocks, each_word, fold};
use trawl_sdk::{Document, Tag};

use crate::taxonomy::{TermId, phrases_of, terms_of, without_article};

/// Maximum number of words read; a longer page is judged by its beginning.
const WORDS_MAX: usize = 40_000;

/// Properties of schema.org that name what a page is about.
const SECTION_KEYS: [&str; 6] = [
    "articleSection",
    "keywords",
    "genre",
    "category",
    "recipeCategory",
    "servesCuisine",
];

/// Place of a word on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Navigation, footer, sidebar.
    Boilerplate,
    /// The main content.
    Text,
    /// The URL.
    Url,
    /// A heading other than the first.
    Heading,
    /// The meta description or keywords.
    Description,
    /// The title or the first heading.
    Title,
    /// A section, breadcrumb or category of the page.
    Section,
}

impl Place {
    /// Weight relative to a word in the main content.
    pub(crate) const fn weight(self) -> f32 {
        match self {
            Self::Boilerplate => 0.25,
            Self::Text => 1.0,
            Self::Url | Self::Heading => 2.0,
            Self::Description => 3.0,
            Self::Title => 4.0,
            Self::Section => 5.0,
        }
    }

    /// Its name in reasons.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Boilerplate => "the navigation",
            Self::Text => "the text",
            Self::Url => "the URL",
            Self::Heading => "a heading",
            Self::Description => "the description",
            Self::Title => "the title",
            Self::Section => "the section",
        }
    }
}

/// Occurrences of a word or term on a page.
#[derive(Clone, Debug)]
pub(crate) struct Hits {
    /// The first spelling at its best place, in lower case.
    pub(crate) shown: String,
    /// Number of occurrences, weighted by place.
    pub(crate) weighted: f32,
    /// Number of occurrences.
    pub(crate) count: u32,
    /// Its best place.
    pub(crate) place: Place,
}

/// The evidence on a page.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// The page's language.
    pub(crate) language: Language,
    /// Taxonomy terms found on the page.
    pub(crate) terms: HashMap<TermId, Hits>,
    /// Words in order of first occurrence.
    words: Vec<Word>,
    /// Number of words in the main content.
    pub(crate) n_words: usize,
    /// schema.org and Open Graph types of the page.
    pub(crate) types: Vec<String>,
    /// URL path and query in lower case.
    pub(crate) path: String,
    /// Beginning of the page's text, for a model.
    pub(crate) text: String,
    /// Index into `words` by word.
    by_word: HashMap<Box<str>, usize>,
    n_read: usize,
}

/// A word of a page, with its taxonomy terms.
#[derive(Debug)]
struct Word {
    hits: Hits,
    terms: Vec<TermId>,
    begins_phrase: bool,
    folded: String,
}

impl Evidence {
    /// Collects the evidence on a page.
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
        evidence.read_url(document);
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
        let items = structured_data(document).into_iter();
        let values: Vec<_> = items.map(|item| item.value).collect();
        for item in trawl_embedded::items(&values) {
            self.types
                .extend(trawl_embedded::types(item).map(str::to_owned));
            for key in SECTION_KEYS {
                if let Some(text) = item.get(key).and_then(trawl_embedded::string) {
                    self.read(text, Place::Section);
                }
            }
            if trawl_embedded::has_type(item, &["ListItem"]) {
                let inner = item.get("item").and_then(|inner| inner.get("name"));
                if let Some(text) = item.get("name").or(inner).and_then(trawl_embedded::string) {
                    self.read(text, Place::Section);
                }
            }
        }
    }

    fn read_url(&mut self, document: &Document<'_>) {
        let url = document.url();
        let after = url.split_once("://").map_or(url, |(_, after)| after);
        let (host, path) = after.split_once('/').unwrap_or((after, ""));
        self.path = format!("/{path}").to_lowercase();
        let path = path.split(['?', '#']).next().unwrap_or_default().to_owned();
        self.read(&path.replace(['/', '-', '_', '.', '+'], " "), Place::Url);
        // The label before the top-level domain usually names the site.
        let names: Vec<&str> = host.split('.').collect();
        let name = names.iter().rev().nth(1).copied().unwrap_or_default();
        self.read(&name.replace('-', " "), Place::Text);
    }

    /// Words in order of first occurrence.
    pub(crate) fn words(&self) -> impl Iterator<Item = &Hits> {
        self.words.iter().map(|word| &word.hits)
    }

    /// Adds a text found at `place`.
    fn read(&mut self, text: &str, place: Place) {
        if self.n_read >= WORDS_MAX {
            return;
        }
        let mut run = Vec::new();
        each_word(text, |word| run.push(self.place_of(word)));
        self.n_read += run.len();
        if place >= Place::Text && place != Place::Url {
            self.n_words += run.len();
        }
        for (at, own) in run.iter().enumerate() {
            let word = &mut self.words[*own];
            word.hits.add(place);
            for term in &word.terms {
                let hits = self.terms.entry(*term);
                hits.or_insert_with(|| Hits::new(&word.hits.shown))
                    .add_as(place, &word.hits.shown);
            }
            if self.words[*own].begins_phrase {
                self.read_phrases(&run[at..], place);
            }
        }
    }

    /// Index of a word in `words`; a new word is looked up in the taxonomy once.
    fn place_of(&mut self, word: &str) -> usize {
        if let Some(place) = self.by_word.get(word) {
            return *place;
        }
        let folded = fold(word);
        self.by_word.insert(word.into(), self.words.len());
        self.words.push(Word {
            hits: Hits::new(word),
            terms: terms_of(&folded).collect(),
            begins_phrase: !phrases_of(&folded).is_empty(),
            folded,
        });
        self.words.len() - 1
    }

    /// Counts the taxonomy phrases that start with the first of these words.
    fn read_phrases(&mut self, run: &[usize], place: Place) {
        for (rest, term) in phrases_of(&self.words[run[0]].folded) {
            let mut n_words = 1;
            let is_there = rest.split(' ').map(without_article).all(|expected| {
                let word = run.get(n_words).map(|own| self.words[*own].folded.as_str());
                n_words += 1;
                word.is_some_and(|word| match expected.strip_suffix('*') {
                    Some(stem) => word.starts_with(stem),
                    None => word == expected,
                })
            });
            if is_there {
                let words: Vec<&str> = run[..n_words]
                    .iter()
                    .map(|own| self.words[*own].hits.shown.as_str())
                    .collect();
                let shown = words.join(" ");
                let hits = self.terms.entry(*term);
                hits.or_insert_with(|| Hits::new(&shown))
                    .add_as(place, &shown);
            }
        }
    }
}

impl Hits {
    fn new(shown: &str) -> Self {
        Self {
            shown: shown.to_owned(),
            weighted: 0.0,
            count: 0,
            place: Place::Boilerplate,
        }
    }

    fn add(&mut self, place: Place) {
        self.weighted += place.weight();
        self.count += 1;
        self.place = self.place.max(place);
    }

    /// Counts one occurrence with this spelling.
    fn add_as(&mut self, place: Place, shown: &str) {
        if place > self.place && self.shown != shown {
            shown.clone_into(&mut self.shown);
        }
        self.add(place);
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
        _ => Place::Boilerplate,
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
