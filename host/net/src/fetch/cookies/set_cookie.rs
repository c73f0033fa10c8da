//! Reads one `Set-Cookie` header. RFC 6265bis section 5.6.

use std::time::Duration;

use trawl_model::clock::Timestamp;

use super::date;

/// Bytes of name and value together.
const PAIR_BYTES_MAX: usize = 4096;
/// Bytes of an attribute's value; a longer one is ignored.
const ATTRIBUTE_BYTES_MAX: usize = 1024;
/// Longest time that a cookie is kept: 400 days.
const AGE_MAX: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// A cookie as it is written. Of an attribute that is there twice, the last one counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SetCookie {
    pub(super) name: Vec<u8>,
    pub(super) value: Vec<u8>,
    pub(super) domain: Option<Vec<u8>>,
    pub(super) path: Option<Vec<u8>>,
    pub(super) is_secure: bool,
    /// `SameSite=None`.
    pub(super) is_cross_site: bool,
    /// `Max-Age`, otherwise `Expires`; [`Timestamp::MIN`] if the cookie is to be deleted.
    pub(super) expires: Option<Timestamp>,
}

impl SetCookie {
    /// Reads a header. `None` if browsers ignore it as a whole.
    pub(super) fn parse(header: &[u8], now: Timestamp) -> Option<Self> {
        let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
        if header.iter().any(is_control) {
            return None;
        }
        let mut parts = header.split(|byte| *byte == b';');
        let pair = parts.next().unwrap_or_default();
        // Without `=`, the cookie has no name.
        let (name, value) = named(pair).unwrap_or((b"", trimmed(pair)));
        if name.is_empty() && value.is_empty() || name.len() + value.len() > PAIR_BYTES_MAX {
            return None;
        }
        // A nameless cookie is sent as its value alone, which must not pass for a cookie with a
        // name. The standard takes such cookies; Chromium does not.
        if name.is_empty() && value.contains(&b'=') {
            return None;
        }
        let mut cookie = Self {
            name: name.to_vec(),
            value: value.to_vec(),
            ..Self::default()
        };
        let (mut max_age, mut expires) = (None, None);
        for part in parts {
            let (name, value) = named(part).unwrap_or((trimmed(part), b""));
            if value.len() > ATTRIBUTE_BYTES_MAX {
                continue;
            }
            match name.to_ascii_lowercase().as_slice() {
                b"domain" => cookie.domain = Some(value.to_vec()),
                b"path" => cookie.path = Some(value.to_vec()),
                b"secure" => cookie.is_secure = true,
                b"samesite" => cookie.is_cross_site = value.eq_ignore_ascii_case(b"none"),
                b"max-age" => max_age = age(value, now).or(max_age),
                b"expires" => expires = date::parse(value).or(expires),
                _ => {}
            }
        }
        let latest = now.after(AGE_MAX);
        cookie.expires = max_age.or(expires).map(|expires| expires.min(latest));
        Some(cookie)
    }
}

/// When a `Max-Age` ends; `None` if it is not a number.
fn age(value: &[u8], now: Timestamp) -> Option<Timestamp> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let is_past = digits.len() < value.len() || digits.iter().all(|digit| *digit == b'0');
    if is_past {
        return Some(Timestamp::MIN);
    }
    // A number that does not fit is longer than any cookie is kept.
    let seconds = std::str::from_utf8(digits)
        .ok()?
        .parse()
        .unwrap_or(u64::MAX);
    Some(now.after(Duration::from_secs(seconds).min(AGE_MAX)))
}

/// Name and value around the first `=`.
fn named(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = memchr::memchr(b'=', part)?;
    Some((trimmed(&part[..equals]), trimmed(&part[equals + 1..])))
}

/// Without spaces and tabs around it.
fn trimmed(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}
