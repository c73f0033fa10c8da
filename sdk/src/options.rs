//! Deserialises options to the author's type, with errors that name the option.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Failure;

const NOT_AN_OBJECT: &str = "options must be a JSON object";

/// Deserialises a plugin's options. An empty object yields the type's default.
pub(crate) fn read<T: DeserializeOwned + Default>(json: &str) -> Result<T, Failure> {
    if matches!(json.trim_ascii(), "" | "{}" | "null") {
        return Ok(T::default());
    }
    if !json.trim_ascii_start().starts_with('{') {
        // Serde would also deserialise a struct from an array.
        return Err(Failure::InvalidOptions(NOT_AN_OBJECT.to_owned()));
    }
    serde_json::from_str(json).map_err(|error| explain::<T>(json, &error))
}

/// Serialises an extractor's answer.
pub(crate) fn write(answer: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(answer).map_err(|error| {
        Failure::Failed(format!("the answer cannot be serialised to JSON: {error}"))
    })
}

/// Finds the invalid option by deserialising each one separately.
fn explain<T: DeserializeOwned>(json: &str, error: &serde_json::Error) -> Failure {
    let options: Map<String, Value> = match serde_json::from_str(json) {
        Ok(options) => options,
        Err(_) => return Failure::InvalidOptions(NOT_AN_OBJECT.to_owned()),
    };
    let wrong = options.into_iter().find_map(|(name, value)| {
        let alone = Value::Object(Map::from_iter([(name.clone(), value)]));
        let error = serde_json::from_value::<T>(alone).err()?.to_string();
        (!error.starts_with("missing field")).then_some((name, error))
    });
    match wrong {
        Some((name, reason)) => Failure::invalid_option(&name, reason),
        None => Failure::InvalidOptions(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Options {
        size: u32,
        title: String,
    }

    #[test]
    fn an_empty_object_is_the_default() {
        for json in ["", "{}", " { } ", "null"] {
            assert_eq!(read::<Options>(json), Ok(Options::default()), "{json:?}");
        }
    }

    #[test]
    fn a_wrong_option_is_named() {
        let message = |json| {
            read::<Options>(json)
                .expect_err("wrong options")
                .to_string()
        };
        assert_eq!(
            message(r#"{"title":"x","size":"big"}"#),
            "invalid options: `size`: invalid type: string \"big\", expected u32"
        );
        assert!(message(r#"{"colour":1}"#).starts_with("invalid options: `colour`: unknown field"));
        assert_eq!(
            message("[1]"),
            "invalid options: options must be a JSON object"
        );
    }
}
