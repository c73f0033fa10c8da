//! The value of an element with a microdata or RDFa property, within a work budget.

use serde_json::{Map, Value};
use trawl_sdk::{Element, Tag};

/// Maximum nesting of items; deeper items are dropped.
pub(crate) const ITEM_DEPTH_MAX: usize = 30;

/// Maximum number of names and types per element: each name gets a copy of the value.
const NAMES_MAX: usize = 8;

/// Maximum number of nodes visited for property texts. Items may refer to the same elements
/// repeatedly.
const STEPS_MAX: usize = 4_000_000;

/// Memory limit for all items and texts, in bytes. Properties may be nested, and each contains the
/// text of its descendants.
const BYTES_MAX: usize = 32 << 20;

/// Approximate size of an item without its texts, in bytes.
const ITEM_BYTES: usize = 1400;

/// Overhead of a text in bytes.
const VALUE_BYTES: usize = 64;

/// The remaining work budget.
#[derive(Debug)]
pub(crate) struct Work {
    n_steps: usize,
    n_bytes: usize,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            n_steps: STEPS_MAX,
            n_bytes: BYTES_MAX,
        }
    }
}

impl Work {
    /// Charges a node visit; `false` if the budget is exhausted.
    pub(crate) fn step(&mut self) -> bool {
        self.n_steps = self.n_steps.saturating_sub(1);
        self.n_steps > 0
    }

    /// Charges an item; `false` if the budget is exhausted.
    pub(crate) fn item(&mut self) -> bool {
        self.take(ITEM_BYTES)
    }

    /// Charges the memory of a text of `n_bytes`.
    fn take(&mut self, n_bytes: usize) -> bool {
        let left = self.n_bytes.checked_sub(n_bytes + VALUE_BYTES);
        self.n_bytes = left.unwrap_or(self.n_bytes);
        left.is_some()
    }
}

/// The value of the element: its URL, its machine-readable value, or its text with collapsed white
/// space. `None` if the budget is exhausted.
///
/// HTML standard, section 5.2.4 "Values"; `content` counts on any element, as in search engines.
pub(crate) fn value(element: Element<'_>, work: &mut Work) -> Option<Value> {
    let attribute = |name| element.attr(name).map(str::trim);
    if let Some(content) = attribute("content") {
        return work.take(content.len()).then(|| Value::from(content));
    }
    let url = match element.tag() {
        Tag::Audio
        | Tag::Embed
        | Tag::Iframe
        | Tag::Img
        | Tag::Source
        | Tag::Track
        | Tag::Video => attribute("src"),
        Tag::A | Tag::Area | Tag::Link => attribute("href"),
        Tag::Object => attribute("data"),
        _ => None,
    };
    if let Some(url) = url {
        let absolute = element.document().resolve(url);
        let url = absolute.unwrap_or_else(|| url.to_owned());
        return work.take(url.len()).then(|| Value::from(url));
    }
    let written = match element.tag() {
        Tag::Data | Tag::Meter => attribute("value"),
        Tag::Time => attribute("datetime"),
        Tag::Meta => Some(""),
        _ => None,
    };
    match written {
        Some(written) => work.take(written.len()).then(|| Value::from(written)),
        None => text(element, work).map(Value::from),
    }
}

/// The element's text as its reader sees it.
fn text(element: Element<'_>, work: &mut Work) -> Option<String> {
    element.line_text_while(|node| {
        let n_bytes = node.as_text().map(str::len);
        work.step() && n_bytes.is_none_or(|n_bytes| work.take(n_bytes))
    })
}

/// The names in an attribute, each once.
pub(crate) fn names(attribute: &str) -> impl Iterator<Item = &str> {
    let mut names = Vec::new();
    for name in attribute.split_ascii_whitespace() {
        if names.len() < NAMES_MAX && !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter()
}

/// An item in its output form.
pub(crate) fn item(types: Vec<Value>, id: Option<String>, properties: Map<String, Value>) -> Value {
    let mut item = Map::new();
    item.insert("type".to_owned(), Value::Array(types));
    if let Some(id) = id {
        item.insert("id".to_owned(), Value::from(id));
    }
    item.insert("properties".to_owned(), Value::Object(properties));
    Value::Object(item)
}

/// Adds a value to each property: HTML standard, section 5.2.5 "Associating names with items".
/// Copies are charged, since items with several names multiply with each level.
pub(crate) fn add<'n>(
    properties: &mut Map<String, Value>,
    mut names: impl Iterator<Item = &'n str>,
    value: Value,
    work: &mut Work,
) {
    let Some(first) = names.next() else {
        return;
    };
    let mut others = names.take(NAMES_MAX - 1).peekable();
    if others.peek().is_some() {
        let n_bytes = bytes_of(&value);
        for name in others.take_while(|_| work.take(n_bytes)) {
            push(properties, name, value.clone());
        }
    }
    push(properties, first, value);
}

/// Memory of a value, in bytes. The depth of items bounds the recursion.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => {
            let values = values.iter().map(|value| bytes_of(value) + VALUE_BYTES);
            values.sum()
        }
        Value::Object(map) => {
            let values = map.iter().map(|(key, value)| key.len() + bytes_of(value));
            ITEM_BYTES / 2 + values.sum::<usize>()
        }
        _ => 0,
    }
}

fn push(properties: &mut Map<String, Value>, name: &str, value: Value) {
    match properties.get_mut(name) {
        Some(Value::Array(values)) => values.push(value),
        _ => {
            properties.insert(name.to_owned(), Value::Array(vec![value]));
        }
    }
}
