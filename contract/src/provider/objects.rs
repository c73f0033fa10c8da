//! Headers and cookies in JSON, in the forms that many services use.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A header or cookie as a JSON object of its name (or `key`) and its value; other members are
/// ignored.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Named {
    /// The name.
    #[serde(alias = "key")]
    pub name: String,
    /// The value.
    pub value: String,
}

impl Named {
    /// Name and value of each.
    pub fn pairs(list: Vec<Self>) -> Vec<(String, String)> {
        let list = list.into_iter();
        list.map(|one| (one.name, one.value)).collect()
    }
}

/// Converts headers to a JSON object; values of a repeated name are joined with `, `.
pub fn header_object(headers: &[(String, String)]) -> Value {
    let mut object = Map::new();
    for (name, value) in headers {
        match object.get_mut(name) {
            Some(Value::String(known)) => {
                known.push_str(", ");
                known.push_str(value);
            }
            _ => {
                object.insert(name.clone(), value.clone().into());
            }
        }
    }
    Value::Object(object)
}

/// Converts a JSON object to headers; an array, or a string of several lines, is a repeated header.
pub fn header_pairs(object: &Map<String, Value>) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for (name, value) in object {
        match value {
            Value::Array(values) => {
                pairs.extend(values.iter().map(|one| (name.clone(), json_text(one))))
            }
            one => {
                let lines = json_text(one);
                pairs.extend(lines.lines().map(|line| (name.clone(), line.to_owned())));
            }
        }
    }
    pairs
}

/// A string without its quotes; any other value as JSON.
pub fn json_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn repeated_headers_survive_both_ways() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = [pair("Accept", "a"), pair("X-One", "1"), pair("Accept", "b")];
        assert_eq!(
            header_object(&headers),
            json!({"Accept": "a, b", "X-One": "1"})
        );
        let object = json!({"age": 5, "set-cookie": ["a=b", "c=d"], "vary": "x\ny"});
        let object = object.as_object().expect("an object");
        let expected = [
            pair("age", "5"),
            pair("set-cookie", "a=b"),
            pair("set-cookie", "c=d"),
            pair("vary", "x"),
            pair("vary", "y"),
        ];
        assert_eq!(header_pairs(object), expected);
    }
}
