//! Media types: parses the `Content-Type` header, and sniffs the body when there is none.

use trawl_model::MediaKind;

/// Bytes that are sniffed of an untyped body. Source: WHATWG MIME Sniffing, "resource header".
const SNIFF_BYTES: usize = 1445;

/// Prefixes of HTML, after white space, that a space or `>` must follow. Source: WHATWG MIME
/// Sniffing.
const HTML_PREFIXES: [&str; 16] = [
    "<!doctype html",
    "<html",
    "<head",
    "<script",
    "<iframe",
    "<h1",
    "<div",
    "<font",
    "<table",
    "<a",
    "<style",
    "<title",
    "<b",
    "<body",
    "<br",
    "<p",
];

/// The media type of a `Content-Type` header: lower case, without parameters; empty when there is
/// none.
#[must_use]
pub fn media_type(content_type: &str) -> String {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// The media type and kind of a page; an untyped body is sniffed.
#[must_use]
pub fn sniff(content_type: &str, body: &[u8]) -> (String, MediaKind) {
    let declared = media_type(content_type);
    let found = match declared.as_str() {
        "" | "*/*" | "unknown/unknown" | "application/unknown" => sniff_body(body).to_owned(),
        _ => declared,
    };
    let kind = MediaKind::of(&found);
    (found, kind)
}

fn sniff_body(body: &[u8]) -> &'static str {
    let head = &body[..body.len().min(SNIFF_BYTES)];
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let text = text.trim_ascii_start();
    if is_html(text) {
        return "text/html";
    }
    if text.starts_with(b"<?xml") {
        return "text/xml";
    }
    let is_utf_16 = head.starts_with(b"\xFE\xFF") || head.starts_with(b"\xFF\xFE");
    let is_binary = |byte: &u8| matches!(byte, 0..=8 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F);
    if !is_utf_16 && head.iter().any(is_binary) {
        "application/octet-stream"
    } else {
        "text/plain"
    }
}

fn is_html(text: &[u8]) -> bool {
    let has_prefix = |prefix: &&str| {
        let length = prefix.len();
        text.len() > length
            && text[..length].eq_ignore_ascii_case(prefix.as_bytes())
            && (text[length] == b'>' || text[length].is_ascii_whitespace())
    };
    text.starts_with(b"<!--") || HTML_PREFIXES.iter().any(has_prefix)
}

/// A parameter of a `Content-Type` header, without quotes.
pub(super) fn parameter<'a>(content_type: &'a str, name: &str) -> Option<&'a str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        key.trim().eq_ignore_ascii_case(name).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_decides_when_there_is_one() {
        assert_eq!(media_type(" Text/HTML ;charset=x"), "text/html");
        assert_eq!(sniff("image/png", b"<html>").1, MediaKind::Binary);
    }

    #[test]
    fn an_untyped_body_is_sniffed() {
        assert_eq!(sniff("", b" \n<!DOCTYPE HTML>").1, MediaKind::Html);
        assert_eq!(sniff("", b"<abbr>").0, "text/plain");
        assert_eq!(sniff("", b"{\"a\": 1}").1, MediaKind::Text);
        assert_eq!(sniff("", b"\x89PNG\r\n\x1a\n\0\0").1, MediaKind::Binary);
    }
}
