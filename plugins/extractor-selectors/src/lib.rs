//! The `selectors` extractor: named fields of a page, by CSS and XPath.

mod map;
mod pick;
mod selector;
mod urls;

use serde::ser::{Serialize, SerializeMap, Serializer};
use trawl_sdk::{Document, Extractor, Failure, Info, Source, Steps};

pub use map::{Fields, SelectorMap};
pub use pick::TEXT_BYTES_MAX;
use pick::{Picker, Texts};

/// Returns the fields of a selector map. Spec S6.
///
/// The value is the text of an element, the `content` of a `meta`, or the attribute in a suffix
/// `@name`. A map by path returns all matches, at most [`MATCHES_MAX`] per field; a flat map the
/// first.
pub struct Selectors;

/// Options of a request.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The selector map.
    map: SelectorMap,
}

/// The extracted fields.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// For a map by path: all matches of each field. Fields without matches are omitted.
    Lists(Vec<(String, Vec<String>)>),
    /// For a flat map: the first match of each field.
    Firsts(Vec<(String, Option<String>)>),
}

/// Maximum number of texts per field; further matches are dropped.
pub const MATCHES_MAX: usize = 10_000;

/// Step limit for all selectors of a map on a page.
const STEPS_MAX: u64 = 2 * Steps::MAX;

const OPTIONS_SCHEMA: &str = r#"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "map": {
            "description": "Which fields to read. Selectors that begin with `/`, `./`, `..` or `(`, or with a call of an XPath function, are XPath 1.0, others CSS; `@name` at the end gives an attribute. Either an object from field name to selector, which gives the first match of each or null; or an object from URL path to list of fields, which gives all matches of each. `/` is the root path; the exact path counts first, then the longest beginning, then `*`.",
            "type": "object",
            "additionalProperties": {
                "description": "A selector (in a map by field), or the fields of a URL path (in a map by path); a map cannot mix the two.",
                "type": ["string", "array"],
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "description": "Name of the field."},
                        "selectors": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Selectors whose matches are appended, one selector after the other. An element that an earlier selector of the field took is left out; equal texts stay."
                        }
                    },
                    "required": ["name", "selectors"],
                    "additionalProperties": false
                }
            }
        }
    },
    "additionalProperties": false
}"#;

trawl_sdk::export!(extractor: Selectors);

impl Extractor for Selectors {
    type Options = Options;
    type Output = Found;

    fn info() -> Info {
        Info::new(
            "selectors",
            env!("CARGO_PKG_VERSION"),
            "Named fields of a page, by CSS selectors and XPath 1.0",
        )
        .options_schema(OPTIONS_SCHEMA)
    }

    fn extract(document: &Document, _: Source, options: Options) -> Result<Found, Failure> {
        let fields = options.map.parse()?;
        let steps = Steps::new(STEPS_MAX);
        let mut picker = Picker::new(document, &steps);
        match fields {
            Fields::Flat(fields) => {
                let mut found = Vec::new();
                for (name, selector) in fields {
                    let mut texts = Texts::of(1);
                    picker.pick(&name, &[selector], &mut texts)?;
                    found.push((name, texts.found.into_iter().next()));
                }
                Ok(Found::Firsts(found))
            }
            Fields::ByPath(paths) => {
                let mut found: Vec<(&str, Texts<'_>)> = Vec::new();
                for field in map::fields_of_page(&paths, document) {
                    let place = found.iter().position(|(name, _)| *name == field.name);
                    let place = place.unwrap_or_else(|| {
                        found.push((&field.name, Texts::of(MATCHES_MAX)));
                        found.len() - 1
                    });
                    picker.pick(&field.name, &field.selectors, &mut found[place].1)?;
                }
                let lists = found
                    .into_iter()
                    .map(|(name, texts)| (name.to_owned(), texts.found));
                Ok(Found::Lists(
                    lists.filter(|(_, texts)| !texts.is_empty()).collect(),
                ))
            }
        }
    }
}

impl Serialize for Found {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        match self {
            Self::Lists(fields) => {
                for (name, texts) in fields {
                    object.serialize_entry(name, texts)?;
                }
            }
            Self::Firsts(fields) => {
                for (name, text) in fields {
                    object.serialize_entry(name, text)?;
                }
            }
        }
        object.end()
    }
}

#[cfg(test)]
mod tests;
