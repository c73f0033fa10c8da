//! Compares JSON with the tables of parameters: a value of the wrong type is refused with its path,
//! unknown keys are listed with the closest known name, and set parameters are listed so that those
//! without effect can be reported.

use serde::Deserializer;
use serde_json::value::RawValue;

use trawl_parameters::{ITEMS_MAX, Object, Parameter, Shape, StepKind, nearest, step_kind};

use super::body::{Entries, WireError};

/// Most characters of a value in an error, and of a key in a path.
const SHOWN_CHARS_MAX: usize = 40;
/// Most unknown keys that are remembered: one more than the header names, so that it says that
/// there are more.
const UNKNOWN_MAX: usize = 65;

/// The fields of a request object.
#[derive(Debug, Default)]
pub(crate) struct SentFields {
    /// Parameters and keys of nested objects that are set: not `null`, nor `false` where that is
    /// the default.
    pub present: Vec<Present>,
    /// Those that are not known and not `null`.
    pub unknown: Vec<Unknown>,
    /// Paths of parameters whose plugin, pool or model is missing, or whose value is empty.
    pub without_effect: Vec<&'static str>,
}

/// A parameter that is set.
#[derive(Debug)]
pub(crate) struct Present {
    /// What it is.
    pub row: &'static Parameter,
    /// Where it is: `cache.allow_stale`.
    pub path: String,
}

impl Present {
    /// What precedes its name in the path.
    fn place(&self) -> Option<&str> {
        let names = std::iter::once(&self.row.name).chain(self.row.aliases);
        let mut places = names.filter_map(|name| self.path.strip_suffix(name));
        places.find(|place| place.is_empty() || place.ends_with('.'))
    }

    /// Whether it is written with its first name rather than an alias.
    fn has_first_name(&self) -> bool {
        let place = self.place().unwrap_or_default();
        self.path.get(place.len()..) == Some(self.row.name)
    }
}

/// A key that is not known.
#[derive(Debug)]
pub(crate) struct Unknown {
    /// Where it is: `webhooks.on_fnd`.
    pub path: String,
    /// The known one that is closest: `webhooks.on_find`.
    pub nearest: Option<String>,
}

impl SentFields {
    /// Checks one parameter, which is set, and records it and the keys in it.
    ///
    /// # Errors
    /// Its value, or one in it, has the wrong type.
    pub(crate) fn read(
        &mut self,
        row: &'static Parameter,
        written: &str,
        json: &RawValue,
    ) -> Result<(), WireError> {
        let mut walk = Walk {
            fields: self,
            path: String::new(),
            is_secret: false,
            in_list: false,
        };
        walk.parameter(row, written, json)
    }

    /// Whether a parameter is set under its first name, too, which wins.
    pub(crate) fn is_overridden(&self, present: &Present) -> bool {
        let is_same = |other: &Present| {
            other.row.name == present.row.name && other.place() == present.place()
        };
        let mut others = self.present.iter().filter(|other| is_same(other));
        !present.has_first_name() && others.any(Present::has_first_name)
    }
}

impl Unknown {
    /// Whether it is a key of a nested object, whose keys it was compared with.
    pub(crate) fn is_nested(&self) -> bool {
        self.path.contains('.')
    }
}

/// The JSON type of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Switch,
    Number,
    Text,
    List,
    Object,
}

impl Kind {
    /// Valid JSON shows its type in its first byte.
    fn of(json: &RawValue) -> Self {
        match json.get().as_bytes().first() {
            Some(b'"') => Self::Text,
            Some(b'[') => Self::List,
            Some(b'{') => Self::Object,
            Some(b't' | b'f') => Self::Switch,
            Some(b'n') | None => Self::Null,
            Some(_) => Self::Number,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Switch => "boolean",
            Self::Number => "number",
            Self::Text => "string",
            Self::List => "list",
            Self::Object => "object",
        }
    }

    /// Whether a value of this type may have the shape.
    fn fits(self, shape: &Shape) -> bool {
        match shape {
            Shape::Switch => self == Self::Switch,
            Shape::Count(_) | Shape::Number(_) => self == Self::Number,
            Shape::Text(_) | Shape::Name(_) => self == Self::Text,
            Shape::Scalar => matches!(self, Self::Text | Self::Number | Self::Switch),
            Shape::List(_) | Shape::Bytes => self == Self::List,
            Shape::Object(_) | Shape::Map(..) | Shape::Options(_) => self == Self::Object,
            Shape::Either(shapes) => shapes.iter().any(|shape| self.fits(shape)),
            // Steps are checked by their own reader, which knows their names.
            Shape::Steps | Shape::Any(..) => true,
        }
    }
}

/// A walk through a value along its shape.
struct Walk<'a> {
    fields: &'a mut SentFields,
    path: String,
    /// Whether values and unusual keys are not quoted.
    is_secret: bool,
    /// Whether the value is in a list or map, so that keys are not single parameters.
    in_list: bool,
}

impl Walk<'_> {
    fn parameter(
        &mut self,
        row: &'static Parameter,
        written: &str,
        json: &RawValue,
    ) -> Result<(), WireError> {
        if Kind::of(json) == Kind::Null {
            return Ok(());
        }
        let was_secret = self.is_secret;
        self.is_secret |= row.is_secret;
        let result = self.below(written, |walk| {
            // `false` says nothing of what is off anyway.
            let is_set = json.get() != "false" || row.default == "true";
            let is_noted = || {
                walk.fields
                    .present
                    .iter()
                    .any(|known| known.path == walk.path)
            };
            if is_set && !walk.in_list && !is_noted() {
                let path = walk.path.clone();
                walk.fields.present.push(Present { row, path });
            }
            walk.value(&row.shape, json)
        });
        self.is_secret = was_secret;
        result
    }

    fn value(&mut self, shape: &'static Shape, json: &RawValue) -> Result<(), WireError> {
        let kind = Kind::of(json);
        if kind == Kind::Null {
            return Ok(());
        }
        if !kind.fits(shape) {
            return Err(self.refusal("invalid type", kind, shape, json));
        }
        match shape {
            // As large as the schema of the interface says: clients hold them in 64 bits with a
            // sign.
            Shape::Count(_) => match json.get().parse::<i64>() {
                Ok(0..) => Ok(()),
                Err(_) if json.get().parse().is_ok_and(f64::is_infinite) => {
                    Err(self.wrong_type("number out of range"))
                }
                _ => Err(self.refusal("invalid value", kind, shape, json)),
            },
            Shape::List(item) => self.list(item, json),
            Shape::Object(object) => self.object(object, json),
            Shape::Map(_, of) => self.map(of, json),
            Shape::Either(shapes) => {
                match shapes.iter().find(|shape| kind.fits(shape)) {
                    Some(shape) => self.value(shape, json),
                    // It fits one of them, as was asked above.
                    None => Ok(()),
                }
            }
            Shape::Steps if kind == Kind::List => self.steps(json),
            Shape::Bytes => self.bytes(json),
            _ => Ok(()),
        }
    }

    fn list(&mut self, item: &'static Shape, json: &RawValue) -> Result<(), WireError> {
        let items = self.items(json)?;
        let was_in_list = std::mem::replace(&mut self.in_list, true);
        for (at, json) in items.into_iter().enumerate() {
            let length = self.path.len();
            self.path.push_str(&format!("[{at}]"));
            self.value(item, json)?;
            self.path.truncate(length);
        }
        self.in_list = was_in_list;
        Ok(())
    }

    /// Numbers of a list of bytes, of which there may be millions: they are compared as they are
    /// written.
    fn bytes(&self, json: &RawValue) -> Result<(), WireError> {
        let list = json.get().strip_prefix('[');
        let list = list.and_then(|list| list.strip_suffix(']'));
        let mut items = list.unwrap_or_default().split(',').enumerate();
        let wrong = items.find(|(_, item)| item.trim_ascii().parse::<u8>().is_err());
        match wrong {
            // An empty list has no item.
            Some((at, item)) if at > 0 || !item.trim_ascii().is_empty() => {
                let path = format!("{}[{at}]", self.path);
                Err(WireError::wrong_type(
                    &path,
                    "is not a whole number from 0 to 255",
                ))
            }
            _ => Ok(()),
        }
    }

    fn items<'j>(&self, json: &'j RawValue) -> Result<Vec<&'j RawValue>, WireError> {
        let items: Vec<&RawValue> =
            serde_json::from_str(json.get()).map_err(|error| self.parser(&error))?;
        if items.len() > ITEMS_MAX {
            let reason = format!("more than {ITEMS_MAX} items");
            return Err(WireError::at(&self.path, reason));
        }
        Ok(items)
    }

    fn entries<'j>(&self, json: &'j RawValue) -> Result<Vec<(String, &'j RawValue)>, WireError> {
        let mut reader = serde_json::Deserializer::from_str(json.get());
        let entries = reader.deserialize_map(Entries { most: ITEMS_MAX });
        // It is an object; nothing else can be wrong with it.
        let too_many = || format!("more than {ITEMS_MAX} fields in one object");
        entries.map_err(|_| WireError::at(&self.path, too_many()))
    }

    /// An object with known keys. Those that are not known are listed.
    fn object(&mut self, object: &'static Object, json: &RawValue) -> Result<(), WireError> {
        for (key, json) in self.entries(json)? {
            match object.find(&key) {
                Some(row) => self.parameter(row, &key, json)?,
                None if Kind::of(json) == Kind::Null => {}
                None => self.unknown(&key, object.rows),
            }
        }
        Ok(())
    }

    fn unknown(&mut self, key: &str, rows: &'static [Parameter]) {
        if self.fields.unknown.len() >= UNKNOWN_MAX {
            return;
        }
        // All items of a list are alike.
        let place = without_numbers(&self.path);
        let path = format!("{place}.{}", self.shown_key(key));
        if self.fields.unknown.iter().any(|known| known.path == path) {
            return;
        }
        let nearest = nearest(key, rows.iter());
        let nearest = nearest.map(|row| format!("{place}.{}", row.name));
        self.fields.unknown.push(Unknown { path, nearest });
    }

    fn map(&mut self, of: &'static Shape, json: &RawValue) -> Result<(), WireError> {
        let was_in_list = std::mem::replace(&mut self.in_list, true);
        for (key, json) in self.entries(json)? {
            let shown = self.shown_key(&key);
            self.below(&shown, |walk| walk.value(of, json))?;
        }
        self.in_list = was_in_list;
        Ok(())
    }

    /// The keys of steps. Everything else about them is checked by their own reader.
    fn steps(&mut self, json: &RawValue) -> Result<(), WireError> {
        for (at, json) in self.items(json)?.into_iter().enumerate() {
            if Kind::of(json) != Kind::Object {
                continue;
            }
            let entries = self.entries(json)?;
            let length = self.path.len();
            self.path.push_str(&format!("[{at}]"));
            self.step(entries)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn step(&mut self, mut entries: Vec<(String, &RawValue)>) -> Result<(), WireError> {
        let named = entries.iter().position(|(key, _)| key == "type");
        if let Some(at) = named {
            let name: Option<String> = serde_json::from_str(entries.remove(at).1.get()).ok();
            if let Some(kind) = name.as_deref().and_then(step_kind) {
                self.step_keys(kind, entries);
            }
            return Ok(());
        }
        let [(name, body)] = entries.as_slice() else {
            return Ok(());
        };
        let Some(kind) = step_kind(name).filter(|_| Kind::of(body) == Kind::Object) else {
            return Ok(());
        };
        let keys = self.entries(body)?;
        self.below(kind.name, |walk| {
            walk.step_keys(kind, keys);
            Ok(())
        })
    }

    fn step_keys(&mut self, kind: &'static StepKind, entries: Vec<(String, &RawValue)>) {
        for (key, json) in entries {
            let is_known = kind.rows.iter().any(|row| row.is_called(&key));
            if !is_known && Kind::of(json) != Kind::Null {
                self.unknown(&key, kind.rows);
            }
        }
    }

    fn below(
        &mut self,
        key: &str,
        walk: impl FnOnce(&mut Self) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        let result = walk(self);
        self.path.truncate(length);
        result
    }

    /// A key that a caller chose, as part of a path. Where there are secrets, one may have taken
    /// the place of a name.
    fn shown_key(&self, key: &str) -> String {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-*/.".contains(&byte);
        let is_plain = key.len() <= SHOWN_CHARS_MAX && key.bytes().all(is_name);
        if is_plain || !self.is_secret {
            key.chars().take(SHOWN_CHARS_MAX).collect()
        } else {
            "*".to_owned()
        }
    }

    fn refusal(&self, what: &str, kind: Kind, shape: &Shape, json: &RawValue) -> WireError {
        let expected = shape.phrase();
        if self.is_secret {
            return self.wrong_type(format!("has the wrong type or form, expected {expected}"));
        }
        let value = match kind {
            Kind::List | Kind::Object => String::new(),
            _ => format!(
                " {}",
                json.get().chars().take(SHOWN_CHARS_MAX).collect::<String>()
            ),
        };
        // A list of URLs is the most frequent wrong type of all.
        let hint = match (self.path.as_str(), kind) {
            ("url", Kind::List) => {
                ": one URL, or several separated by commas; \
                 for different parameters send an array of request objects"
            }
            _ => "",
        };
        self.wrong_type(format!(
            "{what}: {}{value}, expected {expected}{hint}",
            kind.name()
        ))
    }

    fn parser(&self, error: &serde_json::Error) -> WireError {
        if self.is_secret {
            self.wrong_type("has the wrong type or form")
        } else {
            WireError::json(Some(&self.path), error)
        }
    }

    fn wrong_type(&self, reason: impl Into<String>) -> WireError {
        WireError::wrong_type(&self.path, reason)
    }
}

/// The key of a script as a part of a path. One that is not a path of a URL may be a secret in the
/// place of a path.
pub(crate) fn path_key(key: &str) -> String {
    let shown: String = key.chars().take(SHOWN_CHARS_MAX).collect();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-*/.".contains(&byte);
    if key.starts_with('/') || shown.len() == key.len() && key.bytes().all(is_name) {
        shown
    } else {
        "*".to_owned()
    }
}

/// A path without the numbers of list items: `cookies[].domain`.
fn without_numbers(path: &str) -> String {
    let mut short = String::with_capacity(path.len());
    let mut in_brackets = false;
    for letter in path.chars() {
        match letter {
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ if in_brackets => continue,
            _ => {}
        }
        short.push(letter);
    }
    short
}
