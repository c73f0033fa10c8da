//! Decides which characters need a backslash so that they are not parsed as Markdown.
//!
//! The rules examine the end of the output and the rest of the same text. At the end of a text,
//! where the next character is unknown, they assume the worst.

use trawl_sdk::scan::ByteSet;

/// Bytes that may need a backslash at the start of a line, and white space other than blanks.
pub(crate) const SPECIAL: ByteSet = ByteSet::of(b"\\`*_<&[]()~|#+->=:.\t\n\r\x0c");
/// Those that may need one elsewhere. What follows a `]` is examined with it.
const INNER: ByteSet = ByteSet::of(b"\\`*_<&]~:\t\n\r\x0c");
const IN_CELL: ByteSet = ByteSet::of(b"\\`*_<&]~:\t\n\r\x0c|");
const IN_BRACKETS: ByteSet = ByteSet::of(b"\\`*_<&]~:\t\n\r\x0c[");
const IN_BOTH: ByteSet = ByteSet::of(b"\\`*_<&]~:\t\n\r\x0c|[");

/// Length of a line in bytes after which all of [`SPECIAL`] no longer matters: nine digits and a
/// delimiter make a list item.
pub(crate) const START_BYTES: usize = 10;

/// Bytes that may need a backslash after the start of a line.
pub(crate) fn special(in_cell: bool, in_brackets: bool) -> &'static ByteSet {
    match (in_cell, in_brackets) {
        (false, false) => &INNER,
        (true, false) => &IN_CELL,
        (false, true) => &IN_BRACKETS,
        (true, true) => &IN_BOTH,
    }
}

/// White space that a browser collapses.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// Position in the output where a character will be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'o> {
    /// The content of the current line so far.
    pub(crate) line: &'o str,
    /// Whether block markers are recognized here: in paragraphs, but not in headings and cells.
    pub(crate) in_flow: bool,
    /// Whether the line is not the first of its paragraph.
    pub(crate) after_break: bool,
    /// In the text of a link or image, where every bracket counts.
    pub(crate) in_brackets: bool,
    /// In a table cell.
    pub(crate) in_cell: bool,
    /// In a URL that GFM turns into a link without any markup.
    pub(crate) in_url: bool,
}

/// Whether `text[at]`, a byte of [`SPECIAL`], needs a backslash.
pub(crate) fn needs_backslash(place: Place<'_>, text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let next = bytes.get(at + 1).copied();
    let begins_line = place.in_flow && place.line.is_empty();
    match bytes[at] {
        b'\\' => next.is_none_or(|next| next.is_ascii_punctuation()),
        b'`' => true,
        b'*' => begins_line || !is_between_blanks(place.line, next),
        b'_' => !place.in_url && !is_harmless_underscore(place.line, text, at),
        b'~' => {
            !place.in_url
                && (next == Some(b'~')
                    || !place.line.is_empty() && !place.line.ends_with(is_blank)
                    || place.line.ends_with('~'))
        }
        b'<' => next.is_none_or(|n| n.is_ascii_alphabetic() || matches!(n, b'/' | b'!' | b'?')),
        b'&' => may_be_reference(&bytes[at + 1..]),
        b'|' => place.in_cell || begins_line && place.after_break,
        b'[' => place.in_brackets || begins_line && is_label(&bytes[at + 1..]),
        b']' => place.in_brackets,
        b'(' => place.line.ends_with(']'),
        b':' => {
            place.line.ends_with(']') && place.line.starts_with('[')
                || begins_line && place.after_break && next == Some(b'-')
        }
        b'.' | b')' => place.in_flow && ends_word(next) && is_number(place.line),
        b'>' => begins_line,
        b'+' => begins_line && ends_word(next),
        b'-' => begins_line && (place.after_break || is_run(&bytes[at..], b'-', usize::MAX)),
        b'#' => begins_line && is_run(&bytes[at..], b'#', 6),
        b'=' => begins_line && place.after_break,
        _ => false,
    }
}

/// White space according to the rules for emphasis.
pub(crate) fn is_blank(c: char) -> bool {
    c.is_whitespace()
}

fn ends_word(next: Option<u8>) -> bool {
    next.is_none_or(is_space)
}

fn is_between_blanks(line: &str, next: Option<u8>) -> bool {
    next.is_some_and(is_space) && (line.is_empty() || line.ends_with(is_blank))
}

/// A run of underscores within a word, or between blanks, neither opens nor closes emphasis.
fn is_harmless_underscore(line: &str, text: &str, at: usize) -> bool {
    const RUN_MAX: usize = 16;
    let is_mark = |byte: &u8| *byte == b'_';
    let n_before = line.bytes().rev().take(RUN_MAX).take_while(is_mark).count();
    let n_after = text[at..].bytes().take(RUN_MAX).take_while(is_mark).count();
    let before = line[..line.len() - n_before].chars().next_back();
    let after = text[at + n_after..].chars().next();
    match (before, after) {
        (Some(before), Some(after)) => {
            before.is_alphanumeric() && after.is_alphanumeric()
                || is_blank(before) && is_blank(after)
        }
        _ => false,
    }
}

/// Whether the text after `&` may be parsed as a character reference.
fn may_be_reference(after: &[u8]) -> bool {
    const NAME_BYTES_MAX: usize = 32;
    let name = after
        .iter()
        .take(NAME_BYTES_MAX)
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#')
        .count();
    match after.get(name) {
        Some(b';') => name > 0,
        Some(_) => false,
        None => true,
    }
}

/// Whether a bracket at the start of a line may start a link reference definition, a footnote, a
/// task or an alert.
fn is_label(after: &[u8]) -> bool {
    const LABEL_BYTES_MAX: usize = 1000;
    let label = after.iter().take(LABEL_BYTES_MAX).position(|&b| b == b']');
    match label.map(|end| (&after[..end], after.get(end + 1).copied())) {
        Some((b" " | b"x" | b"X", next)) => ends_word(next),
        Some((label, next)) => label.starts_with(b"!") || next.is_none_or(|next| next == b':'),
        None => false,
    }
}

fn is_number(line: &str) -> bool {
    (1..=9).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the bytes start with at most `max` times `byte`, followed by a blank or the end.
fn is_run(bytes: &[u8], byte: u8, max: usize) -> bool {
    let run = bytes.iter().take_while(|&&b| b == byte).count();
    run <= max && ends_word(bytes.get(run).copied())
}
