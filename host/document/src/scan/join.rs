//! Resolves links. Common ones are resolved without the `url` crate, many times faster and with the
//! same result.

use url::{Position, Url};

use super::super::resolve::join;

/// Longest base, in bytes, for the fast path: offsets stay small.
const BASE_BYTES_MAX: usize = 1 << 20;
/// Longest host, in bytes, for the fast path. Source: RFC 1035, 2.3.4.
const HOST_BYTES_MAX: usize = 253;

/// The result of resolving a link on the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// The URL was written.
    Written,
    /// It is not a link to a web page.
    NoPage,
    /// Nothing was written: the link needs the `url` crate.
    Unusual,
}

/// Resolves links against one base.
pub(super) struct Joiner {
    base: Url,
    /// Whether a reference without path and query is the page itself.
    is_page: bool,
    /// Where the base's path starts; 0 disables the fast path.
    origin_end: usize,
    /// One past the last slash of its path.
    folder_end: usize,
    /// One past its path.
    path_end: usize,
}

/// Whether a link begins and ends with what is neither white space nor a control character, so that
/// nothing is to be cut off. It may be so without this being known, for links of one byte.
pub(super) fn is_trimmed(href: &str) -> bool {
    matches!(href.as_bytes(), [first, .., last] if *first > b' ' && *last > b' ')
}

impl Joiner {
    /// For a page with this base URL and this URL of its own.
    pub(super) fn new(mut base: Url, page: &Url) -> Self {
        let is_page = base[..Position::AfterQuery] == page[..Position::AfterQuery];
        strip_userinfo(&mut base);
        let is_web = matches!(base.scheme(), "http" | "https");
        let mut joiner = Self {
            is_page,
            origin_end: 0,
            folder_end: 0,
            path_end: 0,
            base,
        };
        if is_web && joiner.base.as_str().len() <= BASE_BYTES_MAX {
            let until_path = joiner.base[..Position::AfterPath].len();
            joiner.origin_end = joiner.base[..Position::BeforePath].len();
            joiner.path_end = until_path;
            joiner.folder_end = joiner.base.as_str()[..until_path]
                .rfind('/')
                .map_or(0, |slash| slash + 1);
        }
        joiner
    }

    /// Adds the absolute URL, without fragment, to `out`.
    pub(super) fn join(&self, href: &str, out: &mut String) -> Joined {
        // As in the `url` crate: surrounding white space and control characters are not part of a
        // URL.
        let href = match is_trimmed(href) {
            true => href,
            false => href.trim_matches(|character| character <= ' '),
        };
        let href = match memchr::memchr(b'#', href.as_bytes()) {
            Some(hash) => &href[..hash],
            None => href,
        };
        if href.is_empty() {
            return if self.is_page {
                Joined::NoPage
            } else {
                Joined::Unusual
            };
        }
        if self.origin_end == 0 {
            return Joined::Unusual;
        }
        let start = out.len();
        let is_written = match scheme(href) {
            Scheme::None => self.relative(href, out),
            Scheme::Web(rest) => self.absolute(href, rest, out),
            Scheme::Other => return Joined::NoPage,
        };
        match is_written {
            Some(()) => Joined::Written,
            None => {
                out.truncate(start);
                Joined::Unusual
            }
        }
    }

    /// Resolves a link with the `url` crate. Returns whether it links to a web page.
    pub(super) fn join_slowly(&self, href: &str, out: &mut String) -> bool {
        match join(&self.base, href) {
            Some(mut url) if matches!(url.scheme(), "http" | "https") => {
                strip_userinfo(&mut url);
                out.push_str(&url[..Position::AfterQuery]);
                true
            }
            _ => false,
        }
    }

    fn relative(&self, href: &str, out: &mut String) -> Option<()> {
        let base = self.base.as_str();
        match href.as_bytes() {
            [b'/', b'/', ..] => {
                out.push_str(self.base.scheme());
                out.push(':');
                out.push_str(href);
                host_and_path(&href[2..], out)
            }
            [b'/', ..] => {
                out.push_str(&base[..self.origin_end]);
                path(href, out)
            }
            [b'?', ..] => {
                out.push_str(&base[..self.path_end]);
                query(href)?;
                out.push_str(href);
                Some(())
            }
            _ => {
                let mut rest = href;
                let mut folder_end = self.folder_end;
                loop {
                    if let Some(after) = rest.strip_prefix("./") {
                        rest = after;
                    } else if let Some(after) = rest.strip_prefix("../") {
                        rest = after;
                        folder_end = self.parent(folder_end)?;
                    } else {
                        break;
                    }
                }
                // The slash that ends the folder starts the path.
                out.push_str(&base[..folder_end]);
                plain(rest)?;
                out.push_str(rest);
                Some(())
            }
        }
    }

    /// One past the slash before the last folder; the root is its own parent.
    fn parent(&self, folder_end: usize) -> Option<usize> {
        let above = &self.base.as_str()[self.origin_end..folder_end - 1];
        match above.rfind('/') {
            // Two slashes in a row: an empty folder.
            Some(slash) if slash + 1 == above.len() => None,
            Some(slash) => Some(self.origin_end + slash + 1),
            None => Some(folder_end),
        }
    }

    fn absolute(&self, href: &str, rest: &str, out: &mut String) -> Option<()> {
        let origin = &self.base.as_str()[..self.origin_end];
        if let Some(path_and_query) = href.strip_prefix(origin)
            && path_and_query.starts_with('/')
        {
            out.push_str(origin);
            return path(path_and_query, out);
        }
        out.push_str(href);
        host_and_path(rest, out)
    }
}

/// Removes user name and password.
fn strip_userinfo(url: &mut Url) {
    // These fail only for URLs without a host, which have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
}

/// The scheme of a link.
enum Scheme<'a> {
    /// None: the link is relative.
    None,
    /// `http` or `https`, followed by two slashes and this rest.
    Web(&'a str),
    /// Any other scheme.
    Other,
}

fn scheme(href: &str) -> Scheme<'_> {
    let rest = href
        .strip_prefix("https://")
        .or_else(|| href.strip_prefix("http://"));
    if let Some(rest) = rest {
        return Scheme::Web(rest);
    }
    let bytes = href.as_bytes();
    if !bytes[0].is_ascii_alphabetic() {
        return Scheme::None;
    }
    let is_end = |byte: &u8| !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    match bytes.iter().position(is_end) {
        Some(end) if bytes[end] == b':' => {
            let name = &href[..end];
            let is_web = name.eq_ignore_ascii_case("http") || name.eq_ignore_ascii_case("https");
            // Such as `HTTP://` or `http:x`: not for the fast path, and the colon makes the path
            // check below reject it.
            if is_web { Scheme::None } else { Scheme::Other }
        }
        _ => Scheme::None,
    }
}

/// Checks the host, path and query at the end of `out`; adds the slash that a bare host lacks.
fn host_and_path(written: &str, out: &mut String) -> Option<()> {
    let end = written
        .bytes()
        .position(|byte| !is_host(byte))
        .unwrap_or(written.len());
    let (host, rest) = written.split_at(end);
    if !is_usual_host(host) {
        return None;
    }
    match rest.as_bytes().first() {
        None => out.push('/'),
        Some(b'/') => check_path(rest)?,
        Some(_) => return None,
    }
    Some(())
}

fn is_host(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.')
}

/// Whether a host is a plain name that needs no normalization: no number, nothing encoded, no empty
/// label.
fn is_usual_host(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or(host);
    last.starts_with(|first: char| first.is_ascii_lowercase())
        && host.len() <= HOST_BYTES_MAX
        && !host.starts_with('.')
        && !host.contains("..")
        && !host.contains("--")
}

/// Adds a path that starts with a slash, and its query.
fn path(written: &str, out: &mut String) -> Option<()> {
    check_path(written)?;
    out.push_str(written);
    Some(())
}

/// Checks a path that starts with a slash, and its query.
fn check_path(written: &str) -> Option<()> {
    rest_of_path(&written[1..])
}

/// Checks a relative path without a leading slash, and its query.
fn plain(written: &str) -> Option<()> {
    let end = written
        .bytes()
        .position(|byte| matches!(byte, b'/' | b'?'))
        .unwrap_or(written.len());
    if written[..end].contains(':') {
        return None;
    }
    rest_of_path(written)
}

/// Checks that a path after its slash needs no normalization: nothing to encode, no dot segment,
/// encoded or not.
fn rest_of_path(written: &str) -> Option<()> {
    let bytes = written.as_bytes();
    let mut at = 0;
    while let Some(length) = bytes[at..]
        .iter()
        .position(|byte| class(*byte) != Class::Plain)
    {
        at += length;
        match class(bytes[at]) {
            // This may be a dot segment.
            Class::Dot if at == 0 || bytes[at - 1] == b'/' => return None,
            // An encoded dot may be part of a dot segment.
            Class::Percent if bytes[at + 1..].starts_with(b"2e") => return None,
            Class::Percent if bytes[at + 1..].starts_with(b"2E") => return None,
            Class::Question => return query(&written[at..]),
            Class::Unusual => return None,
            Class::Plain | Class::Dot | Class::Percent => at += 1,
        }
    }
    Some(())
}

/// Checks that a query needs no normalization.
fn query(written: &str) -> Option<()> {
    written
        .bytes()
        .all(|byte| class(byte) != Class::Unusual)
        .then_some(())
}

/// The class of a byte in a path or query.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    /// It needs no encoding.
    Plain,
    Dot,
    Percent,
    Question,
    /// It needs encoding or removal, or is not handled by the fast path.
    Unusual,
}

fn class(byte: u8) -> Class {
    CLASSES[byte as usize]
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Unusual; 256];
    let plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_~!$&()*+,;=:@/";
    let mut at = 0;
    while at < plain.len() {
        classes[plain[at] as usize] = Class::Plain;
        at += 1;
    }
    classes[b'.' as usize] = Class::Dot;
    classes[b'%' as usize] = Class::Percent;
    classes[b'?' as usize] = Class::Question;
    classes
};
