//! Media types: parses the `Content-Type` header, and sniffs the body when it has none.

use std::fmt::Write as _;

use trawl_model::MediaKind;

use super::xml::{self, XHTML};

/// Bytes that are sniffed of an untyped body. Source: WHATWG MIME Sniffing, "resource header".
const SNIFF_BYTES: usize = 1445;
/// Media types that say as little as none. Source: WHATWG MIME Sniffing, "MIME type sniffing
/// algorithm".
const UNKNOWN: [&str; 2] = ["unknown/unknown", "application/unknown"];
/// XML of any kind, which may turn out to be XHTML.
const XML: [&str; 2] = ["application/xml", "text/xml"];

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

/// A media type with its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MediaType {
    /// Type and subtype, lower case.
    pub(super) essence: String,
    /// Names, lower case, and values without quotes, each name once.
    parameters: Vec<(String, String)>,
}

impl MediaType {
    /// The media type that a header declares: the last valid value, with the character set of an
    /// equal one before it. `content_type` has the values of repeated headers, separated by commas.
    /// Source: Fetch, "extract a MIME type".
    pub(super) fn extract(content_type: &str) -> Option<Self> {
        let parsed = |value: &str| Self::parse(value).filter(|next| next.essence != "*/*");
        let is_known = |found: &Self| !UNKNOWN.contains(&found.essence.as_str());
        if memchr::memchr(b',', content_type.as_bytes()).is_none() {
            return parsed(content_type).filter(is_known);
        }
        let mut found: Option<Self> = None;
        for value in values(content_type) {
            let Some(mut next) = parsed(value) else {
                continue;
            };
            if let Some(before) = found.filter(|before| before.essence == next.essence)
                && next.parameter("charset").is_none()
                && let Some(charset) = before.parameter("charset")
            {
                let charset = charset.to_owned();
                next.parameters.push(("charset".to_owned(), charset));
            }
            found = Some(next);
        }
        found.filter(is_known)
    }

    /// Source: WHATWG MIME Sniffing, "parse a MIME type".
    fn parse(value: &str) -> Option<Self> {
        let value = value.trim_matches(is_space);
        let (kind, rest) = value.split_once('/')?;
        let end = rest.find(';').unwrap_or(rest.len());
        let subtype = rest[..end].trim_end_matches(is_space);
        if !is_token(kind) || !is_token(subtype) {
            return None;
        }
        let mut essence = [kind, "/", subtype].concat();
        essence.make_ascii_lowercase();
        let mut media_type = Self {
            essence,
            parameters: Vec::new(),
        };
        let mut rest = &rest[end..];
        while let Some(after) = rest.strip_prefix(';') {
            rest = media_type.take_parameter(after.trim_start_matches(is_space));
        }
        Some(media_type)
    }

    /// Adds the parameter at the beginning, if it is valid; returns what follows it.
    fn take_parameter<'v>(&mut self, from: &'v str) -> &'v str {
        let end = from.find([';', '=']).unwrap_or(from.len());
        let name = from[..end].to_ascii_lowercase();
        let Some(written) = from[end..].strip_prefix('=') else {
            return &from[end..];
        };
        let (value, rest) = match written.strip_prefix('"') {
            Some(quoted) => {
                let (value, rest) = unquoted(quoted);
                (value, &rest[rest.find(';').unwrap_or(rest.len())..])
            }
            None => {
                let (value, rest) = written.split_at(written.find(';').unwrap_or(written.len()));
                let value = value.trim_end_matches(is_space);
                if value.is_empty() {
                    return rest;
                }
                (value.to_owned(), rest)
            }
        };
        let is_control = |character: char| character != '\t' && character.is_ascii_control();
        if is_token(&name) && !value.contains(is_control) && self.parameter(&name).is_none() {
            self.parameters.push((name, value));
        }
        rest
    }

    /// The value of a parameter, its name given in lower case.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter();
        parameters.find_map(|(own, value)| (own == name).then_some(value.as_str()))
    }
}

/// The values of a header, which commas outside of quotes separate.
fn values(header: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    header.split(move |character| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match character {
            '\\' if is_quoted && !was_escaped => is_escaped = true,
            '"' if !was_escaped => is_quoted = !is_quoted,
            _ => {}
        }
        character == ',' && !is_quoted
    })
}

/// The quoted string whose first quote is right before `from`, and what follows it.
fn unquoted(from: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = from.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => value.push(characters.next().unwrap_or('\\')),
            other => value.push(other),
        }
    }
    (value, characters.as_str())
}

/// Source: Fetch, "HTTP whitespace".
fn is_space(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' ')
}

/// Source: RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// The media type of a `Content-Type` header: lower case, without parameters; empty when it
/// declares none, or none that is valid and known. Of several values the last valid one counts.
#[must_use]
pub fn media_type(content_type: &str) -> String {
    MediaType::extract(content_type).unwrap_or_default().essence
}

/// The media type and kind of a page; an untyped body is sniffed. XML that is a page of XHTML is
/// recognised as such.
#[must_use]
pub fn sniff(content_type: &str, body: &[u8]) -> (String, MediaKind) {
    let declared = media_type(content_type);
    let found = match declared.as_str() {
        "" => sniff_body(body).to_owned(),
        declared if XML.contains(&declared) && xml::begins_xhtml(head(body)) => XHTML.to_owned(),
        _ => declared,
    };
    let kind = MediaKind::of(&found);
    (found, kind)
}

/// The `Content-Type` of a body that is known to be UTF-8, whatever character set its site or its
/// markup declares. Unchanged if the body is not text.
#[must_use]
pub fn utf_8_type(content_type: &str, body: &[u8]) -> String {
    let (found, kind) = sniff(content_type, body);
    if kind == MediaKind::Binary {
        return content_type.to_owned();
    }
    let declared = MediaType::extract(content_type).unwrap_or_default();
    let mut written = found;
    let others = declared.parameters.iter();
    for (name, value) in others.filter(|(name, _)| name != "charset") {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = write!(written, "; {name}=\"{value}\"");
    }
    written + "; charset=utf-8"
}

fn head(body: &[u8]) -> &[u8] {
    &body[..body.len().min(SNIFF_BYTES)]
}

fn sniff_body(body: &[u8]) -> &'static str {
    let head = head(body);
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let text = text.trim_ascii_start();
    if is_html(text) {
        return "text/html";
    }
    if text.starts_with(b"<?xml") {
        return if xml::begins_xhtml(head) {
            XHTML
        } else {
            "text/xml"
        };
    }
    if head.starts_with(b"%PDF-") {
        return "application/pdf";
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
        let (media_type, kind) = sniff("", b"%PDF-1.7\n1 0 obj\n<< >>");
        assert_eq!(
            (media_type.as_str(), kind),
            ("application/pdf", MediaKind::Binary)
        );
    }

    #[test]
    fn the_last_valid_value_counts_and_an_invalid_one_is_as_none() {
        for (header, essence, charset) in [
            ("text/html, text/html; charset=utf-8", "text/html", "utf-8"),
            ("text/html;charset=gbk, text/html", "text/html", "gbk"),
            ("text/plain;charset=gbk, text/html", "text/html", ""),
            ("text/plain, text/html", "text/html", ""),
            ("text/html, */*, x", "text/html", ""),
            ("text/html;a=\"x, text/plain\"", "text/html", ""),
            ("text/html;a=\"\\\", text/plain\"", "text/html", ""),
            ("text/html;charset=\"gb\\k\";charset=x", "text/html", "gbk"),
            (
                "text/html; charset=;x;charset = a;charset=b ;c",
                "text/html",
                "b",
            ),
            ("text/html;charset", "text/html", ""),
            ("text/html charset=utf-8", "", ""),
            ("html", "", ""),
            ("(null)", "", ""),
            ("none", "", ""),
            ("charset=utf-8", "", ""),
            ("text / html", "", ""),
            ("text/", "", ""),
            ("*/*", "", ""),
            ("unknown/unknown", "", ""),
            ("", "", ""),
        ] {
            let found = MediaType::extract(header).unwrap_or_default();
            let charset_found = found.parameter("charset").unwrap_or_default();
            assert_eq!(
                (found.essence.as_str(), charset_found),
                (essence, charset),
                "{header}"
            );
            assert_eq!(media_type(header), essence);
        }
        assert_eq!(sniff("none", b"<p>").1, MediaKind::Html);
        assert_eq!(sniff("text", b"plain").0, "text/plain");
    }

    #[test]
    fn text_is_utf_8_whatever_it_declares() {
        for (header, expected) in [
            ("text/html", "text/html; charset=utf-8"),
            ("text/html; charset=gbk", "text/html; charset=utf-8"),
            (
                "text/csv;header=a\"b",
                "text/csv; header=\"a\\\"b\"; charset=utf-8",
            ),
            ("", "text/html; charset=utf-8"),
            ("none; charset=gbk", "text/html; charset=utf-8"),
            ("image/png", "image/png"),
        ] {
            assert_eq!(utf_8_type(header, b"<p>"), expected, "{header}");
        }
    }
}
