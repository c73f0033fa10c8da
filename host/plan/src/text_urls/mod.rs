//! The addresses in a text: bare ones with a scheme or without, in angle brackets, in markdown links, in HTML attributes.
//!
//! The text is read once from front to back, whatever form it has: markdown and HTML put an address
//! between characters that no address has, so finding where one begins and where it ends is enough.
//! Spec S22.

mod extent;
mod host;
mod scan;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};

use rustc_hash::FxHashSet;
use url::Url;

use trawl_model::Discovered;

/// Most addresses that are taken from one text: each is a row in the store before the first page is fetched, and a request that costs
/// nothing yet must not keep the store busy for long.
pub const ADDRESSES_MAX: usize = 100_000;
/// Longest address that is taken, in bytes; longer ones are no page of a site.
const ADDRESS_BYTES_MAX: usize = 16 * 1024;

/// Every address of a page in a text: absolute, normalised as the `url` crate writes it, without user, password and fragment,
/// each once in the order of its first occurrence. Addresses that differ in `http` and `https` alone are one, as in a crawl.
///
/// Other schemes (`mailto:`, `javascript:`, `data:`, `ftp:`) and addresses of mail are left out. A host without a scheme is taken
/// when it is clearly one: it begins with `www.`, a path follows, or its public suffix is hardly anything else.
pub fn find(text: &str) -> Discovered {
    let mut found = Found::default();
    scan::scan(text, |candidate| found.add(candidate));
    found.list
}

/// Addresses as text that [`listed`] reads, a line each; the first ones that have room in `bytes_max`.
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

/// The addresses of a text that has one a line, as [`find`] would take them.
pub fn listed(text: &str) -> Discovered {
    let mut found = Found::default();
    let pages = |line: &&str| line.starts_with("https://") || line.starts_with("http://");
    text.lines().filter(pages).all(|line| found.add(line));
    found.list
}

/// An address as a crawl compares it.
pub fn without_fragment(mut url: Url) -> String {
    url.set_fragment(None);
    // These fail only for addresses without a host, which have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

/// What was found so far.
#[derive(Default)]
struct Found {
    list: Discovered,
    /// Keyed at random, so that no text can choose addresses that collide.
    hasher: RandomState,
    /// Hashes of the addresses in the list. Two of a hundred thousand have the same one in one text of many millions.
    known: FxHashSet<u64>,
}

impl Found {
    /// `false` when no more are taken.
    fn add(&mut self, candidate: &str) -> bool {
        if candidate.len() > ADDRESS_BYTES_MAX {
            return true;
        }
        let Some(url) = plain(candidate).or_else(|| normal(candidate)) else {
            return true;
        };
        if !self.known.insert(self.hasher.hash_one(page(&url))) {
            return true;
        }
        if self.list.len() == ADDRESSES_MAX {
            self.list.n_dropped = self.list.n_dropped.saturating_add(1);
            return false;
        }
        self.list.push(&url, false);
        true
    }
}

/// An address as a crawl knows it; `None` when it is none.
fn normal(candidate: &str) -> Option<Cow<'static, str>> {
    let url = Url::parse(candidate).ok()?;
    url.host_str().filter(|host| !host.is_empty())?;
    Some(without_fragment(url).into())
}

/// The same for an address that is written as it would be read back, as nearly all are: parsing is the dear part. `None` when
/// anything in it might be written otherwise.
fn plain(candidate: &str) -> Option<Cow<'_, str>> {
    let authority = candidate
        .strip_prefix("https://")
        .or_else(|| candidate.strip_prefix("http://"))?;
    let bytes = authority.as_bytes();
    let host = bytes
        .iter()
        .take_while(|byte| PLAIN[usize::from(**byte)] & OF_HOST != 0)
        .count();
    // A last label that begins with a digit may be an address of version 4; `xn--` is checked by its own rules.
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

/// Bytes that stay as they are in a host, and in a path or query. `%` is not among them: `%2e` is a dot.
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

/// What two addresses of one page have in common: everything but whether it is `http` or `https`.
fn page(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}
