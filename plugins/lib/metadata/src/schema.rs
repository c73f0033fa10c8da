//! Metadata in JSON-LD.

use serde_json::{Map, Value};
use trawl_embedded::{decode_entities, items, string, types};
use trawl_sdk::Document;

use crate::head::some_text;

/// A JSON object.
type Object = Map<String, Value>;

/// Maximum number of authors.
const AUTHORS_MAX: usize = 20;

/// Suffixes of types that are creative works.
const WORKS: [&str; 8] = [
    "Article",
    "Posting",
    "Report",
    "Question",
    "Recipe",
    "Chapter",
    "PodcastEpisode",
    "VideoObject",
];

/// Suffixes of types that are pages.
const PAGES: [&str; 2] = ["WebPage", "Page"];

/// The JSON-LD of a page.
pub(crate) struct Schema {
    values: Vec<Value>,
}

impl Schema {
    pub(crate) fn of(document: &Document<'_>) -> Self {
        Self {
            values: trawl_embedded::json_ld(document),
        }
    }

    fn first_ending(&self, endings: &[&str]) -> Option<&Object> {
        let is_wanted = |name: &str| endings.iter().any(|ending| name.ends_with(ending));
        items(&self.values).find(|item| types(item).any(is_wanted))
    }

    /// The creative work on the page: an article, a posting, a recipe.
    pub(crate) fn work(&self) -> Option<&Object> {
        WORKS
            .iter()
            .find_map(|ending| self.first_ending(std::slice::from_ref(ending)))
    }

    /// The work, or else the page itself.
    fn subject(&self) -> Option<&Object> {
        self.work().or_else(|| self.first_ending(&PAGES))
    }

    /// A text of the work.
    pub(crate) fn work_text(&self, names: &[&str]) -> Option<String> {
        let work = self.work()?;
        names.iter().find_map(|name| work.get(*name)).and_then(text)
    }

    /// A text of the work, the page, or any product.
    pub(crate) fn text(&self, names: &[&str]) -> Option<String> {
        let product = || trawl_embedded::first_of_type(&self.values, &["Product"]);
        let places = [self.work(), self.first_ending(&PAGES), product()];
        let mut places = places.into_iter().flatten();
        places.find_map(|item| names.iter().find_map(|name| item.get(*name)).and_then(text))
    }

    /// A date of the work, or else of the page.
    pub(crate) fn date(&self, name: &str) -> Option<String> {
        self.subject()?.get(name).and_then(text)
    }

    /// Names of the work's authors.
    pub(crate) fn authors(&self) -> Vec<String> {
        let Some(work) = self.subject() else {
            return Vec::new();
        };
        let authors = ["author", "creator"]
            .into_iter()
            .find_map(|name| work.get(name));
        let authors = match authors {
            Some(Value::Array(authors)) => authors.as_slice(),
            Some(author) => std::slice::from_ref(author),
            None => &[],
        };
        authors
            .iter()
            .take(AUTHORS_MAX)
            .filter_map(|author| self.name_of(author))
            .collect()
    }

    /// Name of the site, or else of the work's publisher.
    pub(crate) fn site_name(&self) -> Option<String> {
        let site = trawl_embedded::first_of_type(&self.values, &["WebSite"]);
        let name = site.and_then(|site| site.get("name")).and_then(text);
        name.or_else(|| self.name_of(self.subject()?.get("publisher")?))
    }

    /// Name of a person or organisation: inline, or in the referenced item.
    fn name_of(&self, value: &Value) -> Option<String> {
        let Value::Object(item) = value else {
            return text(value);
        };
        if let Some(name) = item.get("name") {
            return text(name);
        }
        let id = item.get("@id").and_then(string)?;
        let is_meant = |item: &&Object| {
            item.get("@id").and_then(string) == Some(id) && item.contains_key("name")
        };
        items(&self.values)
            .find(is_meant)
            .and_then(|item| text(&item["name"]))
    }
}

/// A property's text with collapsed white space and decoded character references.
fn text(value: &Value) -> Option<String> {
    some_text(&decode_entities(string(value)?))
}
