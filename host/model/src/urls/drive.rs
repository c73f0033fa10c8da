//! Segments such as `a:` before `..`. The `url` crate keeps them as drives, which only URLs of
//! files have: URL standard, "shorten a url's path".

use std::borrow::Cow;

use url::{ParseError, Url};

/// Behind a segment it keeps the crate from taking it for a drive. A character that no text has
/// (Unicode 23.7, "Noncharacters").
const MARK: char = '\u{FDD0}';

/// The mark as the crate writes it.
const ESCAPED_MARK: &str = "%EF%B7%90";

/// Parses an absolute URL without what surrounds it.
///
/// # Errors
/// As [`Url::parse`].
pub(super) fn parse(text: &str) -> Result<Url, ParseError> {
    match marked(None, text) {
        Some(marked) => Url::parse(&marked).map(without_marks),
        None => Url::parse(text),
    }
}

/// Resolves a reference against a base URL, without what surrounds it.
///
/// # Errors
/// As [`Url::join`].
pub(super) fn join(base: &Url, reference: &str) -> Result<Url, ParseError> {
    let marked_reference = marked(Some(base), reference);
    let marked_base = marked_base(base);
    if marked_reference.is_none() && marked_base.is_none() {
        return base.join(reference);
    }
    let base = marked_base.as_ref().unwrap_or(base);
    let reference = marked_reference.as_deref().unwrap_or(reference);
    base.join(reference).map(without_marks)
}

/// A reference with marks in its path, if one has to be there.
fn marked(base: Option<&Url>, reference: &str) -> Option<String> {
    if !may_have_drive(reference) {
        return None;
    }
    let text = plain(reference);
    let start = path_start(base, &text)?;
    let path = &text[start..];
    let (path, rest) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
    let path = mark_segments(path)?;
    Some(format!("{}{path}{rest}", &text[..start]))
}

/// A base with marks in its path, if one has to be there.
fn marked_base(base: &Url) -> Option<Url> {
    if !may_have_drive(base.path()) || !is_special(base.scheme()) {
        return None;
    }
    let path = mark_segments(base.path())?;
    let mut base = base.clone();
    base.set_path(&path);
    Some(base)
}

/// A URL with its path as it was written.
fn without_marks(mut url: Url) -> Url {
    if url.path().contains(ESCAPED_MARK) {
        let path = url.path().replace(ESCAPED_MARK, "");
        url.set_path(&path);
    }
    url
}

/// Whether a text has a letter before a colon or a bar that is at its beginning or behind a slash.
/// False for nearly every URL.
fn may_have_drive(text: &str) -> bool {
    let octets = text.as_bytes();
    let before = |at: usize| {
        let blank = |octet: &&u8| !matches!(octet, b'\t' | b'\n' | b'\r');
        octets[..at].iter().rev().filter(blank).copied()
    };
    octets.iter().enumerate().any(|(at, octet)| {
        matches!(octet, b':' | b'|') && {
            let mut before = before(at);
            before
                .next()
                .is_some_and(|octet| octet.is_ascii_alphabetic())
                && before
                    .next()
                    .is_none_or(|octet| b"/\\:".contains(&octet) || octet <= b' ')
        }
    })
}

/// A text without what the parser removes first: line ends and tabs.
fn plain(text: &str) -> Cow<'_, str> {
    if text.contains(['\t', '\n', '\r']) {
        Cow::Owned(text.replace(['\t', '\n', '\r'], ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Where the path of a reference begins, if it is one of a host.
fn path_start(base: Option<&Url>, text: &str) -> Option<usize> {
    let scheme = text
        .split_once(':')
        .map(|(scheme, _)| scheme)
        .filter(|scheme| is_scheme(scheme));
    let scheme_end = scheme.map_or(0, |scheme| scheme.len() + 1);
    let base_scheme = base.map(Url::scheme);
    if !scheme.or(base_scheme).is_some_and(is_special) {
        return None;
    }
    let rest = &text[scheme_end..];
    let n_slashes = rest.len() - rest.trim_start_matches(['/', '\\']).len();
    let same_scheme = match (scheme, base_scheme) {
        (None, _) => true,
        (Some(scheme), Some(base)) => scheme.eq_ignore_ascii_case(base),
        (Some(_), None) => false,
    };
    if same_scheme && n_slashes < 2 {
        return Some(scheme_end);
    }
    let host = scheme_end + n_slashes;
    let host_length = text[host..].find(['/', '\\', '?', '#'])?;
    Some(host + host_length)
}

/// URL standard, "scheme start state", "scheme state".
fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character))
}

/// Whether URLs of a scheme have hosts and no drives: URL standard, "special scheme".
fn is_special(scheme: &str) -> bool {
    ["http", "https", "ws", "wss", "ftp"]
        .iter()
        .any(|special| scheme.eq_ignore_ascii_case(special))
}

/// A path with a mark behind each segment that looks like a drive, if it has one.
fn mark_segments(path: &str) -> Option<String> {
    let mut marked = String::with_capacity(path.len() + MARK.len_utf8());
    let mut found = false;
    for segment in path.split_inclusive(['/', '\\']) {
        let name = segment.trim_end_matches(['/', '\\']);
        marked.push_str(name);
        if let [letter, b':' | b'|'] = name.as_bytes()
            && letter.is_ascii_alphabetic()
        {
            marked.push(MARK);
            found = true;
        }
        marked.push_str(&segment[name.len()..]);
    }
    found.then_some(marked)
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_files_have_drives() {
        for (text, expected) in [
            ("http://h.example/a:/..", "http://h.example/"),
            ("http://h.example/x/a:/../b", "http://h.example/x/b"),
            ("http://h.example/x/a|/%2e./b", "http://h.example/x/b"),
            ("HTTP:\\\\h.example\\a\t:\\..\\b", "http://h.example/b"),
            ("http:h.example/a:/../b", "http://h.example/b"),
            // What stays is as it was.
            (
                "http://h.example/a:/b:?/c:/..#/d:/..",
                "http://h.example/a:/b:?/c:/..#/d:/..",
            ),
            ("http://h.example/a:", "http://h.example/a:"),
            // A host, and a port that is empty.
            ("http://a:/../b", "http://a/b"),
            ("http://a:", "http://a/"),
            // A file has one.
            ("file:///a:/..", "file:///a:/"),
        ] {
            let url = super::super::parse(text).expect("a URL");
            assert_eq!(url.as_str(), expected, "{text:?}");
        }
    }

    #[test]
    fn references_have_none_either() {
        for (base, reference, expected) in [
            ("http://h.example/a:/b", "..", "http://h.example/"),
            ("http://h.example/x/a:/b", "../c", "http://h.example/x/c"),
            ("http://h.example/x/a:/b", "c", "http://h.example/x/a:/c"),
            ("http://h.example/x/", "a|/..", "http://h.example/x/"),
            ("http://h.example/x/", "/a:/../c", "http://h.example/c"),
            ("http://h.example/x/", "http:/a:/../c", "http://h.example/c"),
            (
                "http://h.example/x/",
                "http:b:/../c",
                "http://h.example/x/c",
            ),
            ("http://h.example/x/", "https:/a:/../c", "https://a/c"),
            ("http://h.example/x/", "//a:/b:/../c", "http://a/c"),
            (
                "http://h.example/x/",
                "///g.example/b:/..",
                "http://g.example/",
            ),
            (
                "http://h.example/a:/",
                "#/b:/..",
                "http://h.example/a:/#/b:/..",
            ),
            ("http://h.example/x/", "a:/..", "a:/"),
            ("file:///a:/b", "..", "file:///a:/"),
        ] {
            let base = super::super::parse(base).expect("a URL");
            let url = super::super::join(&base, reference).expect("a URL");
            assert_eq!(url.as_str(), expected, "{reference:?} at {base}");
        }
    }
}
