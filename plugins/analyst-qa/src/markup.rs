//! Questions and answers in structured data: schema.org as JSON-LD, microdata and RDFa.

use serde_json::{Map, Value};
use trawl_embedded::decode_entities;
use trawl_rank::{flat_text, squeeze};
use trawl_sdk::{Document, Element, Node};

use crate::pair::{From, Pair};

/// Maximum number of pairs per page.
const PAIRS_MAX: usize = 300;

/// The pairs in the page's structured data.
pub(crate) fn pairs(document: &Document<'_>) -> Vec<Pair> {
    let mut pairs = in_json(document);
    pairs.extend(in_attributes(document));
    pairs.truncate(PAIRS_MAX);
    pairs
}

fn in_json(document: &Document<'_>) -> Vec<Pair> {
    let values = trawl_embedded::json_ld(document);
    let questions =
        trawl_embedded::items(&values).filter(|item| trawl_embedded::has_type(item, &["Question"]));
    let pairs = questions.filter_map(|item| {
        let question = text_of(item, &["name", "text"])?;
        let answer = ["acceptedAnswer", "suggestedAnswer"]
            .into_iter()
            .find_map(|key| answer_of(item.get(key)?))?;
        Pair::new(&question, &answer, From::FaqMarkup)
    });
    pairs.take(PAIRS_MAX).collect()
}

/// The text of an answer, or of the first of several.
fn answer_of(value: &Value) -> Option<String> {
    match value {
        Value::Array(values) => values.iter().find_map(answer_of),
        Value::Object(item) => text_of(item, &["text", "name"]),
        Value::String(text) => Some(plain(text)).filter(|text| !text.is_empty()),
        _ => None,
    }
}

fn text_of(item: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    let texts = keys
        .iter()
        .filter_map(|key| trawl_embedded::string(item.get(*key)?));
    texts.map(plain).find(|text| !text.is_empty())
}

/// The plain text of a value that may contain HTML.
fn plain(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        let (before, tag) = rest.split_at(open);
        text.push_str(before);
        let is_tag = tag[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        match tag.find('>').filter(|_| is_tag) {
            Some(end) => {
                let name = tag[1..end].trim_start_matches('/');
                let inline = [
                    "a", "b", "i", "em", "strong", "span", "u", "code", "sup", "sub",
                ];
                let name = name
                    .split(|c: char| !c.is_ascii_alphanumeric())
                    .next()
                    .unwrap_or_default();
                if !inline
                    .iter()
                    .any(|inline| name.eq_ignore_ascii_case(inline))
                {
                    text.push(' ');
                }
                rest = &tag[end + 1..];
            }
            None => {
                text.push('<');
                rest = &tag[1..];
            }
        }
    }
    text.push_str(rest);
    squeeze(&decode_entities(&text))
}

fn in_attributes(document: &Document<'_>) -> Vec<Pair> {
    let questions = document
        .elements()
        .filter(|element| is_item(*element, "Question"));
    let pairs = questions.filter_map(|item| {
        let question = property(item, &["name", "text"])?;
        let answer = item
            .descendants()
            .filter_map(Node::as_element)
            .find(|inner| {
                is_property(*inner, &["acceptedAnswer", "suggestedAnswer"])
                    || is_item(*inner, "Answer")
            })?;
        let text =
            property(answer, &["text", "description"]).unwrap_or_else(|| flat_text(answer, true));
        Pair::new(&question, &text, From::FaqMarkup)
    });
    pairs.take(PAIRS_MAX).collect()
}

fn is_item(element: Element<'_>, kind: &str) -> bool {
    let types = [element.attr("itemtype"), element.attr("typeof")];
    types.into_iter().flatten().any(|types| {
        let mut types = types.split_ascii_whitespace();
        types.any(|own| own.rsplit(['/', ':', '#']).next() == Some(kind))
    })
}

fn is_property(element: Element<'_>, names: &[&str]) -> bool {
    let own = [element.attr("itemprop"), element.attr("property")];
    own.into_iter().flatten().any(|own| {
        let mut own = own.split_ascii_whitespace();
        own.any(|own| names.contains(&own.trim_start_matches("schema:")))
    })
}

/// The text of a property of the item itself, not of a nested item.
fn property(item: Element<'_>, names: &[&str]) -> Option<String> {
    let mut inside = item.descendants();
    while let Some(node) = inside.next() {
        let Some(element) = node.as_element() else {
            continue;
        };
        if is_property(element, names) {
            let text = element
                .attr("content")
                .map_or_else(|| flat_text(element, true), squeeze);
            if !text.is_empty() {
                return Some(text);
            }
        }
        if element.has_attr("itemscope") || element.has_attr("typeof") {
            inside.skip_inside(node);
        }
    }
    None
}
