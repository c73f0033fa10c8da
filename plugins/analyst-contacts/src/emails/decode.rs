//! Decoders for the ways in which pages obfuscate e-mail addresses.

use super::verify::{Trust, address};

/// Maximum length of an encoded e-mail address, in bytes.
const ENCODED_BYTES_MAX: usize = 2_000;

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

/// ROT13.
pub(super) fn rot13(text: &str) -> String {
    let turn = |byte: u8, first: u8| (first + (byte - first + 13) % 26) as char;
    text.chars()
        .map(|c| match c {
            'a'..='z' => turn(c as u8, b'a'),
            'A'..='Z' => turn(c as u8, b'A'),
            other => other,
        })
        .collect()
}

pub(super) fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

/// Base64 of UTF-8 text; `None` for anything else.
pub(super) fn base64(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() < 8 || text.len() > ENCODED_BYTES_MAX * 4 {
        return None;
    }
    let (mut bits, mut n_bits) = (0_u32, 0);
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits) as u8);
            bits &= (1 << n_bits) - 1;
        }
    }
    String::from_utf8(bytes).ok()
}

/// TYPO3: three character ranges, each rotated by the same offset, which is found by trial.
pub(super) fn typo3(text: &str) -> Option<String> {
    if text.len() > ENCODED_BYTES_MAX {
        return None;
    }
    (-25..=25).find_map(|offset| {
        let moved: String = text.chars().map(|c| moved(c, offset)).collect();
        moved.starts_with("mailto:").then_some(moved)
    })
}

fn moved(character: char, offset: i32) -> char {
    let ranges = [(0x2b, 0x3a), (0x40, 0x5a), (0x61, 0x7a)];
    let code = character as i32;
    let Some((first, last)) = ranges
        .into_iter()
        .find(|range| (range.0..=range.1).contains(&code))
    else {
        return character;
    };
    let turned = first + (code - first + offset).rem_euclid(last - first + 1);
    char::from_u32(turned as u32).unwrap_or(character)
}

/// The e-mail address in a value of an attribute or a script: plain, reversed, in Base64 or ROT13;
/// and whether it was encoded.
pub(super) fn hidden(value: &str) -> Option<(String, bool)> {
    let value = value.trim();
    if value.len() > ENCODED_BYTES_MAX || value.contains(' ') {
        return None;
    }
    let plain = |text: &str| {
        let text = text.strip_prefix("mailto:").unwrap_or(text);
        address(text.split('?').next().unwrap_or_default(), Trust::Shown)
    };
    if let Some(address) = plain(value) {
        return Some((address, false));
    }
    let decoded = [
        base64(value),
        Some(reversed(value)),
        Some(rot13(value)),
        base64(&reversed(value)),
        typo3(value),
    ];
    let mut decoded = decoded.into_iter().flatten();
    decoded
        .find_map(|text| plain(&text))
        .map(|address| (address, true))
}
