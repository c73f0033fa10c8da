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
    if let Some(value) = read_strictly(text, budget) {
        return vec![value];
    }
    if !has_quoted_quotes(text) {
        return read_leniently(text, budget);
    }
    let decoded = decode_entities(text);
    match read_strictly(&decoded, budget) {
        Some(value) => vec![value],
        None => read_leniently(&decoded, budget),
    }
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
