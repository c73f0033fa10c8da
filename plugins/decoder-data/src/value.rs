//! Values of data files, with the keys of records in their order.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use trawl_sdk::xml::{Element, Node};

/// Key by which TOML's reader passes dates. Source: the crate `toml`.
const TOML_DATE: &str = "$__toml_private_datetime";

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    /// As it is shown.
    Number(String),
    Text(String),
    List(Vec<Self>),
    Record(Vec<(String, Self)>),
}

impl Data {
    /// Whether it has no values inside it.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Self::List(values) => values.is_empty(),
            Self::Record(fields) => fields.is_empty(),
            _ => true,
        }
    }

    /// As text in a cell: plain values as they are, lists of them joined, others as JSON.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Text(text) => text.clone(),
            Self::List(values) if values.iter().all(Self::is_plain) => {
                let shown: Vec<String> = values.iter().map(Self::shown).collect();
                shown.join(", ")
            }
            _ => {
                let mut json = String::new();
                self.write_json(&mut json);
                json
            }
        }
    }

    fn write_json(&self, json: &mut String) {
        match self {
            Self::Null => json.push_str("null"),
            Self::Bool(is_true) => json.push_str(if *is_true { "true" } else { "false" }),
            Self::Number(number) => json.push_str(number),
            Self::Text(text) => json.push_str(&quoted(text)),
            Self::List(values) => {
                json.push('[');
                for (index, value) in values.iter().enumerate() {
                    json.push_str(if index > 0 { ", " } else { "" });
                    value.write_json(json);
                }
                json.push(']');
            }
            Self::Record(fields) => {
                json.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    json.push_str(if index > 0 { ", " } else { "" });
                    json.push_str(&quoted(name));
                    json.push_str(": ");
                    value.write_json(json);
                }
                json.push('}');
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

pub(crate) fn of_json(text: &str) -> Result<Data, String> {
    serde_json::from_str(text).map_err(|error| format!("the JSON is invalid: {error}"))
}

/// The lines as a list.
pub(crate) fn of_json_lines(text: &str) -> Result<Data, String> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let values = lines.map(|(index, line)| {
        serde_json::from_str(line)
            .map_err(|error| format!("line {} is not JSON: {error}", index + 1))
    });
    values.collect::<Result<_, _>>().map(Data::List)
}

pub(crate) fn of_toml(text: &str) -> Result<Data, String> {
    toml::from_str(text).map_err(|error| {
        let message = error.message().replace('\n', " ");
        format!("the TOML is invalid: {message}")
    })
}

/// The children of a root as records, if they are alike and have no structure themselves.
pub(crate) fn of_xml(root: &Element) -> Option<Data> {
    let mut names = root.elements().map(|child| child.name.as_str());
    let first = names.next()?;
    if !names.all(|name| name == first) {
        return None;
    }
    let records: Option<Vec<Data>> = root.elements().map(record).collect();
    let has_text = root.children.iter().any(is_text);
    records.filter(|_| !has_text).map(Data::List)
}

/// The attributes and children of an element as a record; `None` if these have children, too.
fn record(element: &Element) -> Option<Data> {
    let mut fields: Vec<(String, Data)> = Vec::new();
    for (name, value) in &element.attributes {
        if !name.starts_with("xmlns") {
            fields.push((name.clone(), Data::Text(value.clone())));
        }
    }
    if element.children.iter().any(is_text) {
        if element.elements().next().is_some() {
            return None;
        }
        fields.push((element.local_name().to_owned(), Data::Text(element.text())));
    }
    for child in element.elements() {
        if child.elements().next().is_some() {
            return None;
        }
        let text = Data::Text(child.text().trim().to_owned());
        match fields.iter_mut().find(|(name, _)| *name == child.name) {
            Some((_, Data::List(values))) => values.push(text),
            Some((_, value)) => {
                let before = std::mem::replace(value, Data::Null);
                *value = Data::List(vec![before, text]);
            }
            None => fields.push((child.name.clone(), text)),
        }
    }
    Some(Data::Record(fields))
}

fn is_text(node: &Node) -> bool {
    matches!(node, Node::Text(text) if !text.trim().is_empty())
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyData)
    }
}

struct AnyData;

impl<'de> Visitor<'de> for AnyData {
    type Value = Data;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Data, E> {
        Ok(Data::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Data, E> {
        Ok(Data::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Data, E> {
        Ok(Data::Number(value.to_string()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Data, E> {
        Ok(Data::Number(value.to_string()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Data, E> {
        Ok(Data::Number(serde_json::Value::from(value).to_string()))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Data, E> {
        Ok(Data::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Data, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element()? {
            values.push(value);
        }
        Ok(Data::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Data, A::Error> {
        let mut fields: Vec<(String, Data)> = Vec::new();
        while let Some((name, value)) = entries.next_entry::<String, Data>()? {
            if name == TOML_DATE {
                return Ok(value);
            }
            fields.push((name, value));
        }
        Ok(Data::Record(fields))
    }
}
