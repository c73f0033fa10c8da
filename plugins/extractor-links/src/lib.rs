//! The `links` extractor: all links of a page.

use std::collections::HashSet;

use trawl_sdk::{Document, Extractor, Failure, Info, Kind, Source, Tag};

/// Lists the absolute `http` and `https` URLs of `<a href>` and `<area href>` in page order,
/// without duplicates.
///
/// Fragments are removed, since they refer to a place on a page, and so are user names and
/// passwords. A link with only a fragment is skipped.
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
        let mut nodes = document.descendants();
        while let Some(node) = nodes.next() {
            let element = match node.kind() {
                Kind::Element(element) => element,
                Kind::TemplateContents => {
                    nodes.skip_inside(node);
                    continue;
                }
                _ => continue,
            };
            if !matches!(element.tag(), Tag::A | Tag::Area) {
                continue;
            }
            // Most duplicates have the same spelling and need no parsing.
            if let Some(href) = element.attr("href")
                && seen_hrefs.insert(href)
                && let Some(link) = target(document, href)
                && seen.insert(link.clone())
            {
                links.push(link);
            }
        }
        Ok(links)
    }
}

/// Absolute target of an `href`; `None` unless it is another page.
fn target(document: &Document, href: &str) -> Option<String> {
    let href = href.trim_ascii();
    if href.is_empty() || href.starts_with('#') {
        return None;
    }
    let page = href.split_once('#').map_or(href, |(page, _)| page);
    let mut link = document.resolve(page)?;
    link.truncate(link.find('#').unwrap_or(link.len()));
    let is_web = link.starts_with("https://") || link.starts_with("http://");
    is_web.then(|| without_userinfo(link))
}

/// An absolute URL without user name and password.
fn without_userinfo(mut link: String) -> String {
    let start = link.find("://").map_or(0, |at| at + "://".len());
    let authority = link[start..].find(['/', '?']);
    let authority = authority.map_or(link.len(), |length| start + length);
    if let Some(at) = link[start..authority].rfind('@') {
        link.drain(start..=start + at);
    }
    link
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
    fn the_base_of_the_page_counts() {
        check(
            "<base href=/docs/><a href=x>x</a>",
            &["https://example.com/docs/x"],
        );
    }
}
