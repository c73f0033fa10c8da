//! Reads a JSON object field by field, so that errors name the field and unknown fields are
//! reported.

use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::value::RawValue;

use trawl_parameters::{self as parameters, Parameter, RequestObject};

use super::body::{FIELDS, WireError};
use super::check::{SentFields, Unknown};
use super::integers::with_integers;

/// Most bytes of one field's JSON, except for large parameters: parsed JSON takes several times as
/// much memory.
const FIELD_BYTES_MAX: usize = 1_000_000;

/// A request object as it was sent.
#[derive(Debug)]
pub(crate) struct Parsed<T> {
    /// Its known fields.
    pub value: T,
    /// Which fields are set, and which are not known.
    pub fields: SentFields,
}

/// Reads one object.
///
/// # Errors
/// It is not an object, a field has the wrong type, or there are too many fields.
pub(crate) fn read<T: for<'de> Deserialize<'de>>(
    object: &RawValue,
) -> Result<Parsed<T>, WireError> {
    let text = with_integers(object.get());
    let mut json = serde_json::Deserializer::from_str(&text);
    let fields = json
        .deserialize_map(FIELDS)
        .map_err(|error| WireError::json(None, &error))?;
    let mut reader = Reader {
        fields: fields.into_iter(),
        current: None,
        known: &[],
        sent_fields: SentFields::default(),
    };
    let value = T::deserialize(&mut reader)?;
    Ok(Parsed {
        value,
        fields: reader.sent_fields,
    })
}

/// The same for a type whose fields are rows of the tables.
///
/// # Errors
/// See [`read`].
pub(crate) fn read_object<T: RequestObject>(object: &RawValue) -> Result<Parsed<T>, WireError> {
    let text = with_integers(object.get());
    let mut json = serde_json::Deserializer::from_str(&text);
    let sent = json
        .deserialize_map(FIELDS)
        .map_err(|error| WireError::json(None, &error))?;
    let mut parsed = Parsed {
        value: T::default(),
        fields: SentFields::default(),
    };
    let mut known: Vec<String> = Vec::new();
    for (name, json) in sent {
        let Some(row) = T::row(&name) else {
            parsed.add_unknown(name, json);
            continue;
        };
        if known.contains(&name) {
            return Err(WireError::body(format!("duplicate field `{name}`")));
        }
        parsed.read_field(row, &name, json)?;
        known.push(name);
    }
    Ok(parsed)
}

impl<T: RequestObject> Parsed<T> {
    fn read_field(
        &mut self,
        row: &'static Parameter,
        name: &str,
        value: &RawValue,
    ) -> Result<(), WireError> {
        let json = value.get();
        if json.len() > FIELD_BYTES_MAX && !row.is_large {
            let reason = format!("its JSON is longer than {FIELD_BYTES_MAX} bytes");
            return Err(WireError::at(name, reason));
        }
        self.fields.read(row, name, value)?;
        let set = self.value.set(name, json);
        set.map_err(|error| WireError::json(Some(name), &error))?;
        Ok(())
    }

    fn add_unknown(&mut self, name: String, value: &RawValue) {
        if value.get() != "null" {
            self.fields.unknown.push(Unknown {
                path: name,
                nearest: None,
            });
        }
    }
}

struct Reader<'de> {
    fields: std::vec::IntoIter<(String, &'de RawValue)>,
    current: Option<(&'static str, &'de RawValue)>,
    known: &'static [&'static str],
    sent_fields: SentFields,
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = WireError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, WireError> {
        visitor.visit_map(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, WireError> {
        self.known = fields;
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for &mut Reader<'de> {
    type Error = WireError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, WireError> {
        for (name, value) in self.fields.by_ref() {
            if let Some(&known) = self.known.iter().find(|&&known| known == name) {
                self.current = Some((known, value));
                return seed.deserialize(known.into_deserializer()).map(Some);
            }
            if value.get() != "null" {
                let nearest = None;
                self.sent_fields.unknown.push(Unknown {
                    path: name,
                    nearest,
                });
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, WireError> {
        let Some((field, value)) = self.current.take() else {
            return Err(de::Error::custom("a value was read before its field"));
        };
        let json = value.get();
        let row = parameters::find(field);
        if json.len() > FIELD_BYTES_MAX && row.is_none_or(|row| !row.is_large) {
            let reason = format!("its JSON is longer than {FIELD_BYTES_MAX} bytes");
            return Err(WireError::at(field, reason));
        }
        if let Some(row) = row {
            self.sent_fields.read(row, field, value)?;
        }
        seed.deserialize(&mut serde_json::Deserializer::from_str(json))
            .map_err(|error| WireError::json(Some(field), &error))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::super::body::objects;
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Small {
        url: Option<String>,
        limit: Option<u32>,
        router: Option<Map<String, Value>>,
    }

    fn unknown(parsed: &Parsed<Small>) -> Vec<&str> {
        let unknown = parsed.fields.unknown.iter();
        unknown.map(|unknown| unknown.path.as_str()).collect()
    }

    fn small(body: &str) -> Result<Parsed<Small>, String> {
        let objects = objects(body.as_bytes(), 3).map_err(|error| error.to_string())?;
        read(objects[0]).map_err(|error| error.to_string())
    }

    #[test]
    fn known_fields_are_read_and_unknown_ones_listed() {
        let parsed =
            small(r#"{"url":"a","limit":null,"x":1,"y":null,"deep":[[{}]]}"#).expect("fits");
        assert_eq!(
            (parsed.value.url.as_deref(), parsed.value.limit),
            (Some("a"), None)
        );
        assert_eq!(parsed.value.router, None);
        let present: Vec<_> = parsed.fields.present.iter().map(|set| &set.path).collect();
        assert_eq!(present, ["url"]);
        assert_eq!(unknown(&parsed), ["x", "deep"]);
    }

    #[test]
    fn errors_name_the_field() {
        let check = |body: &str, expected: &str| {
            let error = small(body).expect_err(body);
            assert!(error.contains(expected), "{error}");
            // Only a wrong type begins with these words.
            let is_type = ["limit: ", "router: "];
            let is_type = is_type.iter().any(|path| expected.starts_with(path));
            let prefix = "Deserialization error: ";
            assert_eq!(error.starts_with(prefix), is_type, "{error}");
        };
        check(
            r#"{"limit":"x"}"#,
            "limit: invalid type: string \"x\", expected a whole number of pages",
        );
        check(r#"{"limit":-1}"#, "limit: invalid value");
        check(r#"{"limit":1e999}"#, "limit: number out of range");
        check(r#"{"limit":99999999999999999999}"#, "limit: invalid");
        check(r#"{"limit":1,"limit":2}"#, "duplicate field `limit`");
        check(r#"{"router":"canary"}"#, "router: has the wrong type");
        check(r#"{"limit""#, "the body is not valid JSON: EOF");
        check(r#"{"limit":1.5}"#, "limit: invalid value");
        assert_eq!(
            small(r#"{"limit":5.0}"#).expect("whole").value.limit,
            Some(5)
        );
        check("", "the body is empty");
        check(" \n", "the body is empty");
        check("3", "expected a JSON object");
        check("null", "expected a JSON object");
        check("[[]]", "expected a JSON object");
        check("{} {}", "the body is not valid JSON: trailing characters");
        check("[{},{},{},{}]", "more than 3 request objects");
        check(
            &format!("{{\"limit\":\"{}\"}}", "y".repeat(5_000)),
            "limit: invalid",
        );
        check(
            &format!("{{\"limit\":{}}}", " ".repeat(10) + &"1".repeat(1_000_001)),
            "longer than",
        );
    }

    #[test]
    fn error_texts_stay_short_and_deep_json_is_harmless() {
        let long =
            small(&format!("{{\"limit\":\"{}\"}}", "y".repeat(5_000))).expect_err("wrong type");
        assert!(long.len() < 400);
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        let parsed = small(&format!("{{\"x\":{deep}}}")).expect("ignored");
        assert_eq!(unknown(&parsed), ["x"]);
        assert!(small(&deep).is_err());
        assert!(small(&"[".repeat(200_000)).is_err());
        assert!(objects(&[0xff], 1).is_err());
    }
}
