//! URLs of links and images.

use std::borrow::Cow;

use trawl_sdk::Document;
use trawl_sdk::scan::ByteSet;

/// Bytes for which a URL is examined before it is written: those that Markdown or a URL parser
/// treats in a special way.
const WILD: ByteSet = {
    let mut has = IS_WATCHED;
    let mut others: &[u8] = b"():\"'^`{}";
    while let [byte, rest @ ..] = others {
        has[*byte as usize] = true;
        others = rest;
    }
    let mut byte = 0x80;
    while byte < has.len() {
        has[byte] = true;
        byte += 1;
    }
    ByteSet::of_table(has)
};
const DOT: ByteSet = ByteSet::of(b".");
const PARENTHESES: ByteSet = ByteSet::of(b"()");
const WATCHED: ByteSet = ByteSet::of_table(IS_WATCHED);

/// The base URL of a page, split for resolving relative ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base<'a> {
    document: &'a Document<'a>,
    /// Without fragment, and also without query.
    page: &'a str,
    path: &'a str,
    /// `path` up to its last slash.
    folder: &'a str,
    /// Whether it is written as it is.
    is_tame: bool,
    /// Length of the scheme with its colon, and of the part before the path; `None` if the scheme
    /// is not `http` or `https`.
    lengths: Option<(usize, usize)>,
}

impl<'a> Base<'a> {
    pub(crate) fn of(document: &'a Document<'a>) -> Self {
        let base = document.base_url();
        let page = base.split_once('#').map_or(base, |(page, _)| page);
        let path = page.split_once('?').map_or(page, |(path, _)| path);
        let scheme = ["https:", "http:"].iter().find(|it| path.starts_with(**it));
        let lengths = scheme.and_then(|scheme| {
            let host = path[scheme.len()..].strip_prefix("//")?;
            let path_start = host.find('/')?;
            Some((scheme.len(), path.len() - host.len() + path_start))
        });
        Self {
            document,
            page,
            path,
            folder: path.rfind('/').map_or("", |slash| &path[..=slash]),
            is_tame: lengths
                .is_some_and(|(scheme, _)| WILD.find(page.as_bytes(), scheme).is_none()),
            lengths,
        }
    }

    /// Makes a URL absolute, as `links` lists it. One that is not for the web is returned
    /// unchanged, and so is one that cannot be resolved. The fragment stays as the page spells it:
    /// its encoding only matters to the target page.
    pub(crate) fn absolute<'h>(&self, href: &'h str) -> Cow<'h, str> {
        let href = href.trim_ascii();
        if !is_for_the_web(href) && !href.contains(['\t', '\n', '\r']) {
            return Cow::Borrowed(href);
        }
        let Some(mut url) = self.document.resolve(href) else {
            return Cow::Borrowed(href);
        };
        if let Some((_, fragment)) = href.split_once('#') {
            url.truncate(url.find('#').unwrap_or(url.len()));
            url.push('#');
            url.push_str(fragment);
        }
        Cow::Owned(url)
    }

    /// The two halves of the absolute URL of a relative reference that needs no change but the
    /// folders at its start, and is written as it is; `None` for any other.
    pub(crate) fn plain<'h>(&self, href: &'h str) -> Option<(&'a str, &'h str)> {
        let (_, root) = self.lengths.filter(|_| self.is_tame)?;
        let mut rest = href.as_bytes();
        let mut start = match rest {
            [] | [b'?', ..] | [b'/', b'/', ..] => return None,
            [b'#', ..] => self.page,
            [b'/', ..] => &self.path[..root],
            _ => self.folder,
        };
        loop {
            match rest {
                [b'.', b'.', b'/', after @ ..] if start.len() > root => {
                    let parent = start[root..start.len() - 1].rfind('/')?;
                    start = &start[..=root + parent];
                    rest = after;
                }
                [b'.', b'/', after @ ..] => rest = after,
                _ => break,
            }
        }
        let rest = &href[href.len() - rest.len()..];
        let is_plain = WILD.find(rest.as_bytes(), 0).is_none() && !has_dot_segment(rest);
        is_plain.then_some((start, rest))
    }
}

/// Whether a path may have a segment that starts with a dot.
fn has_dot_segment(path: &str) -> bool {
    let bytes = path.as_bytes();
    let mut at = 0;
    while let Some(dot) = DOT.find(bytes, at) {
        if dot == 0 || bytes[dot - 1] == b'/' {
            return true;
        }
        at = dot + 1;
    }
    false
}

/// The scheme of an absolute URL, as spelled on the page.
pub(crate) fn scheme(href: &str) -> Option<&str> {
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || b"+-.".contains(b);
    let len = href.bytes().take_while(|b| is_part(b)).count();
    let (scheme, rest) = (&href[..len], href[len..].strip_prefix(':')?);
    let is_word = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    // `https:page.html` is relative to a page with that scheme.
    let is_web = ["http", "https"]
        .iter()
        .any(|web| scheme.eq_ignore_ascii_case(web));
    (is_word && (!is_web || rest.starts_with("//"))).then_some(scheme)
}

/// Whether a URL is relative or has a scheme of the web.
fn is_for_the_web(href: &str) -> bool {
    scheme(href).is_none_or(|scheme| {
        ["http", "https"]
            .iter()
            .any(|web| scheme.eq_ignore_ascii_case(web))
    })
}

/// Whether a URL is one that a reader can follow.
pub(crate) fn is_followable(href: &str) -> bool {
    let href = href.trim_ascii();
    let is_script = scheme(href).is_some_and(|scheme| {
        ["javascript", "data", "vbscript"]
            .iter()
            .any(|s| scheme.eq_ignore_ascii_case(s))
    });
    !href.is_empty() && !is_script
}

/// The bytes of a percent-encoded text.
pub(crate) fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let escaped = if *byte == b'%' {
            two_digits(after)
        } else {
            None
        };
        bytes.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() {
            &after[2..]
        } else {
            after
        };
    }
    bytes
}

/// The byte that the two hexadecimal digits at the start stand for.
fn two_digits(text: &[u8]) -> Option<u8> {
    let [high, low, ..] = text else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// Whether a link with this text can be written as an autolink, `<url>`.
pub(crate) fn is_autolink(text: &str, url: &str) -> bool {
    let is_url = text == url && (text.starts_with("https://") || text.starts_with("http://"));
    let is_mail = url.strip_prefix("mailto:") == Some(text) && text.contains('@');
    (is_url
        || is_mail
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b".-_+@".contains(&b)))
        && !text
            .contains(|c: char| c.is_ascii_whitespace() || c.is_control() || "<>&`*%".contains(c))
}

/// Writes a link destination.
pub(crate) fn write(out: &mut String, url: &str, in_cell: bool) {
    let is_bare = are_balanced(url) && !url.starts_with('<') && !url.is_empty();
    out.push_str(if is_bare { "" } else { "<" });
    let bytes = url.as_bytes();
    let (mut copied, mut at) = (0, 0);
    while let Some(watched) = WATCHED.find(bytes, at) {
        at = watched;
        let written = match bytes[at] {
            b' ' => Some("%20"),
            b'\\' => Some("%5C"),
            b'<' if !is_bare => Some("%3C"),
            b'>' if !is_bare => Some("%3E"),
            b'|' if in_cell => Some("\\|"),
            b'&' if is_reference(&url[at + 1..]) => Some("&amp;"),
            b'|' | b'&' | b'<' | b'>' => None,
            _ => Some(""),
        };
        if let Some(written) = written {
            out.push_str(&url[copied..at]);
            out.push_str(written);
            copied = at + 1;
        }
        at += 1;
    }
    out.push_str(&url[copied..]);
    out.push_str(if is_bare { "" } else { ">" });
}

/// ASCII bytes that may need escaping in a destination.
const IS_WATCHED: [bool; 256] = {
    let mut is_watched = [false; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        is_watched[byte as usize] =
            byte.is_ascii_control() || matches!(byte, b' ' | b'\\' | b'<' | b'>' | b'|' | b'&');
        byte += 1;
    }
    is_watched
};

/// Writes a link title, if any.
pub(crate) fn write_title(out: &mut String, title: &str, in_cell: bool) {
    if TITLE.find_or_blanks(title.as_bytes(), 0) == title.len() && is_trimmed(title) {
        for part in [" \"", title, "\""] {
            out.push_str(part);
        }
        return;
    }
    let mut words = title.split_whitespace().peekable();
    if words.peek().is_none() {
        return;
    }
    out.push_str(" \"");
    for (i, word) in words.enumerate() {
        out.push_str(if i > 0 { " " } else { "" });
        let mut copied = 0;
        for (at, byte) in word.bytes().enumerate() {
            let needs_backslash = match byte {
                b'"' | b'\\' => true,
                b'|' => in_cell,
                b'&' => is_reference(&word[at + 1..]),
                _ => false,
            };
            if needs_backslash {
                out.push_str(&word[copied..at]);
                out.push('\\');
                copied = at;
            }
        }
        out.push_str(&word[copied..]);
    }
    out.push('"');
}

/// Bytes for which a title is examined: white space other than blanks, and what is escaped.
const TITLE: ByteSet = ByteSet::of(b"\t\n\x0b\x0c\r\"\\|&");

/// Whether a text is not empty, is ASCII and neither begins nor ends with a blank.
fn is_trimmed(text: &str) -> bool {
    let is_ends = |byte: Option<&u8>| byte.is_some_and(|&byte| byte != b' ');
    text.is_ascii() && is_ends(text.as_bytes().first()) && is_ends(text.as_bytes().last())
}

fn are_balanced(url: &str) -> bool {
    const DEPTH_MAX: usize = 16;
    if PARENTHESES.find(url.as_bytes(), 0).is_none() {
        return true;
    }
    let mut depth = 0_usize;
    for byte in url.bytes() {
        match byte {
            b'(' if depth == DEPTH_MAX => return false,
            b'(' => depth += 1,
            b')' if depth == 0 => return false,
            b')' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

/// Whether the text after `&` reads as a character reference.
fn is_reference(after: &str) -> bool {
    const NAME_BYTES_MAX: usize = 32;
    let bytes = after.as_bytes();
    let name = bytes
        .iter()
        .take(NAME_BYTES_MAX)
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#')
        .count();
    name > 0 && bytes.get(name) == Some(&b';')
}
