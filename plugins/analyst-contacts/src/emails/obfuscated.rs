//! E-mail addresses that are plainly obfuscated: signs as words in brackets, links of Cloudflare
//! and TYPO3, parts or encoded values in `data-` attributes.

use analyst_base::{lists, percent_decoded};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use trawl_sdk::Element;

use super::text;
use super::verify::{Trust, address};
use crate::words::{ATS, DOTS};

/// Maximum length of an encoded e-mail address, in bytes.
const ENCODED_BYTES_MAX: usize = 2_000;
/// Maximum length of a word in brackets, in characters.
const WORD_CHARACTERS_MAX: usize = 14;
/// Opening brackets and the closing ones.
const BRACKETS: [(char, char); 6] = [
    ('(', ')'),
    ('[', ']'),
    ('{', '}'),
    ('<', '>'),
    ('«', '»'),
    ('（', '）'),
];
/// A character that stands for a sign in brackets while a line is read: Unicode assigns none to it.
const MARK: char = '\u{e000}';

/// The path of links in which Cloudflare obfuscates e-mail addresses.
const CLOUDFLARE: &str = "/cdn-cgi/l/email-protection#";

/// The call in links of TYPO3, whose argument is shifted.
const SHIFTED: &str = "linkTo_UnCryptMailto(";
/// The characters that TYPO3 shifts, each within its range, and most places that it shifts them by.
const SHIFTED_RANGES: [(u8, u8); 3] = [(b'+', b':'), (b'@', b'Z'), (b'a', b'z')];
const SHIFT_MAX: i16 = 25;

/// Parts of attribute names for the local part, the domain and the top-level domain.
const USERS: [&str; 10] = [
    "user", "name", "local", "login", "account", "before", "first", "part1", "left", "-u",
];
const DOMAINS: [&str; 10] = [
    "domain", "host", "site", "server", "after", "second", "part2", "right", "-d", "provider",
];
const TOPS: [&str; 5] = ["tld", "suffix", "ext", "part3", "-t"];

/// Calls `found` with each e-mail address whose signs are words in brackets: `info (at) acme.de`,
/// `info [at] acme [dot] de`.
pub(super) fn scan(text: &str, found: &mut dyn FnMut(&str)) {
    for line in text.lines() {
        if let Some(plain) = with_signs(line, MARK) {
            text::scan(&plain, &[MARK], &mut |address, _| found(address));
        }
    }
}

/// Calls `found` with each e-mail address whose signs stand between blanks: `info @ acme . de`. It
/// is all of its line, but for a label, since a sentence may have these signs too.
pub(super) fn scan_spaced(text: &str, found: &mut dyn FnMut(&str)) {
    for line in text.lines().filter(|line| line.contains('@')) {
        let line = line.replace('\u{a0}', " ");
        for part in line.split([':', '|', '·', ';', '\t']) {
            let Some((local, domain)) = part.trim().split_once(" @ ") else {
                continue;
            };
            let is_domain = domain.contains(" . ")
                && domain
                    .split(" . ")
                    .all(|label| !label.contains('.') && label.chars().all(text::is_domain));
            let local = local.replace(" . ", ".");
            if is_domain && local.chars().all(text::is_local) {
                found(&format!("{local}@{}", domain.replace(" . ", ".")));
            }
        }
    }
}

/// The line with `mark` and dots for the words for `@` and dots in brackets; `None` without one for
/// `@`.
pub(crate) fn with_signs(line: &str, mark: char) -> Option<String> {
    let opens = |c: char| BRACKETS.iter().any(|(open, _)| *open == c);
    if !line.contains(opens) {
        return None;
    }
    let mut plain = String::with_capacity(line.len());
    let (mut rest, mut has_at) = (line, false);
    while let Some(at) = rest.find(opens) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((sign, length)) = sign(rest, mark) {
            has_at |= sign == mark;
            plain.truncate(plain.trim_end_matches([' ', '\u{a0}']).len());
            plain.push(sign);
            rest = rest[length..].trim_start_matches([' ', '\u{a0}']);
        } else {
            let length = rest.chars().next().map_or(rest.len(), char::len_utf8);
            plain.push_str(&rest[..length]);
            rest = &rest[length..];
        }
    }
    plain.push_str(rest);
    has_at.then_some(plain)
}

/// The sign for the word in brackets at the start of a text, and its length in bytes.
fn sign(text: &str, mark: char) -> Option<(char, usize)> {
    let opening = text.chars().next()?;
    let (_, closing) = BRACKETS.iter().find(|(open, _)| *open == opening)?;
    let inner = &text[opening.len_utf8()..];
    let (end, _) = inner
        .char_indices()
        .take(WORD_CHARACTERS_MAX)
        .find(|(_, c)| c == closing)?;
    let word = inner[..end].trim().trim_matches(['-', '_', '"', '\'']);
    let word = word.to_lowercase();
    let length = opening.len_utf8() + end + closing.len_utf8();
    if lists(ATS, &word) {
        Some((mark, length))
    } else {
        lists(DOTS, &word).then_some(('.', length))
    }
}

/// The e-mail address of a link of Cloudflare's.
pub(super) fn cloudflare_link(href: &str) -> Option<String> {
    let (_, code) = href.split_once(CLOUDFLARE)?;
    let address = cloudflare(code)?;
    address.split('?').next().map(str::to_owned)
}

/// Cloudflare: hexadecimal bytes, all but the first XORed with the first.
pub(super) fn cloudflare(hex: &str) -> Option<String> {
    if hex.len() < 8 || hex.len() > ENCODED_BYTES_MAX || !hex.len().is_multiple_of(2) {
        return None;
    }
    let mut bytes = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok());
    let key = bytes.next()??;
    let decoded: Option<Vec<u8>> = bytes.map(|byte| Some(byte? ^ key)).collect();
    String::from_utf8(decoded?).ok()
}

/// The e-mail address of a link of TYPO3's: `javascript:linkTo_UnCryptMailto('nbjmup+…')`.
pub(super) fn shifted_link(href: &str) -> Option<String> {
    if !href.contains(SHIFTED) {
        return None;
    }
    let href = percent_decoded(href);
    let (_, call) = href.split_once(SHIFTED)?;
    let quoted = call.strip_prefix(['\'', '"'])?;
    let (token, _) = quoted.split_once(['\'', '"'])?;
    shifted(token)
}

/// The e-mail address in a token of TYPO3's: its characters are shifted by a number that is known
/// by the `mailto:` in front of it.
pub(super) fn shifted(token: &str) -> Option<String> {
    if token.len() > ENCODED_BYTES_MAX {
        return None;
    }
    (-SHIFT_MAX..=SHIFT_MAX).find_map(|by| {
        let plain: String = token.chars().map(|c| shifted_back(c, by)).collect();
        let address = plain.strip_prefix("mailto:")?;
        address.split('?').next().map(str::to_owned)
    })
}

/// The character so many places before this one in its range, which is a circle.
fn shifted_back(c: char, by: i16) -> char {
    let Ok(byte) = u8::try_from(c) else {
        return c;
    };
    let mut ranges = SHIFTED_RANGES.iter();
    let range = ranges.find(|(first, last)| (*first..=*last).contains(&byte));
    let Some(&(first, last)) = range else {
        return c;
    };
    let size = i16::from(last - first) + 1;
    let place = (i16::from(byte - first) - by).rem_euclid(size);
    let place = u8::try_from(place).unwrap_or_default();
    char::from(first + place)
}

/// Calls `found` with each e-mail address in the `data-` attributes of an element: in one of them,
/// plain or encoded, or in parts: `data-user="info" data-domain="acme.de"`.
pub(super) fn in_data(element: Element<'_>, found: &mut dyn FnMut(&str)) {
    let (mut user, mut domain, mut top) = (None, None, None);
    for (name, value) in element.attrs() {
        let Some(name) = name.strip_prefix("data") else {
            continue;
        };
        let has = |parts: &[&str]| {
            let mut parts = parts.iter();
            parts.any(|part| name.contains(part) && (part.len() > 2 || name == *part))
        };
        if has(&TOPS) {
            top = Some(value);
        } else if has(&DOMAINS) {
            domain = Some(value);
        } else if has(&USERS) {
            user = Some(value);
        }
        if let Some(address) = encoded(value) {
            found(&address);
        }
        scan(value, found);
    }
    let (Some(user), Some(domain)) = (user, domain) else {
        return;
    };
    let top = top.map_or_else(String::new, |top| {
        format!(".{}", top.trim_start_matches('.'))
    });
    let domain = format!("{}{top}", domain.trim_start_matches('@'));
    let joined = format!("{user}@{domain}");
    match address(&joined, Trust::Shown) {
        Some(_) => found(&joined),
        None => found(&format!("{}@{}", reversed(user), reversed(&domain))),
    }
}

/// The e-mail address in a value: plain, reversed, in Base64 or ROT13.
fn encoded(value: &str) -> Option<String> {
    let value = value.trim();
    if value.len() < 6 || value.len() > ENCODED_BYTES_MAX || value.contains([' ', '{']) {
        return None;
    }
    let plain = |text: &str| {
        let text = text.strip_prefix("mailto:").unwrap_or(text);
        address(text.split('?').next().unwrap_or_default(), Trust::Shown)
    };
    plain(value)
        .or_else(|| plain(&reversed(value)))
        .or_else(|| plain(&rot13(value)))
        .or_else(|| plain(&base64(value)?))
}

fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

fn rot13(text: &str) -> String {
    let turn = |byte: u8, first: u8| (first + (byte - first + 13) % 26) as char;
    text.chars()
        .map(|c| match c {
            'a'..='z' => turn(c as u8, b'a'),
            'A'..='Z' => turn(c as u8, b'A'),
            other => other,
        })
        .collect()
}

fn base64(text: &str) -> Option<String> {
    let bytes = STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text));
    String::from_utf8(bytes.ok()?).ok()
}
