//! The JSON-LD of a page.

use std::borrow::Cow;

use serde_json::Value;

use super::budget::Budget;
use super::text::read_within;
use crate::{Document, Element, Kind, Tag};

/// All JSON-LD values of a page in page order, as they stand: a `@graph` is still one, and [`items`](super::items) looks into it.
/// Broken scripts give what can be made out.
pub fn json_ld(document: &Document<'_>) -> Vec<Value> {
    json_ld_within(document, &mut Budget::default())
}

/// [`json_ld`] within a budget that other reading shares.
pub fn json_ld_within(document: &Document<'_>, budget: &mut Budget) -> Vec<Value> {
    let mut values = Vec::new();
    let mut nodes = document.descendants();
    while let Some(node) = nodes.next() {
        match node.kind() {
            Kind::TemplateContents => nodes.skip_inside(node),
            Kind::Element(element)
                if element.tag() == Tag::Script
                    && script_type(element).eq_ignore_ascii_case("application/ld+json") =>
            {
                values.extend(read_within(&script_text(element), budget));
            }
            _ => {}
        }
    }
    values
}

/// The `type` of a script without parameters and white space, as the page spells it; empty without one.
pub fn script_type<'a>(script: Element<'a>) -> &'a str {
    let kind = script.attr("type").unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim_ascii()
}

/// The text of a script: borrowed from the page, as long as it is in one piece.
pub fn script_text(script: Element<'_>) -> Cow<'_, str> {
    let mut children = script.children();
    match (children.next().map(|child| child.kind()), children.next()) {
        (None, _) => Cow::Borrowed(""),
        (Some(Kind::Text(text)), None) => Cow::Borrowed(text),
        _ => Cow::Owned(script.text()),
    }
}
