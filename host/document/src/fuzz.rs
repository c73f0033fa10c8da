//! Fuzzing of character sets and of the HTML parser, with scraper's tree as the reference.

use encoding_rs::Encoding;
use trawl_model::MediaKind;

use super::tests::{check_consistent, check_same, page_url};
use super::*;

/// Tags of a page, and bytes between two `<`, up to which no limit of ours applies, so that the
/// tree is the same as without limits.
const TAGS_MAX: usize = 200;
const TAG_BYTES_MAX: usize = 512;
/// Limits that small pages reach.
const SMALL: ParseLimits = ParseLimits {
    depth: 20,
    attributes: 5,
    nodes: 1_000,
    deadline: None,
};

#[test]
fn html() {
    trawl_fuzz::fuzz!("html", |body| {
        let text = decode(body, "text/html").text;
        let tags = text.split('<');
        // Scraper's tree does not know that HTML may be in this element of MathML.
        // It drops byte order marks behind scripts, too.
        // Nor does it know shadow trees.
        let lower = text.to_ascii_lowercase();
        let is_comparable = !lower.contains("annotation-xml")
            && !lower.contains("shadowrootmode")
            && !text.contains('\u{feff}');
        if is_comparable
            && tags.clone().count() <= TAGS_MAX
            && tags.clone().all(|tag| tag.len() < TAG_BYTES_MAX)
        {
            check_same(&text);
        }
        check_limits(&text, false);
        check_limits(&text, true);
        check_consistent(&plain(&text, &page_url(), "text/plain"));
    });
}

/// A page in narrow limits is refused or cut, and still consistent.
fn check_limits(text: &str, is_serialised: bool) {
    let url = page_url();
    let page = Page {
        is_serialised,
        ..Page::html(text, &url)
    };
    let document = match parse(&page, &SMALL) {
        Ok(document) => document,
        Err(error) => {
            let max = SMALL.nodes;
            assert_eq!(error, ParseError::TooManyNodes { max });
            return;
        }
    };
    check_consistent(&document);
    assert!(document.kinds.len() <= SMALL.nodes);
    let mut depths = vec![0; document.kinds.len()];
    for node in 1..depths.len() {
        depths[node] = depths[document.parents[node] as usize] + 1;
        // Text and comments may be in the deepest element.
        assert!(depths[node] <= SMALL.depth + 1, "{} deep", depths[node]);
    }
    let base = url::Url::parse(&document.base).expect("a base is a URL");
    assert!(!matches!(base.scheme(), "data" | "javascript"));
}

/// The first line of the input is the `Content-Type`, the rest the body.
#[test]
fn charset() {
    trawl_fuzz::fuzz!("charset", |input| {
        let end = input.iter().position(|byte| *byte == b'\n');
        let (content_type, body) = input.split_at(end.unwrap_or(0));
        let content_type = String::from_utf8_lossy(content_type);
        check_charset(&content_type, body);
        check_charset("", body);
    });
}

fn check_charset(content_type: &str, body: &[u8]) {
    let decoded = decode(body, content_type);
    let encoding = Encoding::for_label(decoded.charset.as_bytes());
    assert!(encoding.is_some(), "{:?}", decoded.charset);
    assert_eq!(decoded.charset, decoded.charset.to_ascii_lowercase());
    assert!(decoded.text.len() <= 3 * body.len() + 3);
    let (found, kind) = sniff(content_type, body);
    assert_eq!(found, media_type(&found));
    assert_eq!(kind, MediaKind::of(&found));
    if let Ok(text) = std::str::from_utf8(body) {
        let marked = ["\u{feff}", text].concat();
        let decoded = decode(marked.as_bytes(), content_type);
        assert_eq!((&*decoded.text, decoded.charset), (text, "utf-8"));
        if !text.starts_with('\u{feff}') {
            assert_eq!(decode(body, "text/plain").text, text);
        }
    }
}
