//! Resolves URLs of a page by the URL standard, which encodes their queries in the page's character
//! set. Source: WHATWG URL; WHATWG HTML, "encoding-parse a URL".

use std::borrow::Cow;
use std::fmt::Write as _;

use encoding_rs::{EncoderResult, Encoding, UTF_8};
use trawl_model::urls;
use url::Url;

/// Bytes that are encoded at a time.
const CHUNK: usize = 512;

/// Resolves a reference by the URL standard; `None` when the result is not a valid URL.
pub(super) fn join(base: &Url, href: &str) -> Option<Url> {
    urls::join(base, href).ok()
}

/// What the URL parser removes wherever it is.
fn is_break(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r')
}

/// The encoding of queries on a page in this character set; `None` for UTF-8. Source: WHATWG
/// Encoding, "get an output encoding".
pub(super) fn query_encoding(charset: &str) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(charset.as_bytes())?.output_encoding();
    (encoding != UTF_8).then_some(encoding)
}

/// A reference whose query is percent-encoded in the page's encoding, if it has letters beyond
/// ASCII there: resolved as UTF-8, it is the URL that a browser resolves it to. Everything else
/// stays as written.
pub(super) fn with_encoded_query<'h>(href: &'h str, encoding: &'static Encoding) -> Cow<'h, str> {
    let end = href.find('#').unwrap_or(href.len());
    let Some(start) = href[..end].find('?').map(|question| question + 1) else {
        return Cow::Borrowed(href);
    };
    // White space at the end of a URL is not part of it.
    let end = start
        + href[start..end]
            .trim_end_matches(|character| character <= ' ')
            .len();
    if href[start..end].is_ascii() || !may_be_special(&href[..start]) {
        return Cow::Borrowed(href);
    }
    let mut encoded = href[..start].to_owned();
    push_encoded(&mut encoded, &href[start..end], encoding);
    encoded.push_str(&href[end..]);
    Cow::Owned(encoded)
}

/// The same for every URL of a list that white space separates, as in `srcset`.
pub(super) fn with_encoded_queries(list: &str, encoding: &'static Encoding) -> String {
    let parts = list.split_inclusive(|character: char| character.is_ascii_whitespace());
    parts
        .map(|part| with_encoded_query(part, encoding))
        .collect()
}

/// Whether a reference is relative or has a scheme whose queries are in the page's encoding: those
/// of `mailto:` and `javascript:` are in UTF-8.
fn may_be_special(href: &str) -> bool {
    let is_part =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.');
    let href: String = href
        .trim_start_matches(|character| character <= ' ')
        .chars()
        .filter(|&character| !is_break(character))
        .take_while(|&character| is_part(character) || character == ':')
        .collect();
    let is_special = |scheme: &str| {
        ["http", "https", "ftp", "file"]
            .iter()
            .any(|special| scheme.eq_ignore_ascii_case(special))
    };
    href.split_once(':').is_none_or(|(scheme, _)| {
        !scheme.starts_with(|first: char| first.is_ascii_alphabetic()) || is_special(scheme)
    })
}

/// Source: WHATWG URL, "percent-encode after encoding". A character that the encoding does not have
/// becomes a numeric character reference.
fn push_encoded(out: &mut String, query: &str, encoding: &'static Encoding) {
    let mut encoder = encoding.new_encoder();
    let mut buffer = [0; CHUNK];
    let mut rest = query;
    loop {
        let (result, read, written) =
            encoder.encode_from_utf8_without_replacement(rest, &mut buffer, true);
        buffer[..written].iter().for_each(|&byte| push(out, byte));
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(character) => {
                let _ = write!(out, "%26%23{}%3B", u32::from(character));
            }
        }
    }
}

fn push(out: &mut String, byte: u8) {
    match byte {
        b'\t' | b'\n' | b'\r' => {}
        b'#' | b'"' | b'<' | b'>' => {
            let _ = write!(out, "%{byte:02X}");
        }
        b' ' | 0x21..=0x7E => out.push(char::from(byte)),
        _ => {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_join(href: &str, expected: Option<&str>) {
        let base = Url::parse("https://site.example/a/b?q").expect("a URL");
        let joined = join(&base, href).map(String::from);
        assert_eq!(joined.as_deref(), expected, "{href:?}");
    }

    #[test]
    fn references_are_resolved_by_the_standard() {
        for href in [
            "//h.example/x",
            "///h.example/x",
            " /\t//\\h.example/x",
            "\\\\\\h.example/x",
            "https:///h.example/x",
        ] {
            check_join(href, Some("https://h.example/x"));
        }
        check_join("///", None);
        check_join("/a^b?c^d#e^f", Some("https://site.example/a%5Eb?c^d#e^f"));
        check_join("mailto:a^b", Some("mailto:a^b"));
        check_join("/a?b #x", Some("https://site.example/a?b%20#x"));
    }

    #[test]
    fn a_query_is_encoded_in_the_character_set_of_its_page() {
        for (charset, href, expected) in [
            ("windows-1251", "/п?q=лодка", "/п?q=%EB%EE%E4%EA%E0"),
            ("windows-1251", "?q=к &r='#к", "?q=%EA &r='#к"),
            ("windows-1251", "?q=中\tк", "?q=%26%2320013%3B%EA"),
            ("gbk", "?q=中", "?q=%D6%D0"),
            ("gb18030", "?q=中", "?q=%D6%D0"),
            ("shift_jis", "?q=船", "?q=%91D"),
            ("euc-kr", "?q=배", "?q=%B9%E8"),
            ("iso-2022-jp", "?q=あ&r=1", "?q=%1B$B$%22%1B(B&r=1"),
            (
                "windows-1251",
                " HT\nTP://h.example/?к ",
                " HT\nTP://h.example/?%EA ",
            ),
            (
                "windows-1251",
                "mailto:a@b.example?subject=к",
                "mailto:a@b.example?subject=к",
            ),
            ("windows-1251", "javascript:x('?к')", "javascript:x('?к')"),
            ("windows-1251", "/к#?к", "/к#?к"),
            ("windows-1251", "/1:к?к", "/1:к?%EA"),
        ] {
            let encoding = query_encoding(charset).expect("a legacy encoding");
            assert_eq!(
                with_encoded_query(href, encoding),
                expected,
                "{charset} {href}"
            );
        }
        assert_eq!(query_encoding("utf-8"), None);
        assert_eq!(query_encoding("utf-16le"), None);
        assert_eq!(query_encoding(""), None);
        let encoding = query_encoding("windows-1251").expect("a legacy encoding");
        assert_eq!(
            with_encoded_queries("/a?к 1x,  /b?к\t2x", encoding),
            "/a?%EA 1x,  /b?%EA\t2x"
        );
    }
}
