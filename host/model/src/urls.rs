//! URLs as the URL standard reads them, where the `url` crate differs. URLs that a
//! site or a caller wrote are parsed and joined here.

mod drive;

use std::borrow::Cow;
use std::fmt::Write as _;

use url::{ParseError, Url};

/// Parses an absolute URL.
///
/// # Errors
/// As [`Url::parse`].
pub fn parse(text: &str) -> Result<Url, ParseError> {
    drive::parse(trim(text)).map(standard)
}

/// Resolves a reference against a base URL.
///
/// On a web page any number of slashes from two on begin a host, `///host/` as well as `//host/`:
/// URL standard, "special authority ignore slashes state". The `url` crate takes the third slash
/// for an empty host.
///
/// # Errors
/// As [`Url::join`].
pub fn join(base: &Url, reference: &str) -> Result<Url, ParseError> {
    let joined = match behind_slashes(base, reference) {
        Some(rest) => drive::join(base, &format!("//{rest}")),
        None => drive::join(base, trim(reference)),
    };
    joined.map(standard)
}

/// Octets of a header or a file as the text of a URL: UTF-8 if they are valid, otherwise with each
/// octet above 127 escaped, so that parsing keeps it.
pub fn text_of(octets: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(octets) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut text = String::with_capacity(octets.len() + 8);
            for &octet in octets {
                if octet.is_ascii() {
                    text.push(char::from(octet));
                } else {
                    // Writing to a string never fails.
                    let _ = write!(text, "%{octet:02X}");
                }
            }
            Cow::Owned(text)
        }
    }
}

/// A text without what surrounds a URL and is not part of it: controls and spaces. Other white
/// space, such as the no-break space, is part of it.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// Whether a character is not part of a URL at its beginning or its end: "C0 control or space".
pub fn is_blank(character: char) -> bool {
    character <= ' '
}

/// The reference behind more than two slashes that begin it, if these begin a host.
fn behind_slashes<'a>(base: &Url, reference: &'a str) -> Option<&'a str> {
    if !matches!(base.scheme(), "http" | "https" | "ftp") {
        return None;
    }
    let reference = trim(reference);
    let mut n_slashes = 0;
    for (at, byte) in reference.bytes().enumerate() {
        match byte {
            b'/' | b'\\' => n_slashes += 1,
            // Removed wherever they are.
            b'\t' | b'\n' | b'\r' => {}
            _ => return (n_slashes > 2).then(|| &reference[at..]),
        }
    }
    None
}

/// Escapes what the crate leaves as it is: `^`, which is in the standard's "path percent-encode
/// set".
fn standard(mut url: Url) -> Url {
    if url.path().contains('^') && !url.cannot_be_a_base() {
        let path = url.path().replace('^', "%5E");
        url.set_path(&path);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, reference: &str) -> Option<String> {
        let base = parse(base).expect("a URL");
        join(&base, reference).ok().map(Into::into)
    }

    #[test]
    fn any_number_of_slashes_begins_a_host() {
        for reference in [
            "//b.example/x",
            "///b.example/x",
            "/////b.example/x",
            "/\\/b.example/x",
            "\\\\\\b.example/x",
            " /\t/\n/b.example/x ",
        ] {
            let url = joined("https://a.example/y/z", reference);
            assert_eq!(url.as_deref(), Some("https://b.example/x"), "{reference:?}");
        }
        for (base, reference, expected) in [
            ("http://a.example/y/z", "/x", Some("http://a.example/x")),
            ("http://a.example/y/z", "", Some("http://a.example/y/z")),
            ("http://a.example/y/z", "///", None),
            (
                "http://a.example/y/z",
                "x///b",
                Some("http://a.example/y/x///b"),
            ),
            (
                "http://a.example/",
                "http:///b.example/",
                Some("http://b.example/"),
            ),
            ("ftp://a.example/", "///b/", Some("ftp://b/")),
            ("file:///a/b", "///c", Some("file:///c")),
        ] {
            assert_eq!(
                joined(base, reference).as_deref(),
                expected,
                "{reference:?}"
            );
        }
    }

    #[test]
    fn a_circumflex_is_escaped_in_paths_alone() {
        for (text, expected) in [
            (
                "http://a.example/x^2/^?^#^",
                "http://a.example/x%5E2/%5E?^#^",
            ),
            ("http://a.example/%5e/..^", "http://a.example/%5e/..%5E"),
            ("mailto:a^b", "mailto:a^b"),
        ] {
            assert_eq!(parse(text).expect("a URL").as_str(), expected);
        }
        let relative = joined("http://a.example/", "y^");
        assert_eq!(relative.as_deref(), Some("http://a.example/y%5E"));
    }

    #[test]
    fn octets_that_are_no_text_are_kept() {
        assert_eq!(text_of(b"/caf\xc3\xa9"), "/café");
        assert_eq!(text_of(b"/jos\xe9-rizal?\xff"), "/jos%E9-rizal?%FF");
        assert_eq!(text_of(b""), "");
    }

    #[test]
    fn only_controls_and_spaces_surround_a_url() {
        assert_eq!(trim(" \n\0http://a/ \x1f"), "http://a/");
        assert_eq!(trim("http://a/\u{a0}"), "http://a/\u{a0}");
        assert_eq!(trim(" "), "");
    }
}
