//! Facts about the page as a whole.

use trawl_sdk::{Element, Tag};

/// Facts from the page's head, data and URL that indicate its type.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    og_type: f32,
    types: [f32; N_TYPES],
    n_articles: f32,
    n_main: f32,
    n_h1: f32,
    n_times: f32,
    n_forms: f32,
    n_tables: f32,
    n_pre: f32,
    n_noscript: f32,
    /// Of the last path segment.
    name_letters: f32,
    name_dashes: f32,
    name_digits: f32,
}

const N_TYPES: usize = 8;

/// schema.org types that indicate the type of page, by substrings of their names.
const TYPES: [&[&str]; N_TYPES] = [
    &["Article", "BlogPosting", "Report"],
    &["Product", "Offer"],
    &["DiscussionForum", "QAPage", "Question", "Comment"],
    &["CollectionPage", "ItemList", "SearchResults"],
    &["FAQPage", "HowTo", "Recipe"],
    &["Service", "LocalBusiness", "Organization"],
    &["WebPage", "AboutPage"],
    &["BreadcrumbList"],
];

impl Facts {
    /// Facts from the URL.
    pub(crate) fn of_url(url: &str) -> Self {
        let mut facts = Self::default();
        facts.read_url(url);
        facts
    }

    /// Passes every value to `put`, always in the same order.
    pub(crate) fn write(&self, mut put: impl FnMut(f32)) {
        put(self.og_type);
        self.types.into_iter().for_each(&mut put);
        for count in [
            self.n_articles,
            self.n_main,
            self.n_h1,
            self.n_times,
            self.n_forms,
            self.n_tables,
            self.n_pre,
            self.n_noscript,
        ] {
            put((1.0 + count).ln());
        }
        for value in [self.name_letters, self.name_dashes, self.name_digits] {
            put(value);
        }
    }

    fn read_url(&mut self, url: &str) {
        let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = after_scheme.split(['?', '#']).next().unwrap_or_default();
        let path = path.split_once('/').map_or("", |(_, path)| path);
        let last = path
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let count = |is: fn(u8) -> bool| last.bytes().filter(|&byte| is(byte)).count() as f32;
        self.name_letters = (last.len() as f32).min(100.0);
        self.name_dashes = count(|byte| matches!(byte, b'-' | b'_')).min(20.0);
        self.name_digits = count(|byte| byte.is_ascii_digit()).min(20.0);
    }

    /// Records the facts of an element.
    pub(crate) fn read(&mut self, element: Element<'_>) {
        match element.tag() {
            Tag::Article => self.n_articles += 1.0,
            Tag::Main => self.n_main += 1.0,
            Tag::H1 => self.n_h1 += 1.0,
            Tag::Time => self.n_times += 1.0,
            Tag::Form => self.n_forms += 1.0,
            Tag::Table => self.n_tables += 1.0,
            Tag::Pre => self.n_pre += 1.0,
            Tag::Noscript => self.n_noscript += 1.0,
            Tag::Meta if element.attr("property") == Some("og:type") => {
                self.og_type = match element.attr("content").unwrap_or_default() {
                    "article" | "blog" => 1.0,
                    "product" | "og:product" | "product.item" => 2.0,
                    "website" => 3.0,
                    _ => 4.0,
                };
            }
            Tag::Script if element.attr("type") == Some("application/ld+json") => {
                for text in element.children().filter_map(|child| child.as_text()) {
                    self.read_types(text);
                }
            }
            _ => {}
        }
    }

    fn read_types(&mut self, json: &str) {
        const TYPE_BYTES: usize = 60;
        for (at, key) in json.match_indices("\"@type\"") {
            let rest = &json.as_bytes()[at + key.len()..];
            let value = rest[..rest.len().min(TYPE_BYTES)]
                .split(|&byte| byte == b'"')
                .nth(1);
            if let Some(value) = value.and_then(|value| std::str::from_utf8(value).ok()) {
                self.note_type(value);
            }
        }
    }

    /// Records a schema.org type of the page.
    pub(crate) fn note_type(&mut self, name: &str) {
        for (known, names) in self.types.iter_mut().zip(TYPES) {
            if names.iter().any(|part| name.contains(part)) {
                *known = 1.0;
            }
        }
    }
}
