//! Metadata for link previews: Open Graph and Twitter cards.

use serde_json::{Map, Value};
use trawl_sdk::{Document, Tag};

/// Prefixes of Open Graph properties and related vocabularies.
const OPEN_GRAPH_PREFIXES: [&str; 12] = [
    "og:",
    "article:",
    "product:",
    "book:",
    "profile:",
    "fb:",
    "music:",
    "video:",
    "place:",
    "business:",
    "al:",
    "restaurant:",
];

/// A JSON object.
type Object = Map<String, Value>;

/// Open Graph and Twitter properties, each with its text or texts.
pub(crate) fn read(document: &Document<'_>) -> (Object, Object) {
    let (mut open_graph, mut twitter) = (Object::new(), Object::new());
    for meta in document
        .elements()
        .filter(|element| element.tag() == Tag::Meta)
    {
        let Some(content) = meta.attr("content").or_else(|| meta.attr("value")) else {
            continue;
        };
        // Pages use both attributes for both vocabularies.
        let names = [meta.attr("property"), meta.attr("name")];
        let names = names
            .into_iter()
            .flatten()
            .flat_map(str::split_ascii_whitespace);
        for name in names.map(str::to_ascii_lowercase) {
            if OPEN_GRAPH_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix))
            {
                add(&mut open_graph, name, content);
            } else if name.starts_with("twitter:") {
                add(&mut twitter, name, content);
            }
        }
    }
    (open_graph, twitter)
}

fn add(found: &mut Object, name: String, content: &str) {
    let content = content.trim();
    if content.is_empty() {
        return;
    }
    let value = Value::from(content);
    match found.get_mut(&name) {
        None => {
            found.insert(name, value);
        }
        Some(Value::Array(values)) if values.last() != Some(&value) => values.push(value),
        Some(old @ Value::String(_)) if *old != value => {
            *old = Value::Array(vec![old.take(), value]);
        }
        Some(_) => {}
    }
}
