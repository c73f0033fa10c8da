//! What feeds of all formats have in common, and its HTML.

use trawl_sdk::decoder::{Decoded, Html};
use url::Url;

use crate::dates;

/// Most items that are written; a page of more is of no use to anybody.
pub(crate) const ITEMS_MAX: usize = 10_000;
/// Bytes of HTML from which on no item is begun.
const HTML_BYTES_MAX: usize = 32 << 20;
/// Characters of a title made of text.
const TITLE_CHARS_MAX: usize = 80;

/// What relative URLs of a feed resolve against.
#[derive(Clone, Debug)]
pub(crate) struct Base(Option<Url>);

impl Base {
    pub(crate) fn of(url: &str) -> Self {
        Self(Url::parse(url).ok())
    }

    /// The base inside an element with this `xml:base`.
    pub(crate) fn within(&self, base: Option<&str>) -> Self {
        match base {
            Some(base) => Self(self.join(base).or_else(|| self.0.clone())),
            None => self.clone(),
        }
    }

    /// An absolute URL; unresolvable ones stay as they are.
    pub(crate) fn absolute(&self, url: &str) -> String {
        let url = url.trim();
        self.join(url).map_or_else(|| url.to_owned(), String::from)
    }

    fn join(&self, url: &str) -> Option<Url> {
        match &self.0 {
            Some(base) => base.join(url).ok(),
            None => Url::parse(url).ok(),
        }
    }
}

/// Text or markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text(String),
    Html(String),
}

/// A file beside an item: a podcast's sound, a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Enclosure {
    pub(crate) url: String,
    pub(crate) media_type: String,
    pub(crate) bytes: Option<u64>,
}

/// An item of a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) title: String,
    pub(crate) link: Option<String>,
    /// As in the feed.
    pub(crate) published: Option<String>,
    pub(crate) modified: Option<String>,
    pub(crate) authors: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) content: Option<Content>,
    pub(crate) enclosures: Vec<Enclosure>,
    /// Its page of comments.
    pub(crate) comments: Option<String>,
}

/// A feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Feed {
    /// `rss 2.0`, `atom 1.0`, …
    pub(crate) format: String,
    pub(crate) title: String,
    pub(crate) link: Option<String>,
    pub(crate) description: Option<Content>,
    pub(crate) language: Option<String>,
    pub(crate) authors: Vec<String>,
    /// As in the feed.
    pub(crate) modified: Option<String>,
    pub(crate) generator: Option<String>,
    pub(crate) image: Option<String>,
    pub(crate) items: Vec<Item>,
}

impl Feed {
    /// The feed as HTML.
    pub(crate) fn write(&self) -> Decoded {
        let mut html = Html::new(&self.title, self.language.as_deref());
        html.open("header");
        if !self.title.is_empty() {
            html.open("h1").link(self.link.as_deref(), &self.title);
            html.close();
        } else if let Some(link) = &self.link {
            html.open("p").link(Some(link), link).close();
        }
        if let Some(description) = &self.description {
            write_content(&mut html, description);
        }
        html.close().open("main");
        let mut n_written = 0;
        for item in self.items.iter().take(ITEMS_MAX) {
            if html.bytes() > HTML_BYTES_MAX {
                break;
            }
            item.write(&mut html);
            n_written += 1;
        }
        let decoded = Decoded::new(html.finish())
            .with("title", self.title.as_str())
            .with("description", self.plain_description())
            .with("language", self.language.as_deref())
            .with("authors", self.authors.clone())
            .with("modified", self.modified.as_deref().map(dates::rfc_3339))
            .with("generator", self.generator.as_deref())
            .with("og_image", self.image.as_deref())
            .with("feed_format", self.format.as_str())
            .with("item_count", self.items.len());
        match self.items.len() - n_written {
            0 => decoded,
            left => decoded.warn(format!("{left} of {} items are left out", self.items.len())),
        }
    }

    fn plain_description(&self) -> Option<&str> {
        match &self.description {
            Some(Content::Text(text)) => Some(text),
            _ => None,
        }
    }
}

impl Item {
    fn write(&self, html: &mut Html) {
        html.open("article").open("h2");
        html.link(self.link.as_deref(), &self.shown_title()).close();
        self.write_line(html);
        if let Some(content) = &self.content {
            write_content(html, content);
        }
        for enclosure in &self.enclosures {
            html.open("p");
            enclosure.write(html);
            html.close();
        }
        if let Some(comments) = &self.comments {
            html.open("p").link(Some(comments), "Comments").close();
        }
        html.close();
    }

    /// Its title; items of microblogs have none but their text.
    fn shown_title(&self) -> String {
        if !self.title.is_empty() {
            return self.title.clone();
        }
        match (&self.content, &self.link) {
            (Some(Content::Text(text)), _) => {
                let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
                match words.char_indices().nth(TITLE_CHARS_MAX) {
                    Some((end, _)) => format!("{}…", words[..end].trim_end()),
                    None => words,
                }
            }
            (_, Some(link)) => link.clone(),
            _ => "Untitled".to_owned(),
        }
    }

    /// Date, authors and categories.
    fn write_line(&self, html: &mut Html) {
        let date = self.published.as_ref().or(self.modified.as_ref());
        if date.is_none() && self.authors.is_empty() && self.categories.is_empty() {
            return;
        }
        html.open("p");
        if let Some(date) = date {
            html.open_with("time", &[("datetime", &dates::rfc_3339(date))]);
            html.text(date).close();
        }
        for (names, before) in [(&self.authors, " by "), (&self.categories, " in ")] {
            if !names.is_empty() {
                html.text(before).text(&names.join(", "));
            }
        }
        html.close();
    }
}

impl Enclosure {
    fn write(&self, html: &mut Html) {
        let source = [("src", self.url.as_str())];
        match self.media_type.split('/').next() {
            Some("image") => {
                html.open_with("img", &[("src", &self.url), ("alt", "")]);
            }
            Some("audio") => {
                html.open_with("audio", &source).close();
            }
            Some("video") => {
                html.open_with("video", &source).close();
            }
            _ => {}
        }
        let name = self.url.rsplit('/').find(|part| !part.is_empty());
        html.link(Some(&self.url), name.unwrap_or(&self.url));
        let bytes = self.bytes.map(|bytes| format!("{bytes} bytes"));
        let facts = [Some(self.media_type.clone()), bytes];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        let facts = facts.join(", ");
        if !facts.trim().is_empty() {
            html.text(&format!(" ({})", facts.trim_start_matches(", ")));
        }
    }
}

fn write_content(html: &mut Html, content: &Content) {
    match content {
        Content::Text(text) => {
            for paragraph in text.split("\n\n").filter(|text| !text.trim().is_empty()) {
                html.element("p", paragraph.trim());
            }
        }
        Content::Html(markup) => {
            html.markup(markup);
        }
    }
}

/// Text of a feed that is markup if it looks like it: RSS does not say which.
pub(crate) fn text_or_markup(text: String) -> Content {
    let has_tag = text.match_indices('<').any(|(at, _)| {
        let next = text[at + 1..].trim_start_matches('/').chars().next();
        next.is_some_and(|next| next.is_ascii_alphabetic())
    });
    let has_reference = text
        .split_once('&')
        .is_some_and(|(_, rest)| rest.split_once(';').is_some_and(|(name, _)| is_name(name)));
    if has_tag || has_reference {
        Content::Html(text)
    } else {
        Content::Text(text)
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'#';
    !name.is_empty() && name.len() <= 12 && name.bytes().all(is_part)
}

/// A text without markup, folded: titles often are HTML.
pub(crate) fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name of a person without an e-mail address: `a@b.example (Ann)` is `Ann`.
pub(crate) fn person(text: &str) -> String {
    let text = plain(text);
    match text.split_once(" (") {
        Some((address, name)) if address.contains('@') => name.trim_end_matches(')').to_owned(),
        _ => text,
    }
}
