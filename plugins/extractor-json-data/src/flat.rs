//! Values serialized as a flat list whose entries refer to each other by index.

use serde_json::{Map, Value};
use trawl_embedded::Budget;

/// Maximum depth of a decoded value; deeper values and cycles become null.
const DEPTH_MAX: usize = 64;

/// Approximate size of a decoded value in bytes.
const PART_BYTES: usize = 96;

/// Additional size of an object in bytes.
const OBJECT_BYTES: usize = 640;

/// The serialization format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `devalue`, as in Nuxt 3 and SvelteKit: an array that starts with a name is a value of that
    /// type.
    Devalue,
    /// `turbo-stream`, as in Remix and React Router: keys are references too, `{"_1": 2}`.
    TurboStream,
}

/// Decodes the list; `None` if it has a different format or its value is too large.
pub(crate) fn revive(list: &Value, style: Style, budget: &mut Budget) -> Option<Value> {
    let parts = list.as_array().filter(|parts| !parts.is_empty())?;
    let mut reviver = Reviver {
        parts,
        style,
        budget,
        path: Vec::new(),
        is_over_budget: false,
    };
    let value = reviver.part(0);
    (!reviver.is_over_budget).then_some(value)
}

struct Reviver<'a> {
    parts: &'a [Value],
    style: Style,
    budget: &'a mut Budget,
    /// Indices of the enclosing values, outermost first.
    path: Vec<usize>,
    is_over_budget: bool,
}

impl Reviver<'_> {
    /// The value of a reference.
    fn reference(&mut self, reference: &Value) -> Value {
        // Negative indices stand for values that JSON does not have.
        let place = reference
            .as_u64()
            .and_then(|place| usize::try_from(place).ok());
        place.map_or(Value::Null, |place| self.part(place))
    }

    fn part(&mut self, place: usize) -> Value {
        let parts = self.parts;
        let Some(part) = parts.get(place) else {
            return Value::Null;
        };
        if self.path.len() >= DEPTH_MAX || self.path.contains(&place) || self.is_over_budget {
            return Value::Null;
        }
        let length = part.as_str().map_or(0, str::len);
        self.charge(PART_BYTES + length);
        if self.is_over_budget {
            return Value::Null;
        }
        self.path.push(place);
        let value = match part {
            Value::Array(values) => self.array(values),
            Value::Object(map) => self.object(map),
            scalar => scalar.clone(),
        };
        self.path.pop();
        value
    }

    fn charge(&mut self, bytes: usize) {
        self.is_over_budget |= !self.budget.take(bytes);
    }

    fn object(&mut self, map: &Map<String, Value>) -> Value {
        self.charge(OBJECT_BYTES);
        let mut revived = Map::new();
        for (key, reference) in map {
            if self.is_over_budget {
                break;
            }
            self.charge(PART_BYTES + key.len());
            let value = self.reference(reference);
            if let Some(key) = self.key(key) {
                revived.insert(key, value);
            }
        }
        Value::Object(revived)
    }

    fn key(&self, key: &str) -> Option<String> {
        match self.style {
            Style::Devalue => Some(key.to_owned()),
            Style::TurboStream => {
                let place: usize = key.strip_prefix('_')?.parse().ok()?;
                self.parts.get(place)?.as_str().map(str::to_owned)
            }
        }
    }

    fn array(&mut self, values: &[Value]) -> Value {
        let Some((Value::String(kind), inside)) = values.split_first() else {
            return self.list(values);
        };
        match (kind.as_str(), inside) {
            ("Set" | "S", members) => self.list(members),
            ("Map" | "M", entries) => self.pairs(entries),
            ("null" | "N", entries) => self.pairs(entries),
            // Dates, big integers and URLs are texts.
            (_, [text @ Value::String(_), ..]) => text.clone(),
            ("D", [time, ..]) => time.clone(),
            // Reactive values and promises are replaced by their content.
            (_, [inner, ..]) => self.reference(inner),
            (_, []) => Value::Null,
        }
    }

    fn list(&mut self, references: &[Value]) -> Value {
        self.charge(references.len().saturating_mul(PART_BYTES));
        let mut values = Vec::new();
        for reference in references {
            if self.is_over_budget {
                break;
            }
            values.push(self.reference(reference));
        }
        Value::Array(values)
    }

    /// Alternating keys and values. Keys that are not strings are serialized as JSON.
    fn pairs(&mut self, entries: &[Value]) -> Value {
        self.charge(OBJECT_BYTES);
        let mut map = Map::new();
        for pair in entries.chunks_exact(2) {
            if self.is_over_budget {
                break;
            }
            self.charge(PART_BYTES);
            let key = match &pair[0] {
                Value::String(key) => Value::String(key.clone()),
                reference => self.reference(reference),
            };
            let value = self.reference(&pair[1]);
            map.insert(
                key.as_str().map_or_else(|| key.to_string(), str::to_owned),
                value,
            );
        }
        Value::Object(map)
    }
}

#[cfg(test)]
mod tests {
    use super::{Style, revive};
    use serde_json::{Value, json};
    use trawl_embedded::Budget;

    #[track_caller]
    fn check(list: Value, style: Style, expected: Value) {
        assert_eq!(
            revive(&list, style, &mut Budget::default()),
            Some(expected),
            "{list}"
        );
    }

    #[test]
    fn a_devalue_list_becomes_the_value_again() {
        check(
            json!([["ShallowReactive", 1], {"data": 2, "at": 5, "n": 3, "u": -1, "m": 6, "s": 8}, [3, 4, 3], 7, "x", ["Date", "2024-05-17"],
                ["Map", 4, 3], 0, ["Set", 3, 4], ["EmptyRef", 4]]),
            Style::Devalue,
            json!({"data": [7, "x", 7], "at": "2024-05-17", "n": 7, "u": null, "m": {"x": 7}, "s": [7, "x"]}),
        );
    }

    #[test]
    fn a_turbo_stream_becomes_the_value_again() {
        check(
            json!([{"_1": 2}, "loaderData", {"_3": 4, "_6": -5}, "root", [5, 5], "x", "none"]),
            Style::TurboStream,
            json!({"loaderData": {"root": ["x", "x"], "none": null}}),
        );
    }

    #[test]
    fn lists_that_refer_to_themselves_end() {
        check(
            json!([{"a": 0, "b": 1}, [0, 1, 9]]),
            Style::Devalue,
            json!({"a": null, "b": [null, null, null]}),
        );
    }

    #[test]
    fn lists_that_would_grow_without_end_are_left_out() {
        let mut list: Vec<Value> = (1..60).map(|next| json!([next, next])).collect();
        list.push(json!("x"));
        assert_eq!(
            revive(&json!(list), Style::Devalue, &mut Budget::default()),
            None
        );
        assert_eq!(
            revive(&json!([]), Style::Devalue, &mut Budget::default()),
            None
        );
        assert_eq!(
            revive(&json!({"a": 1}), Style::Devalue, &mut Budget::default()),
            None
        );
    }
}
