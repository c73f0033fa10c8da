//! Structured data of a page: JSON-LD, and microdata converted to it. HTML standard, section 5
//! "Microdata".

use serde_json::{Map, Value};
use trawl_embedded::json_ld;
use trawl_rank::squeeze;
use trawl_sdk::{Document, Element, Kind, Tag};

/// Maximum number of microdata items.
const ITEMS_MAX: usize = 2_000;
/// Maximum nesting of items.
const DEPTH_MAX: usize = 8;
/// Maximum length of a property value, in bytes.
const TEXT_BYTES_MAX: usize = 8_000;

/// An item of structured data and its source.
pub struct Item {
    /// `json_ld` or `microdata`.
    pub source: &'static str,
    /// The item as JSON-LD.
    pub value: Value,
}

/// The structured data of a page, JSON-LD first.
pub fn structured_data(document: &Document<'_>) -> Vec<Item> {
    let values = json_ld(document).into_iter();
    let mut items: Vec<Item> = values
        .map(|value| Item {
            source: "json_ld",
            value,
        })
        .collect();
    let mut n_items = 0;
    let elements = document.live_elements();
    for element in elements.filter(|element| element.has_attr("itemscope")) {
        let is_inside = || element.ancestors().any(|outer| outer.has_attr("itemscope"));
        let is_property = element.has_attr("itemprop") && is_inside();
        if !is_property && n_items < ITEMS_MAX {
            n_items += 1;
            items.push(Item {
                source: "microdata",
                value: read(element, 0),
            });
        }
    }
    items
}

fn read(root: Element<'_>, depth: usize) -> Value {
    let mut properties = Map::new();
    let kinds = root.attr("itemtype").unwrap_or_default();
    let kind = kinds.split_ascii_whitespace().next().unwrap_or_default();
    properties.insert("@type".to_owned(), Value::from(kind));
    let mut nodes = root.descendants();
    while let Some(node) = nodes.next() {
        let element = match node.kind() {
            Kind::Element(element) => element,
            Kind::TemplateContents => {
                nodes.skip_inside(node);
                continue;
            }
            _ => continue,
        };
        let is_item = element.has_attr("itemscope");
        if let Some(names) = element.attr("itemprop") {
            let value = if !is_item {
                Value::from(text_of(element))
            } else if depth < DEPTH_MAX {
                read(element, depth + 1)
            } else {
                Value::Null
            };
            for name in names.split_ascii_whitespace().take(DEPTH_MAX) {
                add(&mut properties, name, value.clone());
            }
        }
        if is_item {
            nodes.skip_inside(node);
        }
    }
    Value::Object(properties)
}

/// The value of an element: its machine-readable form, or its text.
fn text_of(element: Element<'_>) -> String {
    let attribute = match element.tag() {
        _ if element.has_attr("content") => element.attr("content"),
        Tag::A | Tag::Area | Tag::Link => element.attr("href"),
        Tag::Time => element.attr("datetime"),
        Tag::Data => element.attr("value"),
        Tag::Img => element.attr("src"),
        _ => None,
    };
    let mut text = match attribute {
        Some(text) => text.trim().to_owned(),
        None => squeeze(&element.visible_text()),
    };
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}

fn add(properties: &mut Map<String, Value>, name: &str, value: Value) {
    match properties.get_mut(name) {
        Some(Value::Array(values)) => values.push(value),
        Some(one) => *one = Value::Array(vec![one.take(), value]),
        None => {
            properties.insert(name.to_owned(), value);
        }
    }
}
