//! The values of a script, and the budget for creating them.

use std::rc::Rc;

use super::decode;

/// The budget of all scripts of a page: bytes of strings, and [`ELEMENT_COST`] for each list
/// element. Obfuscation code needs far less; a few lines that double a string each time would
/// exhaust the memory.
const BUDGET: usize = 8_000_000;
/// The cost of a list element or a single value: about its size in bytes.
pub(super) const ELEMENT_COST: usize = 32;
/// Maximum nesting of lists: they are written and dropped recursively.
const LISTS_DEPTH_MAX: usize = 8;
/// Maximum length of a string that `+` creates, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 20_000;

/// The remaining budget of the scripts of a page.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(BUDGET)
    }
}

impl Budget {
    /// Deducts a cost; `None`, then and later, if it exceeds the rest of the budget.
    pub(super) fn take(&mut self, cost: usize) -> Option<()> {
        let left = self.0.checked_sub(cost);
        self.0 = left.unwrap_or(0);
        left.map(|_| ())
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.0 == 0
    }
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    List(Rc<List>),
    Number(f64),
}

#[derive(Debug)]
pub(super) struct List {
    pub(super) values: Vec<Value>,
    /// Nesting depth, including this list.
    depth: usize,
}

impl Value {
    /// A list; `None` if it is nested too deeply.
    pub(super) fn list(values: Vec<Value>) -> Option<Self> {
        let depth = values.iter().map(|value| match value {
            Self::List(list) => list.depth,
            _ => 0,
        });
        let depth = depth.max().unwrap_or(0) + 1;
        (depth <= LISTS_DEPTH_MAX).then(|| Self::List(Rc::new(List { values, depth })))
    }

    /// A copy, charged to the budget.
    pub(super) fn copied(&self, budget: &mut Budget) -> Option<Self> {
        let n_bytes = match self {
            Self::Text(text) => text.len(),
            Self::List(_) | Self::Number(_) => 0,
        };
        budget.take(ELEMENT_COST + n_bytes)?;
        Some(self.clone())
    }

    /// Appends the value to a string as JavaScript would.
    pub(super) fn write_to(&self, text: &mut String, budget: &mut Budget) -> Option<()> {
        match self {
            Self::Text(own) => {
                budget.take(1 + own.len())?;
                text.push_str(own);
            }
            Self::Number(number) => {
                let number = number.to_string();
                budget.take(number.len())?;
                text.push_str(&number);
            }
            Self::List(list) => write_joined(&list.values, ",", text, budget)?,
        }
        Some(())
    }
}

fn write_joined(
    values: &[Value],
    separator: &str,
    text: &mut String,
    budget: &mut Budget,
) -> Option<()> {
    for (n, value) in values.iter().enumerate() {
        budget.take(1 + separator.len())?;
        if n > 0 {
            text.push_str(separator);
        }
        value.write_to(text, budget)?;
    }
    Some(())
}

/// `left + right`.
pub(super) fn joined(left: Value, right: &Value, budget: &mut Budget) -> Option<Value> {
    if let (Value::Number(left), Value::Number(right)) = (&left, right) {
        return Some(Value::Number(left + right));
    }
    let mut text = match left {
        Value::Text(text) => text,
        left => {
            let mut text = String::new();
            left.write_to(&mut text, budget)?;
            text
        }
    };
    let n_bytes = text.len();
    right.write_to(&mut text, budget)?;
    if text.len() >= TEXT_BYTES_MAX {
        text.truncate(n_bytes);
    }
    Some(Value::Text(text))
}

/// Calls a method; `None` for unknown ones.
pub(super) fn method(
    name: &str,
    of: &Value,
    arguments: &[Value],
    budget: &mut Budget,
) -> Option<Value> {
    let first = match arguments.first() {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    match (name, of) {
        ("split", Value::Text(text)) => {
            let separator = first?;
            budget.take(text.len())?;
            let mut parts = Vec::new();
            let mut add = |part: String| {
                budget.take(ELEMENT_COST + part.len())?;
                parts.push(Value::Text(part));
                Some(())
            };
            if separator.is_empty() {
                text.chars().try_for_each(|c| add(c.to_string()))?;
            } else {
                text.split(separator)
                    .try_for_each(|part| add(part.to_owned()))?;
            }
            Value::list(parts)
        }
        ("reverse", Value::List(list)) => {
            let values: Option<Vec<Value>> = list
                .values
                .iter()
                .rev()
                .map(|value| value.copied(budget))
                .collect();
            Value::list(values?)
        }
        ("join", Value::List(list)) => {
            let mut text = String::new();
            write_joined(&list.values, first.unwrap_or(","), &mut text, budget)?;
            Some(Value::Text(text))
        }
        ("concat", Value::Text(text)) => {
            budget.take(text.len())?;
            let mut text = text.clone();
            for argument in arguments {
                argument.write_to(&mut text, budget)?;
            }
            Some(Value::Text(text))
        }
        ("toString" | "trim" | "toLowerCase" | "valueOf", Value::Text(_)) => of.copied(budget),
        _ => None,
    }
}

/// `text.replaceAll(pattern, new)`.
pub(super) fn replaced(text: &str, pattern: &str, new: &str, budget: &mut Budget) -> Option<Value> {
    let n_places = text.matches(pattern).count();
    budget.take(
        n_places
            .saturating_mul(new.len())
            .saturating_add(text.len()),
    )?;
    Some(Value::Text(text.replace(pattern, new)))
}

/// A string in ROT13.
pub(super) fn rotated(text: &str, budget: &mut Budget) -> Option<Value> {
    budget.take(text.len())?;
    Some(Value::Text(decode::rot13(text)))
}

/// Calls a function; `None` for unknown ones.
pub(super) fn function(name: &str, values: &[Value], budget: &mut Budget) -> Option<Value> {
    if name == "fromCharCode" || name == "fromCodePoint" {
        let values = match values {
            [Value::List(list)] => list.values.as_slice(),
            values => values,
        };
        budget.take(values.len() * size_of::<char>())?;
        let characters = values.iter().map(|value| match value {
            Value::Number(code) => char::from_u32(*code as u32),
            Value::Text(code) => char::from_u32(code.parse().ok()?),
            Value::List(_) => None,
        });
        return characters.collect::<Option<String>>().map(Value::Text);
    }
    let [Value::Text(text)] = values else {
        return None;
    };
    budget.take(text.len())?;
    Some(Value::Text(match name {
        "atob" => decode::base64(text)?,
        "unescape" | "decodeURIComponent" | "decodeURI" => crate::page::percent_decoded(text),
        _ if name.to_ascii_lowercase().contains("rot13") => decode::rot13(text),
        _ => return None,
    }))
}
