//! JSON Feed 1.0 and 1.1.

use serde_json::Value;
use trawl_sdk::decoder::{Decoded, Failure};

use crate::feed::{Base, Content, Enclosure, Feed, Item, plain};

/// In the `version` of every JSON Feed.
const VERSION: &str = "https://jsonfeed.org/version/";

pub(crate) fn read(text: &str, base: &Base) -> Result<Decoded, Failure> {
    // Other JSON is not read whole. A slash may be escaped.
    if !text.contains("jsonfeed.org") {
        return Err(unsupported());
    }
    let feed: Value = serde_json::from_str(text)
        .map_err(|error| Failure::Damaged(format!("the JSON is invalid: {error}")))?;
    let version = feed["version"]
        .as_str()
        .and_then(|text| text.strip_prefix(VERSION));
    let version = version.ok_or_else(unsupported)?;
    let items = feed["items"].as_array();
    let language = text_of(&feed, "language");
    let feed = Feed {
        format: format!("json feed {}", version.trim_end_matches('/')),
        title: plain(&text_of(&feed, "title").unwrap_or_default()),
        link: url(&feed, &["home_page_url"], base),
        description: text_of(&feed, "description").map(Content::Text),
        language,
        authors: authors(&feed),
        modified: None,
        generator: None,
        image: url(&feed, &["icon", "favicon"], base),
        items: items.map_or_else(Vec::new, |items| {
            items.iter().map(|value| item(value, base)).collect()
        }),
    };
    Ok(feed.write())
}

fn unsupported() -> Failure {
    Failure::Unsupported("the JSON is not a JSON Feed".to_owned())
}

fn item(value: &Value, base: &Base) -> Item {
    let attachments = value["attachments"].as_array();
    let attachments = attachments.into_iter().flatten().filter_map(|file| {
        Some(Enclosure {
            url: url(file, &["url"], base)?,
            media_type: text_of(file, "mime_type").unwrap_or_default(),
            bytes: file["size_in_bytes"].as_u64(),
        })
    });
    let html = text_of(value, "content_html").map(Content::Html);
    let text = || text_of(value, "content_text").map(Content::Text);
    let summary = || text_of(value, "summary").map(Content::Text);
    let tags = value["tags"].as_array().into_iter().flatten();
    Item {
        title: plain(&text_of(value, "title").unwrap_or_default()),
        link: url(value, &["url", "external_url"], base).or_else(|| {
            let id = text_of(value, "id")?;
            id.starts_with("http").then_some(id)
        }),
        published: text_of(value, "date_published"),
        modified: text_of(value, "date_modified"),
        authors: authors(value),
        categories: tags.filter_map(Value::as_str).map(plain).collect(),
        content: html.or_else(text).or_else(summary),
        enclosures: attachments.collect(),
        comments: None,
    }
}

/// Names of authors: `author` in version 1.0, `authors` in 1.1.
fn authors(value: &Value) -> Vec<String> {
    let one = value.get("author").into_iter();
    let all = value["authors"].as_array().into_iter().flatten();
    let names = all.chain(one).filter_map(|author| text_of(author, "name"));
    let mut names: Vec<String> = names.map(|name| plain(&name)).collect();
    names.dedup();
    names
}

fn url(value: &Value, names: &[&str], base: &Base) -> Option<String> {
    let url = names.iter().find_map(|name| text_of(value, name))?;
    Some(base.absolute(&url))
}

fn text_of(value: &Value, name: &str) -> Option<String> {
    let text = value.get(name)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
