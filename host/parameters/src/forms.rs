//! The types of values that a boolean, a number or a text does not say: those with several forms,
//! lists, and secrets.

use std::time::Duration;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use trawl_model::secret::Secret;
use trawl_plan::duration::{self, Unit};

/// Most items of any list in a request, so that a small body cannot expand into a large amount of
/// memory.
pub const ITEMS_MAX: usize = 10_000;

/// A list of at most [`ITEMS_MAX`] items.
#[derive(Debug, PartialEq, Eq)]
pub struct List<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    if list.len() == ITEMS_MAX {
                        return Err(de::Error::custom(format!("more than {ITEMS_MAX} items")));
                    }
                    list.push(item);
                }
                Ok(list)
            }
        }

        deserializer
            .deserialize_seq(Items(std::marker::PhantomData))
            .map(List)
    }
}

/// `return_format`: one name or several.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
pub enum FormatNames {
    /// `content` is that format.
    One(String),
    /// `content` is an object keyed by format.
    Many(List<String>),
}

/// `chunking_alg`: a name, or an object with `type` and the chunker's options.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a string or an object with `type` and `value`"
)]
pub enum ChunkingForm {
    /// The name alone.
    Name(String),
    /// The name as `type`, and options such as `value`.
    Options(Map<String, Value>),
}

/// `headers`: name and value. No `Debug`: the values may be secrets.
pub struct HeaderMap(pub Vec<(String, String)>);

impl<'de> Deserialize<'de> for HeaderMap {
    /// Decision D29: numbers and booleans are sent in their JSON form, `null` omits a header.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut pairs = Vec::new();
        for (name, value) in Map::<String, Value>::deserialize(deserializer)? {
            match value {
                Value::Null => {}
                Value::String(text) => pairs.push((name, text)),
                Value::Bool(_) | Value::Number(_) => pairs.push((name, value.to_string())),
                Value::Array(_) | Value::Object(_) => {
                    return Err(de::Error::custom(
                        "a value is not a string, a number or a boolean",
                    ));
                }
            }
        }
        Ok(Self(pairs))
    }
}

/// A time in any of its forms.
pub trait Time {
    /// The duration; `None` if the value says none.
    ///
    /// # Errors
    /// It has none of the forms.
    fn duration(&self) -> Result<Option<Duration>, String>;
}

/// A time whose bare number is in milliseconds.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Millis(Value);

impl Time for Millis {
    fn duration(&self) -> Result<Option<Duration>, String> {
        duration::read(&self.0, Unit::Millis)
    }
}

/// A time whose bare number is in seconds.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Seconds(Value);

impl Time for Seconds {
    fn duration(&self) -> Result<Option<Duration>, String> {
        duration::read(&self.0, Unit::Seconds)
    }
}

impl Seconds {
    /// The bare number; `None` if it has another form.
    pub fn number(&self) -> Option<u64> {
        duration::number(&self.0)
    }
}

/// `wait_for`: a delay in milliseconds or conditions.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number of milliseconds or an object")]
pub enum WaitForForm {
    /// Milliseconds.
    Delay(u64),
    /// Conditions.
    Conditions(Map<String, Value>),
}

impl From<WaitForForm> for Value {
    fn from(form: WaitForForm) -> Self {
        match form {
            WaitForForm::Delay(millis) => millis.into(),
            WaitForForm::Conditions(conditions) => conditions.into(),
        }
    }
}

/// `external_domains`: a list, or all domains.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a list of strings or a boolean")]
pub enum DomainsForm {
    /// `true` is all domains.
    All(bool),
    /// Host names and regular expressions.
    Some(List<String>),
}

/// A secret, trimmed; `None` when nothing is left.
#[derive(Debug)]
pub struct SecretText(pub(crate) Option<Secret>);

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = zeroize::Zeroizing::new(String::deserialize(deserializer)?);
        let text = text.trim();
        Ok(Self((!text.is_empty()).then(|| Secret::new(text))))
    }
}

/// A page's source in `/transform`: text, or a list of byte values.
pub enum SourceForm {
    /// Text: its characters are known.
    Text(String),
    /// Bytes: their character set is not.
    Bytes(Vec<u8>),
}

impl<'de> Deserialize<'de> for SourceForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Source;

        impl<'de> Visitor<'de> for Source {
            type Value = SourceForm;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string or a list of byte values")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<SourceForm, E> {
                Ok(SourceForm::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<SourceForm, A::Error> {
                let mut bytes = Vec::new();
                let not_bytes = |_: A::Error| -> A::Error {
                    de::Error::custom("expected a list of whole numbers from 0 to 255")
                };
                while let Some(byte) = items.next_element::<u8>().map_err(not_bytes)? {
                    bytes.push(byte);
                }
                Ok(SourceForm::Bytes(bytes))
            }
        }

        deserializer.deserialize_any(Source)
    }
}
