//! Metadata for link previews: Open Graph and Twitter cards.

use std::collections::HashMap;

use serde_json::{Map, Value};
use trawl_sdk::{Document, Element, Tag};

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

/// Properties that a page may have several of, each followed by its own structured properties
/// (`og:image:width`). The Open Graph protocol, "Arrays".
const ARRAYS: [&str; 3] = ["og:image", "og:video", "og:audio"];

/// Maximum number of items of an array. The lists of its structured properties are as long.
const ITEMS_MAX: usize = 1_000;

/// A JSON object.
type Object = Map<String, Value>;

/// Open Graph and Twitter properties, each with its text or texts.
pub(crate) fn read(document: &Document<'_>) -> (Object, Object) {
    let mut open_graph = OpenGraph::default();
    let mut twitter = Object::new();
    let elements = document.live_elements();
    for meta in elements.filter(|element| element.tag() == Tag::Meta) {
        read_meta(meta, &mut open_graph, &mut twitter);
    }
    (open_graph.finish(), twitter)
}

fn read_meta(meta: Element<'_>, open_graph: &mut OpenGraph, twitter: &mut Object) {
    let content = meta.attr("content").or_else(|| meta.attr("value"));
    let content = content.unwrap_or_default().trim_ascii();
    if content.is_empty() {
        return;
    }
    // Pages use both attributes for both vocabularies.
    let names = [meta.attr("property"), meta.attr("name")];
    let names = names.map(|names| names.unwrap_or_default().to_ascii_lowercase());
    for name in names
        .iter()
        .flat_map(|names| names.split_ascii_whitespace())
    {
        if OPEN_GRAPH_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
        {
            open_graph.add(name, content);
        } else if name.starts_with("twitter:") {
            add(twitter, name, content);
        }
    }
}

/// Open Graph properties under construction.
#[derive(Default)]
struct OpenGraph {
    /// The properties outside arrays.
    found: Object,
    /// The items of the arrays, in page order.
    items: [Vec<Item>; ARRAYS.len()],
}

/// An item of an array: an image, say.
struct Item {
    content: String,
    /// Its structured properties.
    structured: Object,
}

impl OpenGraph {
    fn add(&mut self, name: &str, content: &str) {
        let array = ARRAYS.iter().position(|array| {
            let rest = name.strip_prefix(array);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        });
        let Some(array) = array else {
            return add(&mut self.found, name, content);
        };
        let items = &mut self.items[array];
        let is_item = name == ARRAYS[array];
        let is_full = items.len() >= ITEMS_MAX;
        match items.last_mut() {
            Some(last) if !is_item => add(&mut last.structured, name, content),
            None if !is_item => add(&mut self.found, name, content),
            // The same item again.
            Some(last) if last.content == content => {}
            _ if is_full => {}
            _ => items.push(Item {
                content: content.to_owned(),
                structured: Object::new(),
            }),
        }
    }

    fn finish(self) -> Object {
        let mut found = self.found;
        for (array, mut items) in ARRAYS.iter().zip(self.items) {
            if items.len() > 1 {
                add_items(&mut found, array, items);
            } else if let Some(item) = items.pop() {
                found.insert((*array).to_owned(), item.content.into());
                found.extend(item.structured);
            }
        }
        found
    }
}

/// Adds several items of an array. The list of each structured property has an entry for each item,
/// null where an item lacks it, so that the lists belong together.
fn add_items(found: &mut Object, array: &str, items: Vec<Item>) {
    let n_items = items.len();
    let mut lists: HashMap<String, Vec<Value>> = HashMap::new();
    let mut contents = Vec::new();
    for (place, item) in items.into_iter().enumerate() {
        contents.push(Value::from(item.content));
        for (name, value) in item.structured {
            let list = lists
                .entry(name)
                .or_insert_with(|| vec![Value::Null; n_items]);
            list[place] = match value {
                Value::Array(values) => values.into_iter().next().unwrap_or_default(),
                value => value,
            };
        }
    }
    found.insert(array.to_owned(), Value::Array(contents));
    found.extend(
        lists
            .into_iter()
            .map(|(name, list)| (name, Value::Array(list))),
    );
}

fn add(found: &mut Object, name: &str, content: &str) {
    let value = Value::from(content);
    match found.get_mut(name) {
        None => {
            found.insert(name.to_owned(), value);
        }
        Some(Value::Array(values)) if values.last() != Some(&value) => values.push(value),
        Some(old @ Value::String(_)) if *old != value => {
            *old = Value::Array(vec![old.take(), value]);
        }
        Some(_) => {}
    }
}
