//! Reads a JSON object field by field, so that errors name the field and unknown fields are
//! reported.

use serde::de::{
    self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::value::RawValue;

/// Most fields of one object. All parameters together are under a hundred.
const FIELDS_MAX: usize = 1_000;
/// Most bytes of one field's JSON, except for the large fields of a type: parsed JSON takes several
/// times as much memory.
const FIELD_BYTES_MAX: usize = 1_000_000;
/// Most characters of an error text; the parser quotes the input.
const REASON_CHARS_MAX: usize = 300;
/// Fields whose values are never quoted in an error.
const SECRET_FIELDS: [&str; 6] = [
    "router",
    "headers",
    "cookies",
    "evaluate_on_new_document",
    "automation_scripts",
    "execution_scripts",
];

/// A request object.
pub(crate) trait WireObject: for<'de> Deserialize<'de> {
    /// Fields that may be larger than a megabyte; their types must not take much more memory than
    /// the JSON.
    const LARGE_FIELDS: &'static [&'static str];
}

/// A request object as it was sent.
#[derive(Debug)]
pub(crate) struct Sent<T> {
    /// Its known fields.
    pub value: T,
    /// Names of known fields that are set: neither `null` nor `false`.
    pub present: Vec<&'static str>,
    /// Names of unknown fields that are not `null`.
    pub unknown: Vec<String>,
}

/// JSON that does not have the expected shape; a 400 for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireError {
    field: Option<String>,
    reason: String,
}

impl WireError {
    /// An error of the whole body.
    pub fn body(reason: impl Into<String>) -> Self {
        Self {
            field: None,
            reason: reason.into(),
        }
    }

    /// An error of the parser, in a field or outside of any.
    pub fn json(field: Option<&str>, error: &serde_json::Error) -> Self {
        let text = error.to_string();
        // The parser counts positions from the start of the field, not of the body.
        let reason = match (field, text.rfind(" at line ")) {
            (Some(field), _) if SECRET_FIELDS.contains(&field) => "has the wrong type or form",
            (Some(_), Some(end)) => &text[..end],
            _ => &text,
        };
        Self {
            field: field.map(str::to_owned),
            reason: reason.chars().take(REASON_CHARS_MAX).collect(),
        }
    }
}

impl std::fmt::Display for WireError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.field {
            Some(field) => write!(f, "Deserialization error: {field}: {}", self.reason),
            None => write!(f, "Deserialization error: {}", self.reason),
        }
    }
}

impl std::error::Error for WireError {}

impl de::Error for WireError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::body(message.to_string())
    }
}

/// The objects of a body: one, or an array of at most `count_max`.
///
/// # Errors
/// The body is not JSON, or neither an object nor an array of them.
pub(crate) fn objects(body: &[u8], count_max: usize) -> Result<Vec<&RawValue>, WireError> {
    let text = std::str::from_utf8(body).map_err(|_| WireError::body("the body is not UTF-8"))?;
    let text = text.trim_start_matches('\u{feff}').trim_ascii();
    if text.is_empty() {
        return Err(WireError::body("the body is empty, send a JSON object"));
    }
    let whole: &RawValue =
        serde_json::from_str(text).map_err(|error| WireError::json(None, &error))?;
    if !text.starts_with('[') {
        return Ok(vec![whole]);
    }
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_seq(Objects { count_max })
        .map_err(|error| WireError::json(None, &error))
}

struct Objects {
    count_max: usize,
}

impl<'de> Visitor<'de> for Objects {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of request objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut objects = Vec::new();
        while let Some(object) = items.next_element()? {
            if objects.len() == self.count_max {
                return Err(de::Error::custom(format!(
                    "more than {} request objects in one body",
                    self.count_max
                )));
            }
            objects.push(object);
        }
        Ok(objects)
    }
}

/// Reads one object.
///
/// # Errors
/// It is not an object, a field has the wrong type, or there are too many fields.
pub(crate) fn read<T: WireObject>(object: &RawValue) -> Result<Sent<T>, WireError> {
    let mut json = serde_json::Deserializer::from_str(object.get());
    let fields = json
        .deserialize_map(Fields)
        .map_err(|error| WireError::json(None, &error))?;
    let mut reader = Reader {
        fields: fields.into_iter(),
        current: None,
        known: &[],
        large: T::LARGE_FIELDS,
        present: Vec::new(),
        unknown: Vec::new(),
    };
    let value = T::deserialize(&mut reader)?;
    Ok(Sent {
        value,
        present: reader.present,
        unknown: reader.unknown,
    })
}

/// Visits an object and returns its fields with their JSON.
pub(crate) struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            if fields.len() == FIELDS_MAX {
                return Err(de::Error::custom(format!(
                    "more than {FIELDS_MAX} fields in one object"
                )));
            }
            fields.push(entry);
        }
        Ok(fields)
    }
}

struct Reader<'de> {
    fields: std::vec::IntoIter<(String, &'de RawValue)>,
    current: Option<(&'static str, &'de RawValue)>,
    known: &'static [&'static str],
    large: &'static [&'static str],
    present: Vec<&'static str>,
    unknown: Vec<String>,
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
                self.unknown.push(name);
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, WireError> {
        let Some((field, value)) = self.current.take() else {
            return Err(de::Error::custom("a value was read before its field"));
        };
        let json = value.get();
        if json.len() > FIELD_BYTES_MAX && !self.large.contains(&field) {
            return Err(WireError {
                field: Some(field.to_owned()),
                reason: format!("its JSON is longer than {FIELD_BYTES_MAX} bytes"),
            });
        }
        if !matches!(json, "null" | "false") {
            self.present.push(field);
        }
        seed.deserialize(&mut serde_json::Deserializer::from_str(json))
            .map_err(|error| WireError::json(Some(field), &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Small {
        url: Option<String>,
        limit: Option<u32>,
        router: Option<u32>,
    }

    impl WireObject for Small {
        const LARGE_FIELDS: &'static [&'static str] = &["url"];
    }

    fn small(body: &str) -> Result<Sent<Small>, String> {
        let objects = objects(body.as_bytes(), 3).map_err(|error| error.to_string())?;
        read(objects[0]).map_err(|error| error.to_string())
    }

    #[test]
    fn known_fields_are_read_and_unknown_ones_listed() {
        let sent = small(r#"{"url":"a","limit":null,"x":1,"y":null,"deep":[[{}]]}"#).expect("fits");
        assert_eq!(
            (sent.value.url.as_deref(), sent.value.limit),
            (Some("a"), None)
        );
        assert_eq!(sent.value.router, None);
        assert_eq!(sent.present, ["url"]);
        assert_eq!(sent.unknown, ["x", "deep"]);
    }

    #[test]
    fn errors_name_the_field() {
        let check = |body: &str, expected: &str| {
            let error = small(body).expect_err(body);
            assert!(error.starts_with("Deserialization error: "), "{error}");
            assert!(error.contains(expected), "{error}");
        };
        check(
            r#"{"limit":"x"}"#,
            "limit: invalid type: string \"x\", expected u32",
        );
        check(r#"{"limit":-1}"#, "limit: invalid value");
        check(r#"{"limit":1e999}"#, "limit: number out of range");
        check(r#"{"limit":99999999999999999999}"#, "limit: invalid");
        check(r#"{"limit":1,"limit":2}"#, "duplicate field `limit`");
        check(r#"{"router":"canary"}"#, "router: has the wrong type");
        check(r#"{"limit""#, "EOF");
        check("", "the body is empty");
        check(" \n", "the body is empty");
        check("3", "expected a JSON object");
        check("null", "expected a JSON object");
        check("[[]]", "expected a JSON object");
        check("{} {}", "trailing characters");
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
        assert_eq!(
            small(&format!("{{\"x\":{deep}}}"))
                .expect("ignored")
                .unknown,
            ["x"]
        );
        assert!(small(&deep).is_err());
        assert!(small(&"[".repeat(200_000)).is_err());
        assert!(objects(&[0xff], 1).is_err());
    }
}
