//! What a document says about itself: its information dictionary, language and outline (ISO
//! 32000-2, 14.3.3, 14.9.2, 12.3.3).

use std::collections::HashSet;

use lopdf::{Dictionary, Document, Object, decode_text_string};
use trawl_sdk::decoder::Decoded;

/// Most entries of an outline, and its deepest level.
const OUTLINE_MAX: usize = 20_000;
const OUTLINE_DEPTH_MAX: usize = 12;
/// Longest value, in characters.
const VALUE_MAX: usize = 2_000;

/// Metadata by name.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    values: Vec<(&'static str, String)>,
    authors: Vec<String>,
    is_encrypted: bool,
}

/// Reads the metadata of a document.
pub(crate) fn of(document: &Document) -> Metadata {
    let info = document
        .trailer
        .get_deref(b"Info", document)
        .and_then(Object::as_dict)
        .ok();
    let text = |key: &[u8]| {
        let text = decode_text_string(info?.get_deref(key, document).ok()?).ok()?;
        let text: String = text
            .chars()
            .filter(|c| !c.is_control())
            .take(VALUE_MAX)
            .collect();
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let mut values = Vec::new();
    for (name, key) in [
        ("title", &b"Title"[..]),
        ("description", b"Subject"),
        ("keywords", b"Keywords"),
        ("creator", b"Creator"),
        ("producer", b"Producer"),
    ] {
        values.extend(text(key).map(|value| (name, value)));
    }
    for (name, key) in [
        ("published", &b"CreationDate"[..]),
        ("modified", b"ModDate"),
    ] {
        let value = text(key).and_then(|value| date(&value));
        values.extend(value.map(|value| (name, value)));
    }
    let language = document.catalog().ok().and_then(|catalog| {
        let language = decode_text_string(catalog.get_deref(b"Lang", document).ok()?).ok()?;
        let is_tag = language.len() <= 35
            && language
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (is_tag && !language.is_empty()).then_some(language)
    });
    values.extend(language.map(|language| ("language", language)));
    let authors = text(b"Author").unwrap_or_default();
    let authors = authors
        .split([';', '\u{3B}'])
        .map(str::trim)
        .filter(|author| !author.is_empty());
    Metadata {
        values,
        authors: authors.map(str::to_owned).collect(),
        is_encrypted: document.was_encrypted() || document.is_encrypted(),
    }
}

impl Metadata {
    fn get(&self, name: &str) -> Option<&str> {
        let value = self.values.iter().find(|(own, _)| *own == name);
        value.map(|(_, value)| value.as_str())
    }

    /// The title, unless it is the name of the file that a program made it of.
    pub(crate) fn title(&self) -> Option<&str> {
        let is_name = |title: &&str| {
            title.rsplit_once('.').is_some_and(|(_, end)| {
                ["doc", "docx", "dvi", "tex", "indd", "qxd", "odt"].contains(&end)
            })
        };
        self.get("title").filter(|title| !is_name(title))
    }

    /// The language, as a BCP 47 tag.
    pub(crate) fn language(&self) -> Option<&str> {
        self.get("language")
    }

    pub(crate) fn add_to(&self, mut decoded: Decoded) -> Decoded {
        for (name, value) in &self.values {
            decoded = decoded.with(name, value.as_str());
        }
        if self.is_encrypted {
            decoded = decoded.with("encrypted", true);
        }
        decoded.with("authors", self.authors.clone())
    }
}

/// A date as in ISO 8601: `D:20240102030405+01'00'` is `2024-01-02T03:04:05+01:00`.
fn date(text: &str) -> Option<String> {
    let text = text.strip_prefix("D:").unwrap_or(text);
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, zone) = text.split_at(end);
    let part = |from: usize, default: &'static str| digits.get(from..from + 2).unwrap_or(default);
    let year = digits.get(..4)?;
    let (month, day) = (part(4, "01"), part(6, "01"));
    let is_day = (1..=12).contains(&month.parse::<u8>().ok()?)
        && (1..=31).contains(&day.parse::<u8>().ok()?);
    if !is_day {
        return None;
    }
    if digits.len() < 10 {
        return Some(format!("{year}-{month}-{day}"));
    }
    let time = format!("{}:{}:{}", part(8, "00"), part(10, "00"), part(12, "00"));
    let zone: String = zone
        .chars()
        .filter(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | 'Z'))
        .collect();
    let zone = match (zone.get(..1), zone.get(1..3), zone.get(3..5)) {
        (Some(sign @ ("+" | "-")), Some(hours), minutes) => {
            format!("{sign}{hours}:{}", minutes.unwrap_or("00"))
        }
        (Some("Z"), ..) => "Z".to_owned(),
        _ => String::new(),
    };
    Some(format!("{year}-{month}-{day}T{time}{zone}"))
}

/// The titles of the outline with their levels, from 1.
pub(crate) fn outline(document: &Document) -> Vec<(String, usize)> {
    let root = document
        .catalog()
        .and_then(|catalog| catalog.get_deref(b"Outlines", document));
    let Ok(root) = root.and_then(Object::as_dict) else {
        return Vec::new();
    };
    let (mut titles, mut seen) = (Vec::new(), HashSet::new());
    let mut open: Vec<(&Dictionary, usize)> = Vec::new();
    let follow = |node: &'_ Dictionary, key: &[u8]| {
        let id = node.get(key).and_then(Object::as_reference).ok()?;
        document.get_dictionary(id).ok().map(|next| (id, next))
    };
    open.extend(follow(root, b"First").map(|(id, node)| {
        seen.insert(id);
        (node, 1)
    }));
    while let Some((node, level)) = open.pop() {
        let title = node
            .get_deref(b"Title", document)
            .and_then(decode_text_string);
        titles.extend(title.map(|title| (title, level)));
        if titles.len() >= OUTLINE_MAX {
            break;
        }
        for (key, level) in [(&b"Next"[..], level), (b"First", level + 1)] {
            if level <= OUTLINE_DEPTH_MAX
                && let Some((id, next)) = follow(node, key)
                && seen.insert(id)
            {
                open.push((next, level));
            }
        }
    }
    titles
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_those_of_iso_8601() {
        for (text, expected) in [
            ("D:20240102030405+01'00'", Some("2024-01-02T03:04:05+01:00")),
            ("D:20240102030405Z", Some("2024-01-02T03:04:05Z")),
            ("D:20240102", Some("2024-01-02")),
            ("2024", Some("2024-01-01")),
            ("D:20241302", None),
            ("yesterday", None),
        ] {
            assert_eq!(date(text).as_deref(), expected, "{text}");
        }
    }
}
