//! Atom 1.0 and 0.3.

use trawl_sdk::xml::{Element, Node};

use crate::feed::{Base, Content, Enclosure, Feed, Item, plain};

pub(crate) fn read(root: &Element, base: &Base) -> Feed {
    let base = base.within(root.attribute("xml:base"));
    let format = match root.attribute("version") {
        Some(version) => format!("atom {}", version.trim()),
        None => "atom 1.0".to_owned(),
    };
    let image = root.child_text("logo").or_else(|| root.child_text("icon"));
    Feed {
        format,
        title: title(root),
        link: link(root, "alternate", &base),
        description: content(root, &["subtitle", "tagline"]),
        language: root.attribute("xml:lang").map(str::to_owned),
        authors: authors(root),
        modified: root
            .child_text("updated")
            .or_else(|| root.child_text("modified")),
        generator: root.child_text("generator"),
        image: image.map(|url| base.absolute(&url)),
        items: root.all("entry").map(|entry| item(entry, &base)).collect(),
    }
}

fn item(entry: &Element, base: &Base) -> Item {
    let base = &base.within(entry.attribute("xml:base"));
    let categories = entry.all("category").filter_map(|category| {
        let name = category
            .attribute("label")
            .or_else(|| category.attribute("term"));
        name.map(plain).filter(|name| !name.is_empty())
    });
    let enclosures = entry.all("link").filter_map(|link| {
        let url = link.attribute("href").map(|url| base.absolute(url))?;
        (link.attribute("rel") == Some("enclosure")).then(|| Enclosure {
            url,
            media_type: link.attribute("type").unwrap_or_default().trim().to_owned(),
            bytes: link
                .attribute("length")
                .and_then(|bytes| bytes.trim().parse().ok()),
        })
    });
    Item {
        title: title(entry),
        link: link(entry, "alternate", base).or_else(|| of_content(entry, base)),
        published: entry
            .child_text("published")
            .or_else(|| entry.child_text("issued")),
        modified: entry
            .child_text("updated")
            .or_else(|| entry.child_text("modified")),
        authors: authors(entry),
        categories: categories.collect(),
        content: content(entry, &["content", "summary", "media:group"]),
        enclosures: enclosures.collect(),
        comments: link(entry, "replies", base),
    }
}

/// The text of a title, which may be markup.
fn title(element: &Element) -> String {
    match element.child("title").map(content_of) {
        Some(Content::Text(text)) => plain(&text),
        Some(Content::Html(markup)) => plain(&without_tags(&markup)),
        None => String::new(),
    }
}

/// The first link of this relation, one of a page first.
fn link(element: &Element, rel: &str, base: &Base) -> Option<String> {
    let has_rel = |link: &&Element| link.attribute("rel").unwrap_or("alternate") == rel;
    let is_page = |link: &&Element| {
        let media_type = link.attribute("type");
        media_type.is_none_or(|name| name.contains("html"))
    };
    let links = || element.all("link").filter(has_rel);
    let found = links().find(is_page).or_else(|| links().next())?;
    found.attribute("href").map(|url| base.absolute(url))
}

/// Where the content of an entry is, if not in the feed.
fn of_content(entry: &Element, base: &Base) -> Option<String> {
    let source = entry.child("content")?.attribute("src")?;
    Some(base.absolute(source))
}

fn authors(element: &Element) -> Vec<String> {
    let names = element
        .all("author")
        .filter_map(|author| author.child_text("name"));
    names.map(|name| plain(&name)).collect()
}

/// The content of the first of these children that has some.
fn content(element: &Element, names: &[&str]) -> Option<Content> {
    names.iter().find_map(|name| {
        let child = element.child(name)?;
        let child = child.child("media:description").unwrap_or(child);
        let content = content_of(child);
        let (Content::Text(text) | Content::Html(text)) = &content;
        (!text.trim().is_empty()).then_some(content)
    })
}

/// A text construct: `type` says what it is, `mode` did in version 0.3.
fn content_of(element: &Element) -> Content {
    let kind = element.attribute("type").unwrap_or("text").trim();
    match (kind, element.attribute("mode")) {
        ("xhtml" | "application/xhtml+xml", _) => Content::Html(markup(element)),
        ("html" | "text/html", Some("xml")) => Content::Html(markup(element)),
        ("html" | "text/html", _) | (_, Some("escaped")) => Content::Html(element.text()),
        _ if element.elements().next().is_some() => Content::Html(markup(element)),
        _ => Content::Text(element.text()),
    }
}

/// The children of an element as HTML; the caller makes it safe.
fn markup(element: &Element) -> String {
    let mut out = String::new();
    for child in &element.children {
        write(child, &mut out);
    }
    out
}

fn write(node: &Node, out: &mut String) {
    let element = match node {
        Node::Text(text) => return out.push_str(&escaped(text)),
        Node::Element(element) => element,
    };
    let name = element.local_name();
    out.push('<');
    out.push_str(name);
    for (key, value) in &element.attributes {
        if !key.contains(':') && key != "xmlns" {
            out.push_str(&format!(" {key}=\"{}\"", escaped(value)));
        }
    }
    out.push('>');
    for child in &element.children {
        write(child, out);
    }
    out.push_str(&format!("</{name}>"));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

fn without_tags(markup: &str) -> String {
    let mut text = String::new();
    let mut is_tag = false;
    for character in markup.chars() {
        match character {
            '<' => is_tag = true,
            '>' if is_tag => is_tag = false,
            _ if is_tag => {}
            other => text.push(other),
        }
    }
    let references = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ];
    references.iter().fold(text, |text, (name, character)| {
        text.replace(name, character)
    })
}
