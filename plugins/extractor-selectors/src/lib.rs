//! The extractor `selectors`: named fields of a page, by CSS and XPath.

mod map;
mod pick;
mod selector;

use serde::ser::{Serialize, SerializeMap, Serializer};
use trawl_sdk::{Document, Extractor, Failure, Info, Source, Steps};

pub use map::{Fields, SelectorMap};
use pick::Picker;

/// Gives the fields of a selector map. Spec S6.
///
/// Of an element it gives the text, of `meta` the `content`; a suffix `@name` gives an attribute. A map by path gives all that match,
/// at most [`MATCHES_MAX`] a field; a flat one the first.
pub struct Selectors;

/// Options of one request.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The selector map.
    map: SelectorMap,
}

/// The fields that were found.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// Of a map by path: what each field matched. Fields that matched nothing are left out.
    Lists(Vec<(String, Vec<String>)>),
    /// Of a flat map: the first match of each field.
    Firsts(Vec<(String, Option<String>)>),
}

/// Most texts that one field gives; what matches after them is left out.
pub const MATCHES_MAX: usize = 10_000;

/// Most bytes of text that all fields give together.
pub const TEXT_BYTES_MAX: usize = 8 << 20;

/// Steps that all selectors of a map may take together on a page.
const STEPS_MAX: u64 = 2 * Steps::MAX;

const OPTIONS_SCHEMA: &str = r#"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "map": {
            "description": "Which fields to read. Selectors that begin with `/`, `./` or `(/`, or with a call of an XPath function, are XPath 1.0, others CSS; `@name` at the end gives an attribute. Either an object from field name to selector, which gives the first match of each or null; or an object from URL path to list of fields, which gives all matches of each. `/` is the root path; the exact path counts first, then the longest beginning, then `*`.",
            "type": "object",
            "additionalProperties": {
                "description": "A selector (of a map by field), or the fields of a URL path (of a map by path); a map has one of the two.",
                "type": ["string", "array"],
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "description": "Name of the field."},
                        "selectors": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Selectors whose matches are given one after another; equal neighbours are given once."
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
                    let texts = picker.pick(&name, &[selector], 1)?;
                    found.push((name, texts.into_iter().next()));
                }
                Ok(Found::Firsts(found))
            }
            Fields::ByPath(paths) => {
                let mut found = Vec::new();
                for field in map::fields_of_page(&paths, document) {
                    let texts = picker.pick(&field.name, &field.selectors, MATCHES_MAX)?;
                    add(&mut found, &field.name, texts);
                }
                Ok(Found::Lists(found))
            }
        }
    }
}

/// Adds to a field, which may have been named before.
fn add(found: &mut Vec<(String, Vec<String>)>, name: &str, texts: Vec<String>) {
    if texts.is_empty() {
        return;
    }
    let Some((_, known)) = found.iter_mut().find(|(known, _)| known == name) else {
        found.push((name.to_owned(), texts));
        return;
    };
    known.extend(texts);
    known.dedup();
    known.truncate(MATCHES_MAX);
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
