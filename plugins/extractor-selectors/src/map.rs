//! The two shapes of a selector map, and the part of it that applies to a page.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use trawl_sdk::{Document, Failure};

use crate::selector::FieldSelector;

/// Maximum number of selectors in a map.
const SELECTORS_MAX: usize = 5_000;

/// Most characters of a key in an error.
const KEY_CHARS_MAX: usize = 100;

/// A selector map as received: keys and values, in order.
#[derive(Debug, Default)]
pub struct SelectorMap(Vec<(String, Entry)>);

/// A parsed selector map.
#[derive(Debug)]
pub enum Fields {
    /// Field name to selector.
    Flat(Vec<(String, FieldSelector)>),
    /// URL path to fields.
    ByPath(Vec<(String, Vec<Field>)>),
}

/// A field of a map by path.
#[derive(Debug)]
pub struct Field {
    /// Its name in the answer.
    pub name: String,
    /// Its selectors, in order.
    pub selectors: Vec<FieldSelector>,
}

#[derive(Debug)]
enum Entry {
    Selector(String),
    Fields(Vec<FieldText>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldText {
    name: String,
    selectors: Vec<String>,
}

impl SelectorMap {
    /// Parses every selector of the map, for any page. It needs no page, so a host can validate a
    /// map before it fetches anything.
    ///
    /// # Errors
    /// [`Failure::InvalidOptions`]: the map mixes its two shapes, has too many selectors, or has a
    /// key or selector that is invalid, which the message names.
    pub fn parse(self) -> Result<Fields, Failure> {
        self.must_have_one_shape()?;
        let n_selectors: usize = self.0.iter().map(|(_, entry)| entry.n_selectors()).sum();
        if n_selectors > SELECTORS_MAX {
            let reason = format!("{n_selectors} selectors exceed the limit of {SELECTORS_MAX}");
            return Err(Failure::invalid_option("map", reason));
        }
        let is_flat = matches!(self.0.first(), Some((_, Entry::Selector(_))));
        let (mut flat, mut by_path) = (Vec::new(), Vec::new());
        for (key, entry) in self.0 {
            match entry {
                Entry::Selector(selector) => {
                    check_name(&key)?;
                    let selector = parse_selector(&key, &selector)?;
                    flat.push((key, selector));
                }
                Entry::Fields(fields) => {
                    check_path(&key)?;
                    let fields: Result<_, _> = fields.into_iter().map(parse_field).collect();
                    by_path.push((key, fields?));
                }
            }
        }
        Ok(if is_flat {
            Fields::Flat(flat)
        } else {
            Fields::ByPath(by_path)
        })
    }

    fn must_have_one_shape(&self) -> Result<(), Failure> {
        let is_selector = |entry: &Entry| matches!(entry, Entry::Selector(_));
        let flat = self.0.iter().find(|(_, entry)| is_selector(entry));
        let by_path = self.0.iter().find(|(_, entry)| !is_selector(entry));
        let (Some((field, _)), Some((path, _))) = (flat, by_path) else {
            return Ok(());
        };
        let reason = format!(
            "`{field}` has a selector and `{path}` a list of fields: a map has one shape, by field or by URL path"
        );
        Err(Failure::invalid_option("map", reason))
    }
}

impl Entry {
    fn n_selectors(&self) -> usize {
        match self {
            Self::Selector(_) => 1,
            Self::Fields(fields) => fields.iter().map(|field| field.selectors.len()).sum(),
        }
    }
}

/// Refuses a key that cannot be the path of a page: the field below it would never be read.
fn check_path(key: &str) -> Result<(), Failure> {
    let wrong = if key.trim().is_empty() {
        "is empty, write `/` for the root page or `*` for every page"
    } else if key.contains("://") {
        "is a URL, write its path alone, such as `/products`"
    } else if key.contains(['?', '#']) {
        "has a query or a fragment: write the path alone, which precedes it"
    } else if key.contains('*') && key != "*" {
        "has a `*` next to other characters: write `*` alone for every page, or the beginning of paths"
    } else {
        return Ok(());
    };
    Err(wrong_key(key, wrong))
}

/// Refuses a field without a name.
fn check_name(name: &str) -> Result<(), Failure> {
    if name.trim().is_empty() {
        return Err(wrong_key(name, "is empty, write the name of a field"));
    }
    Ok(())
}

fn wrong_key(key: &str, wrong: &str) -> Failure {
    let shown: String = key.chars().take(KEY_CHARS_MAX).collect();
    Failure::invalid_option("map", format!("the key `{shown}` {wrong}"))
}

fn parse_field(field: FieldText) -> Result<Field, Failure> {
    check_name(&field.name)?;
    let parse = |selector: &String| parse_selector(&field.name, selector);
    let selectors = field
        .selectors
        .iter()
        .map(parse)
        .collect::<Result<_, _>>()?;
    Ok(Field {
        name: field.name,
        selectors,
    })
}

fn parse_selector(field: &str, selector: &str) -> Result<FieldSelector, Failure> {
    FieldSelector::parse(selector).map_err(|reason| {
        let reason = format!("field `{field}`: the selector `{selector}` does not parse: {reason}");
        Failure::invalid_option("map", reason)
    })
}

/// The fields for this page: of the key equal to its path, or else of the longest key that is a
/// prefix of it, or else of `*`. The key `/` matches the root path only.
pub(crate) fn fields_of_page<'m>(
    paths: &'m [(String, Vec<Field>)],
    document: &Document,
) -> &'m [Field] {
    let path_of = |address: &str| {
        document
            .resolve_url(address)
            .map(|url| url.path().to_owned())
    };
    let page = path_of(document.url()).unwrap_or_default();
    let rank = |key: &str| {
        if key == "*" {
            return Some((0, 0));
        }
        // A key is spelled as in a browser's address bar: `/Café` means `/Caf%C3%A9`.
        let absolute = if key.starts_with('/') {
            key.to_owned()
        } else {
            format!("/{key}")
        };
        let key = path_of(&absolute).unwrap_or(absolute);
        if page == key {
            Some((2, key.len()))
        } else {
            (key != "/" && page.starts_with(&key)).then_some((1, key.len()))
        }
    };
    let fitting = paths
        .iter()
        .filter_map(|(key, fields)| Some((rank(key)?, fields)));
    fitting
        .max_by_key(|(rank, _)| *rank)
        .map_or(&[], |(_, fields)| fields)
}

impl<'de> Deserialize<'de> for SelectorMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapVisitor)
    }
}

struct MapVisitor;

impl<'de> Visitor<'de> for MapVisitor {
    type Value = SelectorMap;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object from field name to selector, or from URL path to list of fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SelectorMap, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let entry = map
                .next_value()
                .map_err(|error| A::Error::custom(format!("`{key}`: {error}")))?;
            entries.push((key, entry));
        }
        Ok(SelectorMap(entries))
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a selector, or a list of objects with `name` and `selectors`")
    }

    fn visit_str<E: Error>(self, selector: &str) -> Result<Entry, E> {
        Ok(Entry::Selector(selector.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entry, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = list.next_element()? {
            fields.push(field);
        }
        Ok(Entry::Fields(fields))
    }
}
