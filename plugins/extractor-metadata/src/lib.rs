//! The `metadata` extractor: metadata of a page. The host adds what only it knows (sizes, URLs
//! before redirects).

mod author;
mod body;
mod choice;
mod date;
mod head;
mod headline;
mod lines;
mod months;
mod names;
mod schema;

use serde::Serialize;
use trawl_sdk::{Document, Extractor, Failure, Info, Source};

use choice::Choice;

/// Returns a flat object with the title, description and other metadata.
pub struct PageMetadata;

/// Metadata of a page. The first nine fields are always present, the others if known.
#[derive(Debug, Default, Serialize)]
pub struct Metadata {
    /// `title`, or else `og:title`, or else the headline; may be empty.
    title: String,
    /// `description`, or else that of previews or JSON-LD; may be empty.
    description: String,
    /// The `keywords`, or else the article's tags; null if absent.
    keywords: Option<Vec<String>>,
    /// URL of the preview image; null if absent.
    og_image: Option<String>,
    /// Host name of the page.
    domain: Option<String>,
    /// Path of the page's URL.
    pathname: Option<String>,
    /// Kind of resource: `html`, `json`, `pdf`, `image`, ...
    resource_type: String,
    /// Declared language (`en-GB`); null if absent.
    language: Option<String>,
    /// Canonical URL; null if absent.
    canonical: Option<String>,
    #[serde(flatten)]
    known: Known,
}

/// Optional fields.
#[derive(Debug, Default, Serialize)]
#[serde(default)]
struct Known {
    /// The visible title without the site's name, if it differs from the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    headline: Option<String>,
    /// Author; several names are joined with `; `.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    /// Publication time: `2024-05-17`, or `2024-05-17T10:00:00+02:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    published_time: Option<String>,
    /// Time of the last modification, in the same format.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_time: Option<String>,
    /// Name of the site.
    #[serde(skip_serializing_if = "Option::is_none")]
    site_name: Option<String>,
    /// URL of the largest icon.
    #[serde(skip_serializing_if = "Option::is_none")]
    icon: Option<String>,
    /// URLs of feeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    feeds: Vec<String>,
    /// `og:title`.
    #[serde(skip_serializing_if = "Option::is_none")]
    og_title: Option<String>,
    /// `og:description`.
    #[serde(skip_serializing_if = "Option::is_none")]
    og_description: Option<String>,
    /// `og:type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    og_type: Option<String>,
    /// `og:url`, absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    og_url: Option<String>,
    /// `twitter:card`.
    #[serde(skip_serializing_if = "Option::is_none")]
    twitter_card: Option<String>,
    /// `twitter:site`.
    #[serde(skip_serializing_if = "Option::is_none")]
    twitter_site: Option<String>,
    /// Section of an article.
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<String>,
    /// Directives for robots.
    #[serde(skip_serializing_if = "Option::is_none")]
    robots: Option<String>,
    /// Viewport for mobile devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    viewport: Option<String>,
    /// Theme colour of the browser's user interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    theme_color: Option<String>,
    /// Software that generated the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    generator: Option<String>,
}

trawl_sdk::export!(extractor: PageMetadata);

impl Extractor for PageMetadata {
    type Options = ();
    type Output = Metadata;

    fn info() -> Info {
        Info::new(
            "metadata",
            env!("CARGO_PKG_VERSION"),
            "Metadata of a page: title, description, keywords, language, canonical URL, author, dates, site, icon, feeds",
        )
    }

    fn extract(document: &Document, _: Source, _: ()) -> Result<Metadata, Failure> {
        let url = document.resolve_url(document.url());
        let domain = url.as_ref().and_then(|url| url.host_str());
        let path = url.as_ref().map(|url| url.path());
        let choice = Choice::of(document, domain, path);
        let title = choice.title();
        Ok(Metadata {
            description: choice.description(),
            keywords: choice.keywords(),
            og_image: choice.image(),
            domain: domain.map(str::to_owned),
            pathname: path.map(str::to_owned),
            resource_type: resource_type(document.media_type()),
            language: choice.language(),
            canonical: choice.canonical(),
            known: choice.known(&title),
            title,
        })
    }
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
    fn a_full_page_has_all_fields() {
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
    fn an_empty_page_has_empty_texts_and_nulls() {
        assert_eq!(
            metadata(""),
            json!({
                "title": "", "description": "", "keywords": null, "og_image": null,
                "domain": "example.com", "pathname": "/a/b", "resource_type": "html", "language": null, "canonical": null,
            })
        );
    }

    #[test]
    fn missing_fields_are_taken_from_the_preview() {
        let found = metadata(
            "<title> </title><meta property=og:title content=t><meta property=og:description content=d><meta http-equiv=content-language content=de>",
        );
        assert_eq!(
            (&found["title"], &found["description"], &found["language"]),
            (&json!("t"), &json!("d"), &json!("de"))
        );
    }

    #[test]
    fn the_title_of_an_svg_is_not_the_pages() {
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
