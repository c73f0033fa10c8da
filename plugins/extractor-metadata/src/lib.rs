//! The `metadata` extractor: metadata of a page. The host adds what only it knows (sizes, URLs
//! before redirects).

use trawl_metadata::Metadata;
use trawl_sdk::{Document, Extractor, Failure, Info, Source};

/// Returns a flat object with the title, description and other metadata.
pub struct PageMetadata;

trawl_sdk::export!(extractor: PageMetadata);

impl Extractor for PageMetadata {
    type Options = ();
    type Output = Metadata;

    fn info() -> Info {
        Info::new(
            "metadata",
            env!("CARGO_PKG_VERSION"),
            "Metadata of a page: title, description, keywords, language, canonical URL, author, dates, site, icon, feeds, kind of page",
        )
    }

    fn extract(document: &Document, _: Source, _: ()) -> Result<Metadata, Failure> {
        Ok(Metadata::of(document))
    }
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
