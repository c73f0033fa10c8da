//! RSS 0.9x, 1.0 and 2.0 with the modules that are in use: Dublin Core, `content`, `media`,
//! `itunes`, `atom`.

use trawl_sdk::decoder::Failure;
use trawl_sdk::xml::Element;

use crate::feed::{Base, Enclosure, Feed, Item, person, plain, text_or_markup};

pub(crate) fn read(root: &Element, base: &Base) -> Result<Feed, Failure> {
    let base = base.within(root.attribute("xml:base"));
    let Some(channel) = root.child("channel") else {
        let reason = "a feed without a `channel`".to_owned();
        return Err(Failure::Damaged(reason));
    };
    let base = base.within(channel.attribute("xml:base"));
    // In RSS 1.0 items are beside the channel.
    let items = channel.all("item").chain(root.all("item"));
    let image = channel.child("image").or_else(|| root.child("image"));
    let image = image.and_then(|image| image.child_text("url"));
    let image = image.or_else(|| {
        let image = channel.child("itunes:image")?;
        image.attribute("href").map(str::to_owned)
    });
    let description = ["description", "itunes:summary", "itunes:subtitle"];
    let format = match root.attribute("version") {
        Some(version) => format!("rss {}", version.trim()),
        None => "rss 1.0".to_owned(),
    };
    Ok(Feed {
        format,
        title: first(channel, &["title"]).map_or_else(String::new, |text| plain(&text)),
        link: link(channel, &base),
        description: first(channel, &description).map(text_or_markup),
        language: first(channel, &["language", "dc:language"]),
        authors: people(channel, &["managingEditor", "itunes:author", "dc:creator"]),
        modified: first(channel, &["lastBuildDate", "pubDate", "dc:date"]),
        generator: first(channel, &["generator"]),
        image: image.map(|url| base.absolute(&url)),
        items: items.map(|element| item(element, &base)).collect(),
    })
}

fn item(element: &Element, base: &Base) -> Item {
    let base = &base.within(element.attribute("xml:base"));
    let content = [
        "content:encoded",
        "description",
        "itunes:summary",
        "media:description",
    ];
    Item {
        title: first(element, &["title", "media:title"])
            .map_or_else(String::new, |text| plain(&text)),
        link: link(element, base),
        published: first(element, &["pubDate", "dc:date", "published"]),
        modified: first(element, &["atom:updated", "dcterms:modified"]),
        authors: people(element, &["dc:creator", "author", "itunes:author"]),
        categories: texts(element, "category"),
        content: first(element, &content).map(text_or_markup),
        enclosures: enclosures(element, base),
        comments: element
            .child_text("comments")
            .map(|url| base.absolute(&url)),
    }
}

/// The page of a channel or item: its `link`, else a permanent `guid`, else a link of Atom.
fn link(element: &Element, base: &Base) -> Option<String> {
    let guid = || {
        let guid = element.child("guid")?;
        let is_link = guid.attribute("isPermaLink") != Some("false");
        let text = guid.text();
        let text = text.trim();
        let is_url = text.starts_with("http://") || text.starts_with("https://");
        (is_link && is_url).then(|| text.to_owned())
    };
    let atom = || {
        let links = element.all("atom:link").chain(element.all("link"));
        let mut pages = links.filter(|link| {
            let rel = link.attribute("rel");
            rel.is_none_or(|rel| rel == "alternate")
        });
        pages.find_map(|link| link.attribute("href").map(str::to_owned))
    };
    let about = || element.attribute("rdf:about").map(str::to_owned);
    let url = element
        .child_text("link")
        .or_else(guid)
        .or_else(atom)
        .or_else(about)?;
    Some(base.absolute(&url))
}

fn enclosures(element: &Element, base: &Base) -> Vec<Enclosure> {
    let groups = element
        .all("media:group")
        .flat_map(|group| group.all("media:content"));
    let files = element
        .all("enclosure")
        .chain(element.all("media:content"))
        .chain(groups);
    let mut found: Vec<Enclosure> = Vec::new();
    for file in files {
        let Some(url) = file.attribute("url").map(|url| base.absolute(url)) else {
            continue;
        };
        if url.is_empty() || found.iter().any(|known| known.url == url) {
            continue;
        }
        let media_type = file.attribute("type").or_else(|| file.attribute("medium"));
        let bytes = file
            .attribute("length")
            .or_else(|| file.attribute("fileSize"));
        found.push(Enclosure {
            url,
            media_type: media_type.unwrap_or_default().trim().to_owned(),
            bytes: bytes
                .and_then(|bytes| bytes.trim().parse().ok())
                .filter(|bytes| *bytes > 0),
        });
    }
    found
}

/// The text of the first of these children that has one.
fn first(element: &Element, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| element.child_text(name))
}

fn texts(element: &Element, name: &str) -> Vec<String> {
    let texts = element.all(name).map(|child| plain(&child.text()));
    texts.filter(|text| !text.is_empty()).collect()
}

/// Names in the first of these children that has some.
fn people(element: &Element, names: &[&str]) -> Vec<String> {
    let mut lists = names.iter().map(|name| texts(element, name));
    let found = lists.find(|list| !list.is_empty()).unwrap_or_default();
    found.iter().map(|text| person(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::Content;

    #[test]
    fn markup_is_told_from_text() {
        let is_html = |text: &str| matches!(text_or_markup(text.to_owned()), Content::Html(_));
        assert!(is_html("a <b>b</b>") && is_html("a &amp; b") && is_html("</p>"));
        assert!(!is_html("a < b") && !is_html("a & b; c") && !is_html("plain"));
    }

    #[test]
    fn people_have_names() {
        assert_eq!(person("ann@a.example (Ann  B.)"), "Ann B.");
        assert_eq!(person(" Ann (editor) "), "Ann (editor)");
    }
}
