//! Small JSON objects, read field by field so that an error names the field.

use std::collections::BTreeMap;
use std::fmt;

use axum::extract::Request;
use axum::http::Method;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use trawl_model::{Nanodollars, money::NotDollars};

use super::body;
use super::error::ApiError;

/// Most characters of what the JSON reader says about a body.
const REASON_CHARS_MAX: usize = 300;

/// Maximum size of such an object. Its longest field is a webhook URL.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// Largest exponent of an amount; no valid amount needs a larger one.
const EXPONENT_MAX: u32 = 30;

/// The fields of an object, unparsed. A duplicate field is an error.
pub(crate) struct Unique(pub(crate) BTreeMap<String, Box<RawValue>>);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(UniqueVisitor)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format!("duplicate field `{name}`")));
            }
            fields.insert(name, value);
        }
        Ok(Unique(fields))
    }
}

/// The fields of an object. A field that is null counts as missing.
pub(crate) struct Fields(BTreeMap<String, Box<RawValue>>);

impl Fields {
    /// Reads the body of a request, which may have these fields only. An empty body is an empty
    /// object; a POST with one needs no `Content-Type`. A PUT without a body would replace what is
    /// stored by nothing, so its body must be an object. Decision D261.
    ///
    /// # Errors
    /// The body is not a JSON object, is too large, or has an unknown field.
    pub(crate) async fn read(request: Request, known: &[&'static str]) -> Result<Self, ApiError> {
        if *request.method() == Method::POST && body::is_absent(&request) {
            return Self::of(b"", known);
        }
        let body = body::read_json(request, BODY_BYTES_MAX).await?;
        Self::of(&body, known)
    }

    fn of(body: &[u8], known: &[&'static str]) -> Result<Self, ApiError> {
        let body = match body.trim_ascii() {
            b"" => b"{}",
            body => body,
        };
        let Unique(fields) = serde_json::from_slice(body).map_err(|error| {
            ApiError::Invalid(format!("send a JSON object: {}", reason_of(&error)))
        })?;
        let set = fields.iter().filter(|(_, value)| value.get() != "null");
        let mut names = set.map(|(name, _)| name.as_str());
        let unknown = names.find(|name| !known.contains(name)).map(str::to_owned);
        match unknown {
            None => Ok(Self(fields)),
            Some(unknown) => {
                let unknown: String = unknown.chars().take(100).collect();
                let reason = match known {
                    [] => "unknown field, this request has none".to_owned(),
                    known => format!("unknown field, expected `{}`", known.join("`, `")),
                };
                Err(invalid(&unknown, &reason))
            }
        }
    }

    /// Checks that a field is in the object, if only as null: what null removes is not removed by
    /// an object without the field. `expected` says what to send.
    ///
    /// # Errors
    /// The object has no such field.
    pub(crate) fn check_given(&self, name: &str, expected: &str) -> Result<(), ApiError> {
        match self.0.contains_key(name) {
            true => Ok(()),
            false => Err(invalid(name, &format!("is missing: send {expected}"))),
        }
    }

    /// A string field.
    ///
    /// # Errors
    /// The value is not a string.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, ApiError> {
        self.value(name)
            .map(|value| serde_json::from_str(value).map_err(|_| invalid(name, "must be a string")))
            .transpose()
    }

    /// An amount of dollars: decimal text or a number, parsed exactly.
    ///
    /// # Errors
    /// The value is neither, has more than nine decimals or is out of range.
    pub(crate) fn dollars(&self, name: &str) -> Result<Option<Nanodollars>, ApiError> {
        let read = |value: &str| -> Result<Nanodollars, ApiError> {
            let text = match serde_json::from_str::<String>(value) {
                Ok(text) => text,
                Err(_) => plain_number(value).unwrap_or_default(),
            };
            text.parse()
                .map_err(|error: NotDollars| invalid(name, &error.to_string()))
        };
        self.value(name).map(read).transpose()
    }

    /// A non-negative integer field; `8.0` is one, as in JSON Schema.
    ///
    /// # Errors
    /// The value is not one, or is out of range.
    pub(crate) fn count(&self, name: &str) -> Result<Option<u32>, ApiError> {
        let read = |value: &str| {
            let whole = plain_number(value).and_then(|number| {
                let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
                let is_whole = fraction.bytes().all(|digit| digit == b'0');
                is_whole.then(|| whole.parse().ok()).flatten()
            });
            whole.ok_or_else(|| invalid(name, "must be a non-negative integer"))
        };
        self.value(name).map(read).transpose()
    }

    fn value(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name)?.get();
        (value != "null").then_some(value)
    }
}

/// The message of the JSON reader, cut: it may repeat a long value.
fn reason_of(error: &serde_json::Error) -> String {
    error.to_string().chars().take(REASON_CHARS_MAX).collect()
}

/// The refusal of a body that is broken JSON, or not an object. Decision D6.
pub(crate) fn not_an_object(error: &serde_json::Error) -> ApiError {
    let reason = reason_of(error);
    ApiError::Invalid(match error.is_data() {
        true => reason,
        false => format!("the body is not valid JSON: {reason}"),
    })
}

/// A required field.
///
/// # Errors
/// The field is missing.
pub(crate) fn required<T>(name: &str, value: Option<T>) -> Result<T, ApiError> {
    value.ok_or_else(|| invalid(name, "is missing"))
}

fn invalid(name: &str, reason: &str) -> ApiError {
    ApiError::Invalid(format!("{name}: {reason}"))
}

/// A JSON number written without exponent: libraries send `1e-05`. `None` when it is not a number
/// or the exponent is too large.
fn plain_number(number: &str) -> Option<String> {
    let is_number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    if !number.bytes().all(is_number) {
        return None;
    }
    let Some((mantissa, exponent)) = number.split_once(['e', 'E']) else {
        return Some(number.to_owned());
    };
    let exponent: i32 = exponent.parse().ok()?;
    if exponent.unsigned_abs() > EXPONENT_MAX {
        return None;
    }
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let zeros = "0".repeat(EXPONENT_MAX as usize);
    // Padding on both sides, for the decimal point to move into.
    let padded = format!("{zeros}{whole}{fraction}{zeros}");
    let point = i32::try_from(zeros.len() + whole.len()).ok()? + exponent;
    let (whole, fraction) = padded.split_at_checked(usize::try_from(point).ok()?)?;
    let (whole, fraction) = (
        whole.trim_start_matches('0'),
        fraction.trim_end_matches('0'),
    );
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(match fraction {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_parsed_exactly() {
        let check = |value: &str, expected: Result<Option<&str>, ()>| {
            let body = format!("{{\"dollars\": {value}}}");
            let fields = Fields::of(body.as_bytes(), &["dollars"]);
            let read = fields.and_then(|fields| fields.dollars("dollars"));
            let read = read.map(|read| read.map(Nanodollars::dollars_text));
            if let Err(error) = &read {
                assert!(
                    matches!(error, ApiError::Invalid(text) if text.starts_with("dollars: write dollars")),
                    "{error:?}"
                );
            }
            let read = read.map_err(drop);
            let expected = expected.map(|text| text.map(str::to_owned));
            assert_eq!(read, expected, "{value}");
        };
        check("25", Ok(Some("25")));
        check("\"25.5\"", Ok(Some("25.5")));
        check("\" $1 \"", Ok(Some("1")));
        check("0.123456789", Ok(Some("0.123456789")));
        check("900719925.474099301", Ok(Some("900719925.474099301")));
        check("1e-05", Ok(Some("0.00001")));
        check("-2.5E+3", Ok(Some("-2500")));
        check("0.1e1", Ok(Some("1")));
        check("null", Ok(None));
        for wrong in [
            "0.1234567891",
            "1e400",
            "1e-10",
            "1e99999999999",
            "99999999999",
            "\"NaN\"",
            "\"1e3\"",
            "\"\"",
            "true",
            "[1]",
            "{}",
        ] {
            check(wrong, Err(()));
        }
    }

    #[test]
    fn errors_name_the_field() {
        let refusal = |body: &str, read: fn(&Fields) -> Result<(), ApiError>| {
            let fields = Fields::of(body.as_bytes(), &["name", "seats"]);
            match fields.and_then(|fields| read(&fields)) {
                Err(ApiError::Invalid(text)) => text,
                other => panic!("{other:?}"),
            }
        };
        let name = |fields: &Fields| fields.text("name").map(drop);
        let seats = |fields: &Fields| fields.count("seats").map(drop);
        let check = |text: String, expected: &str| assert!(text.starts_with(expected), "{text}");
        check(refusal("{\"name\": 7}", name), "name: must be a string");
        for (right, number) in [("8", 8), ("8.0", 8), ("1e3", 1_000)] {
            let fields = Fields::of(format!("{{\"seats\": {right}}}").as_bytes(), &["seats"]);
            let read = fields.and_then(|fields| fields.count("seats"));
            assert_eq!(read, Ok(Some(number)), "{right}");
        }
        for wrong in ["-1", "1.5", "4294967296", "\"8\"", "1e99", "true", "[8]"] {
            let body = format!("{{\"seats\": {wrong}}}");
            check(
                refusal(&body, seats),
                "seats: must be a non-negative integer",
            );
        }
        check(
            refusal("{\"nam\": 7}", name),
            "nam: unknown field, expected `name`, `seats`",
        );
        check(refusal("[1]", name), "send a JSON object");
        check(refusal("{\"dollars\": NaN}", name), "send a JSON object");
        let given = |body: &[u8]| {
            let fields = Fields::of(body, &["name"]);
            fields.and_then(|fields| fields.check_given("name", "a name, or null"))
        };
        for body in [&b"{\"name\": null}"[..], b"{\"name\": \"x\"}"] {
            assert_eq!(given(body), Ok(()));
        }
        let missing = "name: is missing: send a name, or null".to_owned();
        for body in [&b"{}"[..], b" ", b"{\"nam\": null}"] {
            assert_eq!(given(body), Err(ApiError::Invalid(missing.clone())));
        }
        let none = Fields::of(b" ", &[]).and_then(|fields| required("name", fields.text("name")?));
        assert_eq!(none, Err(ApiError::Invalid("name: is missing".to_owned())));
    }
}

#[cfg(test)]
mod fuzz;
