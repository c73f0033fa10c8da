//! The `links` extractor: all links of a page.

use std::collections::HashSet;

use trawl_sdk::{Document, Extractor, Failure, Info, Source};

/// Lists the absolute `http` and `https` URLs of `<a href>` (of SVG, too) and `<area href>` in page
/// order, without duplicates.
///
/// Fragments are removed, since they refer to a place on a page, and so are user names and
/// passwords. A link to a place on the page itself is skipped, and so are the routes that a script
/// reads from a fragment (`#/about`): no server knows them.
pub struct Links;

trawl_sdk::export!(extractor: Links);

impl Extractor for Links {
    type Options = ();
    type Output = Vec<String>;

    fn info() -> Info {
        Info::new(
            "links",
            env!("CARGO_PKG_VERSION"),
            "All links of a page: absolute URLs in page order, without duplicates and fragments",
        )
    }

    fn extract(document: &Document, _: Source, _: ()) -> Result<Vec<String>, Failure> {
        let mut links = Vec::new();
        let mut seen_hrefs = HashSet::new();
        let mut seen = HashSet::new();
        for element in document.live_elements() {
            // Most duplicates have the same spelling and need no parsing.
            if let Some(href) = element.link()
                && seen_hrefs.insert(href)
                && let Some(link) = document.resolve_page(href)
                && seen.insert(link.clone())
            {
                links.push(link);
            }
        }
        Ok(links)
    }
}

#[cfg(test)]
mod tests {
    use super::Links;
    use serde_json::json;
    use trawl_sdk::testkit;

    #[track_caller]
    fn check(html: &str, expected: &[&str]) {
        let page = testkit::page(html).url("https://example.com/a/b?q");
        assert_eq!(
            page.extract::<Links>(json!({})),
            Ok(json!(expected)),
            "{html}"
        );
    }

    #[test]
    fn links_are_absolute_deduplicated_and_in_page_order() {
        check(
            "<a href='c'>1</a><map><area href=//other.example></map><a href=' /d\n'>2</a><a href=./c>3</a><a href='?r'>4</a>",
            &[
                "https://example.com/a/c",
                "https://other.example/",
                "https://example.com/d",
                "https://example.com/a/b?r",
            ],
        );
    }

    #[test]
    fn only_the_web_is_linked() {
        check(
            "<a href='mailto:a@b.example'></a><a href='javascript:x()'></a><a href='tel:1'></a><a href='http://['></a><a>x</a>",
            &[],
        );
        check("<template><a href=x></a></template><link href=y>", &[]);
    }

    #[test]
    fn a_fragment_is_not_a_separate_page() {
        check(
            "<a href='#top'>t</a><a href='c#1'>1</a><a href='c#2'>2</a>",
            &["https://example.com/a/c"],
        );
    }

    #[test]
    fn a_password_in_a_link_is_left_out() {
        check(
            "<a href='https://u:p@a.example/x@y?z@'>1</a><a href='//u@a.example/x@y?z@'>2</a>",
            &["https://a.example/x@y?z@"],
        );
    }

    #[test]
    fn links_in_drawings_count() {
        check(
            "<svg><a href=x></a><a xlink:href=y></a><use href=no /></svg><a xlink:href=no></a>",
            &["https://example.com/a/x", "https://example.com/a/y"],
        );
    }

    #[test]
    fn links_are_resolved_by_the_standard() {
        check(
            "<a href='/a?b #x'>1</a><a href='///h.example/x'>2</a><a href='/a^b'>3</a><a href='#/about'>4</a>",
            &[
                "https://example.com/a?b%20",
                "https://h.example/x",
                "https://example.com/a%5Eb",
            ],
        );
    }

    #[test]
    fn the_base_of_the_page_counts() {
        check(
            "<base href=/docs/><a href=x>x</a>",
            &["https://example.com/docs/x"],
        );
        check(
            "<base href=/docs/><a href='#x'>x</a><a href=''>y</a>",
            &["https://example.com/docs/"],
        );
        check(
            "<base href='/a/b?q'><a href='#x'>x</a><a href=''>y</a>",
            &[],
        );
    }
}
