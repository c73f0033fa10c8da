//! Base URL of a page, with a fast path for the simple relative URLs that make up most links.

use std::borrow::Cow;

use url::{Position, Url};

/// A page's base URL.
pub(super) struct Base {
    pub(super) url: Url,
    /// Length of `url` up to its path, and up to the last slash of its path; `None` if the scheme
    /// is not `http` or `https`.
    plain: Option<(usize, usize)>,
}

impl Base {
    pub(super) fn of(url: Url) -> Self {
        let is_web = matches!(url.scheme(), "http" | "https");
        let root = url[..Position::BeforePath].len();
        let folder = url.path().rfind('/').map(|slash| root + slash + 1);
        Self {
            plain: folder.filter(|_| is_web).map(|folder| (root, folder)),
            url,
        }
    }

    /// Resolves a reference by the URL standard, from which the `url` crate differs: more than two
    /// slashes precede a host like two, and `^` in a path is encoded.
    pub(super) fn join(&self, href: &str) -> Option<Url> {
        let mut url = self.url.join(&self.with_two_slashes(href)).ok()?;
        if url.has_host() && url.path().contains('^') {
            let path = url.path().replace('^', "%5E");
            url.set_path(&path);
        }
        Some(url)
    }

    /// The reference with two slashes in place of more at its start.
    fn with_two_slashes<'h>(&self, href: &'h str) -> Cow<'h, str> {
        let is_slash = |character| matches!(character, '/' | '\\');
        let is_removed = |character| matches!(character, '\t' | '\n' | '\r');
        let start = href.trim_start_matches(|character| character <= ' ');
        let rest = start.trim_start_matches(|it| is_slash(it) || is_removed(it));
        let n_slashes = start[..start.len() - rest.len()].matches(is_slash).count();
        let is_special = matches!(self.url.scheme(), "http" | "https" | "ftp");
        if n_slashes > 2 && is_special {
            Cow::Owned(["//", rest].concat())
        } else {
            Cow::Borrowed(href)
        }
    }

    /// Equivalent to [`join`](Self::join) for a reference that consists of a path and an optional
    /// fragment and needs no encoding; `None` for any other. Supports `..` and `.` only at its
    /// start.
    pub(super) fn join_plain(&self, href: &str) -> Option<String> {
        let (root, mut folder) = self.plain?;
        let base = self.url.as_str();
        let bytes = href.as_bytes();
        let mut rest = 0;
        if bytes.first() == Some(&b'/') {
            (folder, rest) = (root + 1, 1);
        }
        loop {
            match bytes.get(rest..)? {
                [b'.', b'.', b'/', ..] => {
                    let parent = base[root..folder - 1].rfind('/');
                    folder = root + parent.unwrap_or(0) + 1;
                    rest += 3;
                }
                [b'.', b'/', ..] => rest += 2,
                _ => break,
            }
        }
        are_plain(&bytes[rest..]).then(|| [&base[..folder], &href[rest..]].concat())
    }
}

/// Whether the bytes are a path without empty or dot segments, and an optional fragment, that a URL
/// parser leaves unchanged.
fn are_plain(bytes: &[u8]) -> bool {
    let mut at_segment = true;
    for (at, &byte) in bytes.iter().enumerate() {
        match CLASSES[byte as usize] {
            Class::Plain => at_segment = false,
            Class::Slash | Class::Dot if at_segment => return false,
            Class::Slash => at_segment = true,
            Class::Dot => {}
            Class::Hash => {
                let is_kept = |&byte: &u8| CLASSES[byte as usize] != Class::Other && byte != b'#';
                return at > 0 && bytes[at + 1..].iter().all(is_kept);
            }
            Class::Other => return false,
        }
    }
    !bytes.is_empty()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Plain,
    Slash,
    Dot,
    Hash,
    Other,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        classes[byte as usize] = match byte {
            b'/' => Class::Slash,
            b'.' => Class::Dot,
            b'#' => Class::Hash,
            b'-' | b'_' | b'~' | b'+' | b',' | b'=' | b'(' | b')' | b'*' | b'!' => Class::Plain,
            _ if byte.is_ascii_alphanumeric() => Class::Plain,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

#[cfg(test)]
mod tests {
    use super::Base;
    use url::Url;

    const BASES: &[&str] = &[
        "https://site.example/",
        "https://site.example",
        "http://u:p@site.example:81/a/b/c?q=/x#f/g",
        "https://site.example/a//b/",
        "https://site.example//",
        "https://[::1]/a/../b/%2e%2e/c",
        "file:///c:/a/b",
        "data:text/plain,a/b",
    ];

    const PIECES: &[&str] = &[
        "a", "b.c", "..", ".", "/", "/", "../", "./", "#", "x-y_z~", "%2e", ":", "?", "\\", " ",
        "\t", "é", "'", "|", "@", "c:", "(1)", "+,=*!",
    ];

    #[test]
    fn references_are_resolved_by_the_standard() {
        let base = Base::of(Url::parse("https://site.example/a/b").unwrap());
        for (href, expected) in [
            ("///h.example/x", Some("https://h.example/x")),
            ("/\t/\\h.example/x", Some("https://h.example/x")),
            ("//h.example/x", Some("https://h.example/x")),
            ("///", None),
            ("/a^b?c^d", Some("https://site.example/a%5Eb?c^d")),
            ("/a?b #x", Some("https://site.example/a?b%20#x")),
        ] {
            let joined = base.join(href).map(String::from);
            assert_eq!(joined.as_deref(), expected, "{href:?}");
        }
    }

    #[test]
    fn the_fast_path_agrees_with_the_slow_one() {
        const PIECES_MAX: u32 = 5;
        let (mut state, mut n_quick) = (1_u32, 0);
        let mut random = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize % below
        };
        for base in BASES {
            let base = Base::of(Url::parse(base).unwrap());
            for _ in 0..20_000 {
                let n = random(PIECES_MAX as usize + 1);
                let href: String = (0..n).map(|_| PIECES[random(PIECES.len())]).collect();
                let Some(quick) = base.join_plain(&href) else {
                    continue;
                };
                n_quick += 1;
                let slow = base.join(&href).map(String::from);
                assert_eq!(Some(quick), slow, "{href:?} on {}", base.url);
            }
        }
        assert!(n_quick > 1_000, "only {n_quick} went the short way");
    }
}
