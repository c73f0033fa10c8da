//! Looking for things in JSON-LD.

use serde_json::{Map, Value};

/// An object of JSON.
type Object = Map<String, Value>;

/// Every object of these values, however deep: graphs, lists and nested items, outer before inner.
pub fn items(values: &[Value]) -> Items<'_> {
    Items {
        left: values.iter().rev().collect(),
    }
}

/// Objects of JSON-LD values, see [`items`].
#[derive(Clone, Debug)]
pub struct Items<'a> {
    /// Values that are still to be looked into, the next one last.
    left: Vec<&'a Value>,
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a Object;

    fn next(&mut self) -> Option<&'a Object> {
        loop {
            match self.left.pop()? {
                Value::Array(values) => self.left.extend(values.iter().rev()),
                Value::Object(object) => {
                    self.left.extend(object.values().rev());
                    return Some(object);
                }
                _ => {}
            }
        }
    }
}

/// The types of an item (`@type`), without the address of their vocabulary: `Product` for `https://schema.org/Product`.
pub fn types(item: &Object) -> impl Iterator<Item = &str> {
    let (one, several) = match item.get("@type") {
        Some(Value::String(name)) => (Some(name.as_str()), &[][..]),
        Some(Value::Array(names)) => (None, names.as_slice()),
        _ => (None, &[][..]),
    };
    let names = one
        .into_iter()
        .chain(several.iter().filter_map(Value::as_str));
    names.map(|name| name.rsplit(['/', '#', ':']).next().unwrap_or(name))
}

/// Whether the item is of one of these types, compared without case.
pub fn has_type(item: &Object, wanted: &[&str]) -> bool {
    types(item).any(|own| wanted.iter().any(|name| own.eq_ignore_ascii_case(name)))
}

/// The first item of one of these types, outer before inner.
pub fn first_of_type<'a>(values: &'a [Value], wanted: &[&str]) -> Option<&'a Object> {
    items(values).find(|item| has_type(item, wanted))
}

/// The text that a property holds: the string itself, the first of a list, the `@value` of a literal with a language; trimmed.
/// `None` when that is empty or there is none.
pub fn string(value: &Value) -> Option<&str> {
    let text = match value {
        Value::String(text) => text,
        Value::Array(values) => return values.iter().find_map(|value| string(value)),
        Value::Object(literal) => literal.get("@value")?.as_str()?,
        _ => return None,
    };
    Some(text.trim()).filter(|text| !text.is_empty())
}
