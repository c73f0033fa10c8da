//! Finds where URLs begin.
//!
//! Two marks are searched for: the colon of a scheme, and the dot of a host. No byte is examined
//! again, so it takes the time of one pass.

use std::borrow::Cow;

use super::extent::{self, Around, Extent};
use super::host;

/// Longest scheme that is looked for before `://`, in bytes: `view-source` and the like have fewer.
const SCHEME_BYTES_MAX: usize = 16;
/// Schemes that are written without `//` and lead to no page: all that follows belongs to them.
const OTHER_SCHEMES: [&str; 10] = [
    "mailto",
    "javascript",
    "data",
    "tel",
    "sms",
    "blob",
    "about",
    "cid",
    "urn",
    "magnet",
];

/// Passes every candidate to `take`, as an absolute URL with its scheme.
pub(super) fn scan(text: &str, mut take: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut floor = 0;
    let mut at = 0;
    while let Some(mark) = memchr::memchr2(b':', b'.', &bytes[at..]) {
        let mark = at + mark;
        let seen = match bytes[mark] {
            b':' => at_colon(text, floor, mark),
            _ => at_dot(text, floor, mark),
        };
        if let Some(candidate) = seen.candidate {
            take(&candidate);
        }
        at = seen.end.max(mark + 1);
        // A colon without meaning may still follow a host: only what was taken is excluded.
        if seen.is_taken {
            floor = at;
        }
    }
}

/// The context of a mark.
struct Seen<'a> {
    candidate: Option<Cow<'a, str>>,
    /// Where to continue.
    end: usize,
    /// Whether no byte before `end` can belong to another URL.
    is_taken: bool,
}

impl<'a> Seen<'a> {
    fn nothing(end: usize) -> Self {
        Self {
            candidate: None,
            end,
            is_taken: false,
        }
    }

    fn passed_over(end: usize) -> Self {
        Self {
            is_taken: true,
            ..Self::nothing(end)
        }
    }
}

fn at_colon(text: &str, floor: usize, colon: usize) -> Seen<'_> {
    let bytes = text.as_bytes();
    let scheme = scheme_before(text, floor, colon);
    let is = |known: &str| scheme.eq_ignore_ascii_case(known);
    let start = colon - scheme.len();
    if !bytes[colon..].starts_with(b"://") {
        if OTHER_SCHEMES.into_iter().any(is) {
            let around = Around::before(text, start);
            return Seen::passed_over(extent::raw_end(text, colon + 1, around));
        }
        return Seen::nothing(colon + 1);
    }
    if scheme.is_empty() {
        return Seen::nothing(colon + 3);
    }
    let around = Around::before(text, start);
    let Extent { end, url } = extent::read(text, start, colon + 3, around);
    if end <= colon + 3 {
        return Seen::nothing(colon + 3);
    }
    if !is("http") && !is("https") {
        return Seen::passed_over(end);
    }
    Seen {
        candidate: Some(url),
        end,
        is_taken: true,
    }
}

/// The scheme that ends at a colon. A word that merely ends in `http` is split: `sourcehttps://`.
fn scheme_before(text: &str, floor: usize, colon: usize) -> &str {
    let from = colon.saturating_sub(SCHEME_BYTES_MAX).max(floor);
    let bytes = &text.as_bytes()[from..colon];
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-');
    let n_part = bytes
        .iter()
        .rev()
        .take_while(|byte| is_part(**byte))
        .count();
    let word = &text[colon - n_part..colon];
    let ends_in = |known: &str| {
        let tail = word.len().checked_sub(known.len())?;
        word.is_char_boundary(tail)
            .then(|| &word[tail..])
            .filter(|tail| tail.eq_ignore_ascii_case(known))
    };
    ends_in("https").or_else(|| ends_in("http")).unwrap_or(word)
}

fn at_dot(text: &str, floor: usize, dot: usize) -> Seen<'_> {
    let Some(name) = host::around(text, floor, dot) else {
        return Seen::nothing(dot + 1);
    };
    let bytes = text.as_bytes();
    // An e-mail address, or the user part of one: skipped as a whole.
    let follows = bytes.get(name.end).copied();
    if follows == Some(b'@') {
        return Seen::passed_over(host::end(text, name.end + 1));
    }
    let Some(start) = may_begin(text, name.start) else {
        return Seen::passed_over(name.end);
    };
    let has_path = has_path(bytes, name.end);
    let Some(host) = host::clear(&text[name.clone()], has_path) else {
        return Seen::passed_over(name.end);
    };
    if host.len() < name.len() {
        // What follows without a blank is prose in another script.
        let url = Cow::Owned(format!("https://{host}"));
        return Seen {
            candidate: Some(url),
            end: name.start + host.len(),
            is_taken: true,
        };
    }
    let Extent { end, url } =
        extent::read(text, name.start, name.start, Around::before(text, start));
    Seen {
        candidate: Some(Cow::Owned(format!("https://{url}"))),
        end: end.max(name.end),
        is_taken: true,
    }
}

/// Where a host without scheme begins, two slashes included, if it may begin here: not within a
/// path, a word or an e-mail address.
fn may_begin(text: &str, start: usize) -> Option<usize> {
    let before = text[..start].chars().next_back();
    if before == Some('/') {
        let relative = text[..start].strip_suffix("//")?;
        let is_quoted =
            |before: char| matches!(before, '"' | '\'' | '=' | '(' | '<') || before.is_whitespace();
        let may = relative.chars().next_back().is_none_or(is_quoted);
        return may.then_some(start - 2);
    }
    let is_inside = |before: char| {
        before.is_alphanumeric() && before.is_ascii()
            || matches!(
                before,
                '@' | '\\' | '_' | '%' | '&' | '#' | '$' | '~' | '+' | '-' | '.'
            )
    };
    (!before.is_some_and(is_inside)).then_some(start)
}

/// Whether a path, a query or a port follows a host.
fn has_path(bytes: &[u8], end: usize) -> bool {
    match &bytes[end.min(bytes.len())..] {
        [b'/' | b'?', next, ..] => !next.is_ascii_whitespace(),
        [b'/'] => true,
        [b':', digit, ..] => digit.is_ascii_digit(),
        _ => false,
    }
}
