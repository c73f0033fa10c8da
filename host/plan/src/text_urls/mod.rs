//! Finds the URLs in a text: bare ones with a scheme or without, in angle brackets, in markdown
//! links, in HTML attributes.
//!
//! The text is read once, whatever its format: markdown and HTML surround a URL with characters
//! that no URL has, so finding its begin and end is enough. Spec S22.

mod extent;
mod host;
mod scan;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};

use rustc_hash::FxHashSet;
use url::Url;

use trawl_model::{Discovered, urls};

/// Most URLs of one text: each is a row in the store before the first page is fetched, and a
/// request that costs nothing yet must not occupy the store for long.
pub const ADDRESSES_MAX: usize = 100_000;
/// Longest URL, in bytes; longer ones are not pages of a site.
const ADDRESS_BYTES_MAX: usize = 16 * 1024;

/// Every page URL in a text: absolute, normalised by the `url` crate, without user, password and
/// fragment, each once in the order of first occurrence. URLs that differ only in `http` and
/// `https` are one, as in a crawl.
///
/// Other schemes (`mailto:`, `javascript:`, `data:`, `ftp:`) and e-mail addresses are skipped. A
/// host without a scheme counts if it is clearly one: it begins with `www.`, a path follows, or its
/// public suffix is hardly ever anything else.
///
/// Of more than [`ADDRESSES_MAX`] the first ones; the others are counted in `n_dropped`.
pub fn find(text: &str) -> Discovered {
    let mut found = Found::default();
    scan::scan(text, |candidate| found.add(candidate));
    found.list
}

/// URLs as text that [`listed`] reads, one per line; the first ones that fit into `bytes_max`.
pub fn written(addresses: &Discovered, bytes_max: usize) -> String {
    let mut text = String::new();
    for (url, _) in addresses.iter() {
        if text.len() + url.len() + 1 > bytes_max {
            break;
        }
        text.extend([url, "\n"]);
    }
    text
}

/// The URLs of a text with one per line, as [`find`] returns them.
pub fn listed(text: &str) -> Discovered {
    let mut found = Found::default();
    let pages = |line: &&str| line.starts_with("https://") || line.starts_with("http://");
    text.lines().filter(pages).for_each(|line| found.add(line));
    found.list
}

/// A URL as a crawl compares it.
fn without_fragment(mut url: Url) -> String {
    url.set_fragment(None);
    // These fail only for URLs without a host, which have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

/// What was found so far.
#[derive(Default)]
struct Found {
    list: Discovered,
    /// Keyed at random, so that no text can be written to make URLs collide.
    hasher: RandomState,
    /// Hashes of the URLs of the text, in the list or not. Two of a million collide in one text of
    /// many millions.
    known: FxHashSet<u64>,
}

impl Found {
    /// Adds a URL, or counts it once the list is full.
    fn add(&mut self, candidate: &str) {
        if candidate.len() > ADDRESS_BYTES_MAX {
            return;
        }
        let Some(url) = plain(candidate).or_else(|| normal(candidate)) else {
            return;
        };
        if !self.known.insert(self.hasher.hash_one(page(&url))) {
            return;
        }
        if self.list.len() < ADDRESSES_MAX {
            self.list.push(&url, false);
        } else {
            self.list.n_dropped = self.list.n_dropped.saturating_add(1);
        }
    }
}

/// A URL as a crawl knows it; `None` if it is none.
fn normal(candidate: &str) -> Option<Cow<'static, str>> {
    let url = urls::parse(candidate).ok()?;
    url.host_str().filter(|host| !host.is_empty())?;
    Some(without_fragment(url).into())
}

/// The same for a URL that is already normalised, as nearly all are: parsing is the slow part.
/// `None` if anything in it might be normalised.
fn plain(candidate: &str) -> Option<Cow<'_, str>> {
    let authority = candidate
        .strip_prefix("https://")
        .or_else(|| candidate.strip_prefix("http://"))?;
    let bytes = authority.as_bytes();
    let host = bytes
        .iter()
        .take_while(|byte| PLAIN[usize::from(**byte)] & OF_HOST != 0)
        .count();
    // A last label that begins with a digit may be an IPv4 address; `xn--` is checked by its own
    // rules.
    let last = bytes[..host].rsplit(|byte| *byte == b'.').next()?;
    let is_name = last.first()?.is_ascii_lowercase()
        && bytes[0] != b'.'
        && memchr::memmem::find(&bytes[..host], b"..").is_none()
        && memchr::memmem::find(&bytes[..host], b"--").is_none();
    if !is_name {
        return None;
    }
    let rest = &bytes[host..];
    if rest.is_empty() {
        return Some(format!("{candidate}/").into());
    }
    if rest[0] != b'/' {
        return None;
    }
    let mut before = 0;
    for &byte in rest {
        let is_dot_segment = before == b'/' && byte == b'.';
        if PLAIN[usize::from(byte)] & OF_PATH == 0 || is_dot_segment {
            return None;
        }
        before = byte;
    }
    Some(candidate.into())
}

const OF_HOST: u8 = 1;
const OF_PATH: u8 = 2;

/// Bytes that stay unchanged in a host, and in a path or query. `%` is not among them: `%2e` is a
/// dot.
const PLAIN: [u8; 256] = {
    let mut plain = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let is_lower = matches!(byte as u8, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
        let is_path = matches!(
            byte as u8,
            b'A'..=b'Z' | b'_' | b'~' | b'/' | b'=' | b'&' | b'+' | b'?' | b'!' | b'$' | b'*'
        ) || matches!(byte as u8, b',' | b';' | b':' | b'@' | b'(' | b')');
        plain[byte] = if is_lower {
            OF_HOST | OF_PATH
        } else if is_path {
            OF_PATH
        } else {
            0
        };
        byte += 1;
    }
    plain
};

/// The part that two URLs of one page share: everything except `http` or `https`.
fn page(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}
