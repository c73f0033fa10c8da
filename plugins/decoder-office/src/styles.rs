//! Styles and numbering of DOCX, as far as they say what a paragraph is.

use std::collections::HashMap;

use trawl_sdk::decoder::Failure;
use trawl_sdk::xml::Element;

use crate::inline::Style;
use crate::package::Package;

/// Styles that one is based on, at most.
const BASES_MAX: usize = 16;

/// What a paragraph is, by its style.
#[derive(Clone, Debug, Default)]
struct ParagraphStyle {
    base: Option<String>,
    /// Level of a heading, from 1.
    heading: Option<usize>,
    /// Number of the list and level.
    list: Option<(String, usize)>,
}

/// The styles of a document.
#[derive(Debug, Default)]
pub(crate) struct Styles {
    styles: HashMap<String, ParagraphStyle>,
    /// Whether a list is ordered, by its number and level.
    ordered: HashMap<(String, usize), bool>,
}

impl Styles {
    pub(crate) fn read(package: &mut Package<'_>, folder: &str) -> Result<Self, Failure> {
        let mut found = Self::default();
        if let Some(root) = package.xml_if_any(&format!("{folder}/styles.xml"))? {
            for style in root.all("w:style") {
                let Some(id) = style.attribute("w:styleId") else {
                    continue;
                };
                let value = |name: &str| Some(style.child(name)?.attribute("w:val")?.to_owned());
                let properties = style.child("w:pPr");
                let name = value("w:name").unwrap_or_default().to_lowercase();
                let own = ParagraphStyle {
                    base: value("w:basedOn"),
                    heading: heading(&name).or_else(|| outline_level(properties?)),
                    list: properties.and_then(list),
                };
                found.styles.insert(id.to_owned(), own);
            }
        }
        if let Some(root) = package.xml_if_any(&format!("{folder}/numbering.xml"))? {
            found.read_numbering(&root);
        }
        Ok(found)
    }

    fn read_numbering(&mut self, root: &Element) {
        let mut formats: HashMap<(&str, usize), bool> = HashMap::new();
        for list in root.all("w:abstractNum") {
            let id = list.attribute("w:abstractNumId").unwrap_or_default();
            for level in list.all("w:lvl") {
                let number = level.attribute("w:ilvl").and_then(|text| text.parse().ok());
                let format = level.child("w:numFmt").and_then(|it| it.attribute("w:val"));
                let is_ordered = !matches!(format, Some("bullet" | "none") | None);
                formats.insert((id, number.unwrap_or(0)), is_ordered);
            }
        }
        for number in root.all("w:num") {
            let id = number.attribute("w:numId").unwrap_or_default();
            let of = number
                .child("w:abstractNumId")
                .and_then(|it| it.attribute("w:val"));
            for ((list, level), is_ordered) in &formats {
                if Some(*list) == of {
                    self.ordered.insert((id.to_owned(), *level), *is_ordered);
                }
            }
        }
    }

    /// The level of a heading, from 1; `None` for other paragraphs.
    pub(crate) fn heading(&self, properties: Option<&Element>) -> Option<usize> {
        let own = properties.and_then(outline_level);
        own.or_else(|| self.chain(properties).find_map(|style| style.heading))
    }

    /// The level of a list's item, from 0, and whether the list is ordered.
    pub(crate) fn list(&self, properties: Option<&Element>) -> Option<(usize, bool)> {
        let own = properties.and_then(list);
        let found = own.or_else(|| self.chain(properties).find_map(|style| style.list.clone()));
        // List 0 is none.
        let (number, level) = found.filter(|(number, _)| number != "0")?;
        let is_ordered = self.ordered.get(&(number, level)).copied();
        Some((level, is_ordered.unwrap_or(false)))
    }

    /// The style of a paragraph and those it is based on.
    fn chain(&self, properties: Option<&Element>) -> impl Iterator<Item = &ParagraphStyle> {
        let named = properties.and_then(|it| it.child("w:pStyle")?.attribute("w:val"));
        let first = named.and_then(|name| self.styles.get(name));
        let next = |style: &&ParagraphStyle| self.styles.get(style.base.as_ref()?);
        std::iter::successors(first, next).take(BASES_MAX)
    }
}

/// `heading 2`, `title`.
fn heading(name: &str) -> Option<usize> {
    if name == "title" {
        return Some(1);
    }
    let level: usize = name.strip_prefix("heading ")?.trim().parse().ok()?;
    (1..=9).contains(&level).then_some(level.min(6))
}

fn outline_level(properties: &Element) -> Option<usize> {
    let level = properties.child("w:outlineLvl")?.attribute("w:val")?;
    let level: usize = level.parse().ok()?;
    (level < 9).then_some((level + 1).min(6))
}

fn list(properties: &Element) -> Option<(String, usize)> {
    let list = properties.child("w:numPr")?;
    let level = list.child("w:ilvl").and_then(|it| it.attribute("w:val"));
    let number = list.child("w:numId")?.attribute("w:val")?;
    let level = level.and_then(|level| level.parse().ok()).unwrap_or(0);
    Some((number.to_owned(), level))
}

/// The formatting of a run.
pub(crate) fn of_run(run: &Element) -> Style {
    let Some(properties) = run.child("w:rPr") else {
        return Style::default();
    };
    let is_on = |name: &str| {
        let value = properties.child(name).map(|it| it.attribute("w:val"));
        value.is_some_and(|value| !matches!(value, Some("0" | "false" | "off" | "none")))
    };
    let position = properties
        .child("w:vertAlign")
        .and_then(|it| it.attribute("w:val"));
    Style {
        is_bold: is_on("w:b"),
        is_italic: is_on("w:i"),
        is_struck: is_on("w:strike") || is_on("w:dstrike"),
        is_above: position == Some("superscript"),
        is_below: position == Some("subscript"),
    }
}
