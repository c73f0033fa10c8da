//! Questions and answers in structured data: schema.org as JSON-LD and microdata.

use analyst_base::{lists, structured_data};
use serde_json::{Map, Value};
use trawl_embedded::decode_entities;
use trawl_rank::squeeze;
use trawl_sdk::Document;

use crate::pair::{From, Pair};

/// Maximum number of pairs per page.
const PAIRS_MAX: usize = 300;
/// Elements in the HTML of a value that do not separate words.
const INLINE: &str = "a b i em strong span u code sup sub";

/// The pairs in the page's structured data.
pub(crate) fn pairs(document: &Document<'_>) -> Vec<Pair> {
    let values: Vec<Value> = structured_data(document)
        .into_iter()
        .map(|item| item.value)
        .collect();
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
                let name = name.split(|c: char| !c.is_ascii_alphanumeric());
                let name = name.take(1).collect::<String>().to_ascii_lowercase();
                if !lists(INLINE, &name) {
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
