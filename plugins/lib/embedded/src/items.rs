//! Searches JSON-LD values.

use serde_json::{Map, Value};

/// A JSON object.
type Object = Map<String, Value>;

/// Iterates over all objects in these values at any depth (graphs, lists, nested items), outer
/// before inner.
pub fn items(values: &[Value]) -> Items<'_> {
    Items {
        left: values.iter().rev().collect(),
    }
}

/// Iterator over the objects in JSON-LD values, see [`items`].
#[derive(Clone, Debug)]
pub struct Items<'a> {
    /// Values still to visit, the next one last.
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

/// Types of an item (`@type`) without the vocabulary's URL: `Product` for
/// `https://schema.org/Product`.
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

/// Whether the item has one of these types, ignoring ASCII case.
pub fn has_type(item: &Object, wanted: &[&str]) -> bool {
    types(item).any(|own| wanted.iter().any(|name| own.eq_ignore_ascii_case(name)))
}

/// First item of one of these types, outer before inner.
pub fn first_of_type<'a>(values: &'a [Value], wanted: &[&str]) -> Option<&'a Object> {
    items(values).find(|item| has_type(item, wanted))
}

/// Text of a property: the string itself, the first string of a list, or the `@value` of a
/// language-tagged literal; trimmed. `None` if there is none or it is empty.
pub fn string(value: &Value) -> Option<&str> {
    let text = match value {
        Value::String(text) => text,
        Value::Array(values) => return values.iter().find_map(|value| string(value)),
        Value::Object(literal) => literal.get("@value")?.as_str()?,
        _ => return None,
    };
    Some(text.trim()).filter(|text| !text.is_empty())
}
