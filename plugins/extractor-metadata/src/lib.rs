//! The extractor `metadata`: what a page says of itself. The host adds what only it knows (sizes, addresses before redirects).

use serde::Serialize;
use trawl_sdk::{Document, Element, Extractor, Failure, Info, Source, Tag};

/// Gives a flat object of title, description and the like.
pub struct PageMetadata;

/// What a page says of itself.
#[derive(Debug, Default, Serialize)]
pub struct Metadata {
    /// The title, else `og:title`; empty without either.
    title: String,
    /// `description`, else `og:description`; empty without either.
    description: String,
    /// The words of `keywords`; null without.
    keywords: Option<Vec<String>>,
    /// Address of the image for previews; null without.
    og_image: Option<String>,
    /// Host name of the page.
    domain: Option<String>,
    /// Path of the page's address.
    pathname: Option<String>,
    /// What kind of page it is: `html`, `json`, `pdf`, `image`, ...
    resource_type: String,
    /// Language as the page names it (`en-GB`); null when it does not.
    language: Option<String>,
    /// Address that the page calls its own; null without.
    canonical: Option<String>,
}

trawl_sdk::export!(extractor: PageMetadata);

impl Extractor for PageMetadata {
    type Options = ();
    type Output = Metadata;

    fn info() -> Info {
        Info::new(
            "metadata",
            env!("CARGO_PKG_VERSION"),
            "What a page says of itself: title, description, keywords, language, canonical address",
        )
    }

    fn extract(document: &Document, _: Source, _: ()) -> Result<Metadata, Failure> {
        let mut found = Found::default();
        for element in document.elements() {
            found.read(element);
        }
        let url = document.resolve_url(document.url());
        let absolute = |address: &str| document.resolve(address);
        Ok(Metadata {
            title: found.title.or(found.og_title).unwrap_or_default(),
            description: found
                .description
                .or(found.og_description)
                .unwrap_or_default(),
            keywords: found.keywords.map(words),
            og_image: found.og_image.and_then(absolute),
            domain: url
                .as_ref()
                .and_then(|url| url.host_str())
                .map(str::to_owned),
            pathname: url.as_ref().map(|url| url.path().to_owned()),
            resource_type: resource_type(document.media_type()),
            language: found
                .html_language
                .or(found.http_language)
                .map(str::to_owned),
            canonical: found.canonical.and_then(absolute),
        })
    }
}

/// The first of each that the page has.
#[derive(Default)]
struct Found<'a> {
    title: Option<String>,
    og_title: Option<String>,
    description: Option<String>,
    og_description: Option<String>,
    keywords: Option<&'a str>,
    og_image: Option<&'a str>,
    html_language: Option<&'a str>,
    http_language: Option<&'a str>,
    canonical: Option<&'a str>,
}

impl<'a> Found<'a> {
    fn read(&mut self, element: Element<'a>) {
        match element.tag() {
            Tag::Html => self.html_language = attribute(element, "lang"),
            Tag::Title if self.title.is_none() => self.title = some_text(&element.text()),
            Tag::Meta => self.read_meta(element),
            Tag::Link if self.canonical.is_none() && is_canonical(element) => {
                self.canonical = attribute(element, "href");
            }
            _ => {}
        }
    }

    fn read_meta(&mut self, meta: Element<'a>) {
        let Some(content) = attribute(meta, "content") else {
            return;
        };
        // Pages write `og:` names into `name` too, and others into `property`.
        let names = ["name", "property", "itemprop", "http-equiv"];
        let Some(name) = names.into_iter().find_map(|name| attribute(meta, name)) else {
            return;
        };
        let text = |place: &mut Option<String>| {
            if place.is_none() {
                *place = some_text(content);
            }
        };
        match name.to_ascii_lowercase().as_str() {
            "description" => text(&mut self.description),
            "og:description" => text(&mut self.og_description),
            "og:title" => text(&mut self.og_title),
            "keywords" => self.keywords = self.keywords.or(Some(content)),
            "og:image" | "og:image:url" | "og:image:secure_url" => {
                self.og_image = self.og_image.or(Some(content));
            }
            "content-language" => self.http_language = self.http_language.or(Some(content)),
            _ => {}
        }
    }
}

/// An attribute's value without white space around it; `None` when nothing is left.
fn attribute<'a>(element: Element<'a>, name: &str) -> Option<&'a str> {
    let value = element.attr(name)?.trim_ascii();
    (!value.is_empty()).then_some(value)
}

/// The text with its white space folded; `None` when nothing is left.
fn some_text(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn is_canonical(link: Element<'_>) -> bool {
    let kinds = link.attr("rel").unwrap_or_default();
    kinds
        .split_ascii_whitespace()
        .any(|kind| kind.eq_ignore_ascii_case("canonical"))
}

fn words(keywords: &str) -> Vec<String> {
    keywords.split(',').filter_map(some_text).collect()
}

fn resource_type(media_type: &str) -> String {
    let (kind, subtype) = media_type.split_once('/').unwrap_or_default();
    let name = match (kind, subtype) {
        (_, "html" | "xhtml+xml") => "html",
        (_, "json") => "json",
        (_, "xml") => "xml",
        (_, "pdf") => "pdf",
        (_, subtype) if subtype.ends_with("+json") => "json",
        ("application" | "text", subtype) if subtype.ends_with("+xml") => "xml",
        ("image" | "audio" | "video" | "font" | "text", _) => kind,
        _ => media_type,
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::PageMetadata;
    use serde_json::{Value, json};
    use trawl_sdk::testkit;

    fn metadata(html: &str) -> Value {
        let page = testkit::page(html).url("https://example.com/a/b?q#f");
        page.extract::<PageMetadata>(json!({}))
            .expect("metadata never fails")
    }

    #[test]
    fn a_full_page_tells_all() {
        let html = "<html lang=en-GB><title> A \n title </title><meta name=Description content=' d  e '><meta name=keywords content='a, b c,,'>
            <meta property=og:image content=/i.png><link rel='Canonical' href=/c>";
        assert_eq!(
            metadata(html),
            json!({
                "title": "A title", "description": "d e", "keywords": ["a", "b c"], "og_image": "https://example.com/i.png",
                "domain": "example.com", "pathname": "/a/b", "resource_type": "html", "language": "en-GB",
                "canonical": "https://example.com/c",
            })
        );
    }

    #[test]
    fn an_empty_page_has_texts_and_nulls() {
        assert_eq!(
            metadata(""),
            json!({
                "title": "", "description": "", "keywords": null, "og_image": null,
                "domain": "example.com", "pathname": "/a/b", "resource_type": "html", "language": null, "canonical": null,
            })
        );
    }

    #[test]
    fn what_is_missing_is_taken_from_the_preview() {
        let found = metadata(
            "<title> </title><meta property=og:title content=t><meta property=og:description content=d><meta http-equiv=content-language content=de>",
        );
        assert_eq!(
            (&found["title"], &found["description"], &found["language"]),
            (&json!("t"), &json!("d"), &json!("de"))
        );
    }

    #[test]
    fn the_title_of_a_drawing_is_not_the_pages() {
        assert_eq!(
            metadata("<svg><title>s</title></svg><title>t</title>")["title"],
            "t"
        );
    }

    #[test]
    fn other_pages_have_a_type_too() {
        for (content_type, expected) in [
            ("application/json", "json"),
            ("application/ld+json", "json"),
            ("image/svg+xml", "image"),
            ("application/rss+xml", "xml"),
            ("application/pdf", "pdf"),
            ("text/plain; charset=utf-8", "text"),
            ("application/zip", "application/zip"),
        ] {
            let page = testkit::page("").content_type(content_type);
            let found = page
                .extract::<PageMetadata>(json!({}))
                .expect("metadata never fails");
            assert_eq!(found["resource_type"], expected, "{content_type}");
        }
    }
}
