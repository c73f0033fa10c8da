//! The JSON of a body: its request objects and their fields, and why it is refused.

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use trawl_parameters as parameters;

/// Most fields of one object. All parameters together are under a hundred.
const FIELDS_MAX: usize = 1_000;
/// Most characters of an error text; the parser quotes the input.
const REASON_CHARS_MAX: usize = 300;

/// JSON that does not have the expected shape; a 400 for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireError {
    /// Where it is; `None` for the body as a whole.
    path: Option<String>,
    reason: String,
    /// Whether a value has the wrong type. Clients of the interface know the words with which such
    /// an error begins. Decision D6.
    is_type: bool,
}

impl WireError {
    /// An error of the whole body.
    pub fn body(reason: impl Into<String>) -> Self {
        Self {
            path: None,
            reason: reason.into(),
            is_type: false,
        }
    }

    /// The value at this path exceeds a limit.
    pub(crate) fn at(path: &str, reason: impl Into<String>) -> Self {
        Self {
            path: Some(path.to_owned()),
            reason: reason.into(),
            is_type: false,
        }
    }

    /// The value at this path has the wrong type.
    pub(crate) fn wrong_type(path: &str, reason: impl Into<String>) -> Self {
        Self {
            is_type: true,
            ..Self::at(path, reason)
        }
    }

    /// The same error in the request object with this number.
    pub(crate) fn in_object(self, number: usize) -> Self {
        let path = match self.path {
            Some(path) => format!("[{number}].{path}"),
            None => format!("[{number}]"),
        };
        Self {
            path: Some(path),
            ..self
        }
    }

    /// The same error in an item of a parameter that is a list of request objects.
    pub(crate) fn in_list(self, list: &str) -> Self {
        Self {
            path: self.path.map(|path| format!("{list}{path}")),
            ..self
        }
    }

    /// An error of the parser, in a field or outside of any.
    pub fn json(field: Option<&str>, error: &serde_json::Error) -> Self {
        let text = error.to_string();
        // The parser counts positions from the start of the field, not of the body.
        let reason = match (field, text.rfind(" at line ")) {
            (Some(field), _) if is_secret(field) => "has the wrong type or form",
            (Some(_), Some(end)) => &text[..end],
            _ => &text,
        };
        let reason: String = reason.chars().take(REASON_CHARS_MAX).collect();
        match field {
            Some(field) => Self::wrong_type(field, reason),
            None if error.is_data() => Self::body(reason),
            None => Self::body(format!("the body is not valid JSON: {reason}")),
        }
    }
}

/// Whether the values of a field are never quoted.
fn is_secret(field: &str) -> bool {
    parameters::find(field).is_some_and(|row| row.is_secret)
}

impl std::fmt::Display for WireError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_type {
            f.write_str("Deserialization error: ")?;
        }
        match &self.path {
            Some(path) => write!(f, "{path}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for WireError {}

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

/// The fields of an object with their JSON.
///
/// # Errors
/// It is not an object, or has too many fields.
pub(crate) fn fields(object: &RawValue) -> Result<Vec<(String, &RawValue)>, WireError> {
    let mut json = serde_json::Deserializer::from_str(object.get());
    json.deserialize_map(FIELDS)
        .map_err(|error| WireError::json(None, &error))
}

/// Whether a body is an array of request objects.
pub(crate) fn is_array(body: &[u8]) -> bool {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    body.trim_ascii_start().starts_with(b"[")
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

/// Visits an object and returns its fields with their JSON.
pub(crate) struct Entries {
    /// Most of them.
    pub most: usize,
}

/// The fields of a request object.
pub(crate) const FIELDS: Entries = Entries { most: FIELDS_MAX };

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            if fields.len() == self.most {
                return Err(de::Error::custom(format!(
                    "more than {} fields in one object",
                    self.most
                )));
            }
            fields.push(entry);
        }
        Ok(fields)
    }
}
