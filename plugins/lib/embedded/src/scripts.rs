//! JSON-LD in a page's scripts.

use std::borrow::Cow;

use serde_json::Value;

use super::budget::Budget;
use super::text::read_json_ld;
use trawl_sdk::{Document, Element, Kind, Tag};

/// Returns all JSON-LD items of a page in document order, in one flat list whatever their scripts
/// look like (see [`read_json_ld`]). A `@graph` stays in its item, and [`items`](super::items)
/// searches it. Malformed scripts yield what can be recovered without guessing.
pub fn json_ld(document: &Document<'_>) -> Vec<Value> {
    let mut budget = Budget::default();
    let scripts = document.live_elements().filter(|element| {
        element.tag() == Tag::Script
            && script_type(*element).eq_ignore_ascii_case("application/ld+json")
    });
    scripts
        .flat_map(|script| read_json_ld(&script_text(script), &mut budget))
        .collect()
}

/// The `type` of a script without parameters and white space, in the page's spelling; empty if
/// missing.
pub fn script_type<'a>(script: Element<'a>) -> &'a str {
    let kind = script.attr("type").unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim_ascii()
}

/// Text of a script, borrowed from the page if it is a single text node.
pub fn script_text(script: Element<'_>) -> Cow<'_, str> {
    let mut children = script.children();
    match (children.next().map(|child| child.kind()), children.next()) {
        (None, _) => Cow::Borrowed(""),
        (Some(Kind::Text(text)), None) => Cow::Borrowed(text),
        _ => Cow::Owned(script.text()),
    }
}
