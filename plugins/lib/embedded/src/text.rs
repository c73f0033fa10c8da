//! Reads all values of a text, strictly if possible.

use serde_json::Value;

use super::budget::Budget;
use super::entities::decode_entities;
use super::reader::{DEPTH_MAX, Reader, Syntax};

/// Maximum length of a text, in bytes; a longer one is not read.
pub const TEXT_BYTES_MAX: usize = 16 << 20;

/// Reads the JSON values of a text: one value if it is valid JSON, otherwise every object and array
/// that can be recovered. Empty if there is none, if the text exceeds [`TEXT_BYTES_MAX`], or if its
/// values exceed a default [`Budget`].
pub fn read(text: &str) -> Vec<Value> {
    read_within(text, &mut Budget::default())
}

/// Like [`read`], with a budget shared by several texts.
pub fn read_within(text: &str, budget: &mut Budget) -> Vec<Value> {
    let text = text.trim_ascii();
    if text.is_empty() || text.len() > TEXT_BYTES_MAX {
        return Vec::new();
    }
    read_with(text, budget, read_leniently)
}

/// Like [`read_within`], without the container that the text is cut off in.
fn read_whole(text: &str, budget: &mut Budget) -> Vec<Value> {
    let text = text.trim_ascii();
    if text.is_empty() || text.len() > TEXT_BYTES_MAX {
        return Vec::new();
    }
    read_with(text, budget, |text, budget| {
        let mut reader = Reader::new(text, Syntax::Json, &[], budget);
        let mut values = Vec::new();
        while let Some(mut value) = reader.next_container() {
            match (&mut value, reader.cut_depth()) {
                (_, 0) | (Value::Array(_), 1) => {}
                (Value::Array(list), _) => {
                    list.pop();
                }
                _ => continue,
            }
            values.extend(Some(value).filter(|value| !is_empty(value)));
        }
        values
    })
}

/// Reads a text strictly, or else with `leniently`; in either case again with its character
/// references decoded if its quotes are written so.
fn read_with(
    text: &str,
    budget: &mut Budget,
    leniently: impl Fn(&str, &mut Budget) -> Vec<Value>,
) -> Vec<Value> {
    if let Some(value) = read_strictly(text, budget) {
        return vec![value];
    }
    if !has_quoted_quotes(text) {
        return leniently(text, budget);
    }
    let decoded = decode_entities(text);
    match read_strictly(&decoded, budget) {
        Some(value) => vec![value],
        None => leniently(&decoded, budget),
    }
}

/// Reads a script of JSON-LD: its items in one flat list, however the script groups them (one
/// object, several after each other, an array). A `@graph` stays in its item. An item that is cut
/// off in the middle of a value is dropped. Decision D355.
pub fn read_json_ld(text: &str, budget: &mut Budget) -> Vec<Value> {
    let mut left = read_whole(text, budget);
    left.reverse();
    let mut items = Vec::new();
    while let Some(value) = left.pop() {
        match value {
            Value::Array(values) => left.extend(values.into_iter().rev()),
            Value::Object(_) => items.push(value),
            _ => {}
        }
    }
    items
}

fn read_strictly(text: &str, budget: &mut Budget) -> Option<Value> {
    if !budget.take_json(text) {
        return None;
    }
    let mut value = serde_json::from_str(text).ok()?;
    cut_depth(&mut value, DEPTH_MAX);
    Some(value)
}

/// Replaces values nested deeper than `left` by null. The strict parser's own limit bounds the
/// recursion.
fn cut_depth(value: &mut Value, left: usize) {
    match value {
        Value::Array(_) | Value::Object(_) if left == 0 => *value = Value::Null,
        Value::Array(values) => values
            .iter_mut()
            .for_each(|value| cut_depth(value, left - 1)),
        Value::Object(map) => map
            .values_mut()
            .for_each(|value| cut_depth(value, left - 1)),
        _ => {}
    }
}

fn read_leniently(text: &str, budget: &mut Budget) -> Vec<Value> {
    let mut reader = Reader::new(text, Syntax::Json, &[], budget);
    let values = std::iter::from_fn(|| reader.next_container());
    values.filter(|value| !is_empty(value)).collect()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(values) => values.is_empty(),
        _ => false,
    }
}

/// Whether the first quote of the text is written as a character reference.
fn has_quoted_quotes(text: &str) -> bool {
    let is_mark = |c: char| !matches!(c, '{' | '[') && !c.is_ascii_whitespace();
    let first = text.trim_start_matches(|c| !is_mark(c));
    first.len() < text.len()
        && ["&quot;", "&#34;", "&#034;", "&#x22;"]
            .iter()
            .any(|quote| first.starts_with(quote))
}
