//! Kinds of values: what a vendor accepts as a parameter.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What a value has to be.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Any,
    Text,
    Flag,
    /// A whole number in this range.
    Whole(u64, u64),
    /// A number above 0, up to this.
    Amount(f64),
    OneOf(Vec<Value>),
    /// A code of two letters in lower or in upper case.
    LowerCode,
    UpperCode,
    /// An object with texts.
    Texts,
    /// A list of values of a kind.
    Each(Box<Kind>),
    /// An object without other members.
    Members(BTreeMap<String, Kind>),
    /// A value of one of these kinds.
    AnyOf(Vec<Kind>),
}

impl Kind {
    /// Whether the value is of this kind.
    pub(super) fn fits(&self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Whole(least, most) => value
                .as_u64()
                .is_some_and(|number| (*least..=*most).contains(&number)),
            Self::Amount(most) => value
                .as_f64()
                .is_some_and(|number| number > 0.0 && number <= *most),
            Self::OneOf(values) => values.contains(value),
            Self::LowerCode => is_code(value, |letter| letter.is_ascii_lowercase()),
            Self::UpperCode => is_code(value, |letter| letter.is_ascii_uppercase()),
            Self::Texts => value
                .as_object()
                .is_some_and(|members| members.values().all(Value::is_string)),
            Self::Each(kind) => value
                .as_array()
                .is_some_and(|items| items.iter().all(|item| kind.fits(item))),
            Self::Members(kinds) => value.as_object().is_some_and(|members| {
                let mut members = members.iter();
                members.all(|(name, value)| kinds.get(name).is_some_and(|kind| kind.fits(value)))
            }),
            Self::AnyOf(kinds) => kinds.iter().any(|kind| kind.fits(value)),
        }
    }
}

fn is_code(value: &Value, is_letter: fn(char) -> bool) -> bool {
    let code = value.as_str();
    code.is_some_and(|code| code.len() == 2 && code.chars().all(is_letter))
}

/// The value of a parameter in the query: a flag, a number or a list, where it looks like one.
pub(super) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fits(kind: Value, value: &Value) -> bool {
        let kind: Kind = serde_json::from_value(kind).expect("a kind");
        kind.fits(value)
    }

    #[test]
    fn values_are_of_their_kind() {
        let named = json!({"each": {"members": {"name": "text", "value": "text"}}});
        let action = json!({"any_of": ["flag", {"members": {"timeout": {"amount": 15.0}}}]});
        for (kind, good, bad) in [
            (json!("flag"), parsed("true"), parsed("yes")),
            (json!({"whole": [1, 5]}), parsed("5"), parsed("6")),
            (json!({"one_of": ["a", 1]}), json!("a"), json!("b")),
            (json!("lower_code"), json!("de"), json!("DE")),
            (json!("upper_code"), json!("DE"), json!("DEU")),
            (json!("texts"), json!({"a": "b"}), json!({"a": 1})),
            (
                named.clone(),
                json!([{"name": "a"}]),
                json!([{"fish": "a"}]),
            ),
            (named, json!([]), json!({"name": "a"})),
            (
                action.clone(),
                json!({"timeout": 15}),
                json!({"timeout": 15.5}),
            ),
            (action, json!(true), json!({"timeout": 0})),
        ] {
            assert!(fits(kind.clone(), &good), "{kind} {good}");
            assert!(!fits(kind.clone(), &bad), "{kind} {bad}");
        }
    }
}
