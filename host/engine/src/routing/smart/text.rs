//! How much of a page's source is text that a reader sees.

use super::tokens::{Token, Tokens};

/// Longest character reference that counts as one character (`&CounterClockwiseContourIntegral;`).
const REFERENCE_BYTES_MAX: usize = 34;

/// Visible characters of a page, counted no further than `limit`.
///
/// A run of white space counts once, a character reference as one. In character sets other than
/// UTF-8 a character may count as several: overestimated text never makes a page need a browser.
pub(super) fn visible_chars(source: &[u8], limit: usize) -> usize {
    let mut counter = Counter::default();
    for token in Tokens::new(source) {
        if let Token::Text(text) = token {
            counter.add(text, limit);
            if counter.chars >= limit {
                break;
            }
        }
    }
    counter.chars
}

#[derive(Default)]
struct Counter {
    chars: usize,
    is_in_gap: bool,
}

impl Counter {
    fn add(&mut self, text: &[u8], limit: usize) {
        let mut at = 0;
        while at < text.len() && self.chars < limit {
            // Most bytes are one character each.
            let length = match text[at] {
                b' ' | b'\n' | b'\t' | b'\r' | b'\x0C' | 0 => {
                    self.is_in_gap = true;
                    at += 1;
                    continue;
                }
                b'&' | 0xC2..=0xF4 => char_length(&text[at..]),
                _ => 1,
            };
            if self.is_in_gap && self.chars > 0 {
                self.chars += 1;
            }
            self.chars += 1;
            self.is_in_gap = false;
            at += length;
        }
    }
}

/// White space, or the NUL that browsers drop: neither shows anything.
pub(super) fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0
}

/// Bytes of the first character of a non-empty text: a reference, a UTF-8 sequence, or one byte.
pub(super) fn char_length(text: &[u8]) -> usize {
    match text[0] {
        b'&' => reference_length(text),
        first @ 0xC2..=0xF4 => {
            let more = match first {
                0xC2..=0xDF => 1,
                0xE0..=0xEF => 2,
                _ => 3,
            };
            let continues = |byte: &&u8| **byte & 0xC0 == 0x80;
            1 + text[1..].iter().take(more).take_while(continues).count()
        }
        _ => 1,
    }
}

fn reference_length(text: &[u8]) -> usize {
    let head = &text[1..text.len().min(REFERENCE_BYTES_MAX)];
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
    match head.iter().position(|byte| !is_part(byte)) {
        Some(length) if length > 0 && head[length] == b';' => length + 2,
        _ => 1,
    }
}
