//! What relative addresses resolve against, with a short way for the plain ones that most pages are full of.

use url::{Position, Url};

/// A page's base address.
pub(super) struct Base {
    pub(super) url: Url,
    /// Bytes of `url` before its path and up to its path's last slash; `None` when it is not of the web.
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

    /// What `url.join` gives, for a reference that is nothing but a path and perhaps a fragment, of bytes that stay as they are;
    /// `None` for any other. `..` and `.` are understood at its start only.
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

/// Whether the bytes are a path without empty and dotted segments, and perhaps a fragment, that no parser would change.
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
    fn the_short_way_gives_what_the_long_one_gives() {
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
                let slow = base.url.join(&href).map(String::from);
                assert_eq!(Ok(quick), slow, "{href:?} on {}", base.url);
            }
        }
        assert!(n_quick > 1_000, "only {n_quick} went the short way");
    }
}
