//! Reads a JSON object field by field, so that errors name the field and unknown fields are
//! reported.

use serde::Deserializer;
use serde_json::value::RawValue;

use trawl_parameters::{Parameter, RequestObject};

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
pub(crate) fn read<T: RequestObject>(object: &RawValue) -> Result<Parsed<T>, WireError> {
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

#[cfg(test)]
mod tests {
    use trawl_parameters::ScrapeRequest;

    use super::super::body::objects;
    use super::*;

    fn unknown(parsed: &Parsed<ScrapeRequest>) -> Vec<&str> {
        let unknown = parsed.fields.unknown.iter();
        unknown.map(|unknown| unknown.path.as_str()).collect()
    }

    fn sent(body: &str) -> Result<Parsed<ScrapeRequest>, String> {
        let objects = objects(body.as_bytes(), 3).map_err(|error| error.to_string())?;
        read(objects[0]).map_err(|error| error.to_string())
    }

    fn refusal(body: &str) -> String {
        let refusal = sent(body).err();
        refusal.unwrap_or_else(|| panic!("{body:.100}"))
    }

    #[test]
    fn known_fields_are_read_and_unknown_ones_listed() {
        let body = r#"{"url":"a","limit":null,"x":1,"y":null,"deep":[[{}]],"prompt":"a"}"#;
        let parsed = sent(body).expect("fits");
        let ScrapeRequest { pages, crawls, .. } = &parsed.value;
        assert_eq!((pages.url.as_deref(), crawls.limit), (Some("a"), None));
        assert!(pages.router.is_none());
        let present: Vec<_> = parsed.fields.present.iter().map(|set| &set.path).collect();
        assert_eq!(present, ["url"]);
        // What only pipelines have is read by them.
        assert_eq!(unknown(&parsed), ["x", "deep", "prompt"]);
    }

    #[test]
    fn errors_name_the_field() {
        let check = |body: &str, expected: &str| {
            let error = refusal(body);
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
        let whole = sent(r#"{"limit":5.0}"#).expect("whole");
        assert_eq!(whole.value.crawls.limit, Some(5));
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
        let long = refusal(&format!("{{\"limit\":\"{}\"}}", "y".repeat(5_000)));
        assert!(long.len() < 400);
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        let parsed = sent(&format!("{{\"x\":{deep}}}")).expect("ignored");
        assert_eq!(unknown(&parsed), ["x"]);
        assert!(sent(&deep).is_err());
        assert!(sent(&"[".repeat(200_000)).is_err());
        assert!(objects(&[0xff], 1).is_err());
    }
}
