//! What the head of a page says about its use: `meta` elements for crawlers, reservations, and
//! links to licences.

use super::meta::has_token;

/// Elements of one page that are read.
const ELEMENTS_MAX: usize = 50;
/// Longest text of one of them that is read.
const TEXT_BYTES_MAX: usize = 2_000;

/// Elements of the head that may say something about the use of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadStatements {
    /// Name and content of `meta` elements whose name may be a crawler's or that of a reservation.
    pub meta: Vec<(String, String)>,
    /// URLs of `link rel=license`, as they are written.
    pub licenses: Vec<String>,
}

impl HeadStatements {
    /// Approximate bytes in memory.
    pub fn bytes(&self) -> usize {
        let meta = self.meta.iter();
        let meta = meta.map(|(name, content)| name.capacity() + content.capacity());
        let licenses = self.licenses.iter().map(String::capacity);
        let n_texts = 2 * self.meta.len() + self.licenses.len();
        meta.sum::<usize>() + licenses.sum::<usize>() + n_texts * size_of::<String>()
    }

    /// Adds a `meta` element, unless its name is of another kind: `og:title`, `theme-color`.
    pub(super) fn meta(&mut self, name: &str, content: &str) {
        let name = name.trim_ascii();
        let is_said = is_directive(content) || name.to_ascii_lowercase().starts_with("tdm-");
        if is_said && self.meta.len() < ELEMENTS_MAX && content.len() <= TEXT_BYTES_MAX {
            self.meta.push((name.to_owned(), content.to_owned()));
        }
    }

    /// Adds a `link` element if it is a licence's.
    pub(super) fn link(&mut self, href: &str, rel: &str, is_inert: bool) {
        let has_room = self.licenses.len() < ELEMENTS_MAX && href.len() <= TEXT_BYTES_MAX;
        if !is_inert && has_room && has_token(rel, "license") {
            self.licenses.push(href.to_owned());
        }
    }
}

/// Whether a content has a directive about the use of a page. Any name may be a crawler's.
fn is_directive(content: &str) -> bool {
    let words = ["noindex", "none", "noai", "noimageai"];
    let mut directives = content.split(',');
    directives.any(|directive| {
        let directive = directive.trim_ascii();
        words
            .iter()
            .any(|word| directive.eq_ignore_ascii_case(word))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::page_url;
    use super::super::{Page, head_statements};
    use super::*;

    fn read(html: &str) -> HeadStatements {
        head_statements(&Page::html(html, &page_url()))
    }

    #[test]
    fn elements_of_the_head_are_read() {
        let found = read(
            "<!doctype html><head><base href=/x/><title><meta name=robots content=noai></title>\
             <meta name=Robots content='NoIndex, nofollow'><meta name=description content=none,such>\
             <meta name=trawl content=noai><meta name=tdm-reservation content=1>\
             <meta name=TDM-policy content='https://a.example/p?a&amp;b'>\
             <meta name=og:title content='all'><a href=/x>x</a>\
             <link rel='License' type=application/rsl+xml href=l.xml><link rel=next href=n>\
             <template><meta name=robots content=none><link rel=license href=t></template>\
             <body><meta name=robots content=noimageai><link rel=license href=late>",
        );
        let pair = |name: &str, content: &str| (name.to_owned(), content.to_owned());
        assert_eq!(
            found,
            HeadStatements {
                meta: vec![
                    pair("Robots", "NoIndex, nofollow"),
                    pair("description", "none,such"),
                    pair("trawl", "noai"),
                    pair("tdm-reservation", "1"),
                    pair("TDM-policy", "https://a.example/p?a&b"),
                ],
                licenses: vec!["l.xml".to_owned()],
            }
        );
        assert_eq!(read("<p>no head"), HeadStatements::default());
    }

    #[test]
    fn only_some_elements_are_kept() {
        let long = "x".repeat(TEXT_BYTES_MAX);
        let mut html = format!("<meta name=robots content='noai,{long}'>");
        html.push_str(&"<meta name=robots content=noai>".repeat(ELEMENTS_MAX + 5));
        html.push_str(&"<link rel=license href=a>".repeat(ELEMENTS_MAX + 5));
        let found = read(&html);
        assert_eq!(found.meta.len(), ELEMENTS_MAX);
        assert_eq!(found.licenses.len(), ELEMENTS_MAX);
        assert!(found.meta.iter().all(|(_, content)| content == "noai"));
    }
}
