//! Host names in a text without a scheme.

use std::borrow::Cow;
use std::ops::Range;

/// Longest host name, in bytes. RFC 1035 section 2.3.4; in other scripts its text may be longer
/// than its encoding.
const HOST_BYTES_MAX: usize = 253;
/// Most bytes of a run that are examined before and after a dot: more than a name has, so that a
/// longer run is never taken for one.
const RUN_BYTES_MAX: usize = HOST_BYTES_MAX + 64;
/// The first character of the scripts written without spaces (CJK radicals; then kana, ideographs,
/// Hangul).
pub(super) const FIRST_IDEOGRAPH: char = '\u{2e80}';
/// Longest label. RFC 1035 section 2.3.4.
const LABEL_BYTES_MAX: usize = 63;

/// Common public suffixes that are hardly ever anything else in a text. Other generic ones are
/// words of programs and sentences (`event.target`, `user.name`): those need a path.
const CLEAR_GENERIC: [&str; 30] = [
    "com", "org", "net", "edu", "gov", "mil", "int", "info", "biz", "dev", "io", "co", "online",
    "shop", "store", "tech", "cloud", "blog", "news", "wiki", "museum", "agency", "digital", "xyz",
    "site", "website", "travel", "gmbh", "berlin", "london",
];
/// Suffixes of countries that are also endings of files or English words.
const UNCLEAR_COUNTRIES: [&str; 46] = [
    "ai", "al", "am", "an", "ar", "as", "at", "ba", "be", "by", "cc", "do", "gt", "hm", "id", "in",
    "is", "it", "la", "lb", "li", "ma", "md", "me", "mk", "ml", "mm", "mo", "ms", "mp", "my", "no",
    "pa", "pl", "pm", "ps", "py", "rs", "sc", "sh", "so", "st", "tf", "to", "us", "vi",
];

/// The run of letters, digits, hyphens and dots around a dot, not before `floor`; `None` if the dot
/// is in no name.
pub(super) fn around(text: &str, floor: usize, dot: usize) -> Option<Range<usize>> {
    // Checked first: no dot of a long row is examined twice, and most dots end a sentence.
    let bytes = text.as_bytes();
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    bytes[floor..dot].last().filter(|byte| is_of_word(byte))?;
    bytes.get(dot + 1).filter(|byte| is_of_word(byte))?;
    let start = begin(text, floor, dot);
    let end = end(text, dot + 1);
    let name = text[start..end].trim_start_matches(['-', '.']);
    let start = end - name.len();
    let start = start + prose_before(name);
    let end = start + text[start..end].trim_end_matches(['-', '.']).len();
    (start..end).contains(&dot).then_some(start..end)
}

/// Where the run of such characters before `end` begins.
fn begin(text: &str, floor: usize, end: usize) -> usize {
    let floor = floor.max(text.floor_char_boundary(end.saturating_sub(RUN_BYTES_MAX)));
    let before = &text[floor..end];
    let ascii = before.bytes().rev().take_while(|byte| is_ascii_part(*byte));
    let mut start = end - ascii.count();
    for character in text[floor..start].chars().rev() {
        if !is_part(character) {
            break;
        }
        start -= character.len_utf8();
    }
    start
}

/// Where the run of such characters from `start` ends; runs that are too long for a name are not
/// followed to their end. Prose in a script without spaces directly after Latin letters is
/// excluded.
pub(super) fn end(text: &str, start: usize) -> usize {
    let start = start.min(text.len());
    let rest = &text[start..];
    let rest = &rest[..rest.floor_char_boundary(RUN_BYTES_MAX)];
    let ascii = rest.bytes().take_while(|byte| is_ascii_part(*byte)).count();
    if rest[ascii..].starts_with(|next: char| next.is_ascii()) || ascii == rest.len() {
        return start + ascii;
    }
    let mut is_latin = ascii > 0 && !rest[..ascii].ends_with('.');
    for (index, character) in rest[ascii..].char_indices() {
        let is_prose = is_latin && character >= FIRST_IDEOGRAPH;
        if is_prose || !is_part(character) {
            return start + ascii + index;
        }
        is_latin = character.is_ascii_alphanumeric() || is_latin && character != '.';
    }
    start + rest.len()
}

fn is_ascii_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.')
}

/// Bytes of prose in a script without spaces directly before a name in Latin letters:
/// `访问www.example.com`.
fn prose_before(name: &str) -> usize {
    if name.is_ascii() {
        return 0;
    }
    let label = &name[..name.find('.').unwrap_or(name.len())];
    let Some((last, character)) = label
        .char_indices()
        .rev()
        .find(|(_, character)| *character >= FIRST_IDEOGRAPH)
    else {
        return 0;
    };
    let rest = last + character.len_utf8();
    if rest < label.len() { rest } else { 0 }
}

fn is_part(character: char) -> bool {
    match u8::try_from(character).ok().filter(u8::is_ascii) {
        Some(byte) => is_ascii_part(byte),
        // Sentences in scripts without blanks have marks of their own, which are not letters.
        None => character.is_alphanumeric(),
    }
}

/// The name if it is clearly a host; the part that is one if prose in another script follows
/// directly.
pub(super) fn clear(name: &str, has_path: bool) -> Option<&str> {
    if is_clear(name, has_path) {
        return Some(name);
    }
    let ascii = &name[..name.find(|character: char| !character.is_ascii())?];
    let is_cut = !ascii.ends_with(['.', '-']) && is_clear(ascii, has_path);
    is_cut.then_some(ascii)
}

fn is_clear(name: &str, has_path: bool) -> bool {
    let (_, last) = name.rsplit_once('.').unwrap_or_default();
    // Checked first: most words with a dot have no such ending. No public suffix has one letter,
    // none begins with a digit.
    let may_be_suffix = last.len() > 1 && !last.as_bytes()[0].is_ascii_digit();
    if !may_be_suffix || name.len() > HOST_BYTES_MAX {
        return false;
    }
    let is_www = name
        .get(..4)
        .is_some_and(|begin| begin.eq_ignore_ascii_case("www."));
    let has_one_dot = last.len() + 1 + name.find('.').unwrap_or_default() == name.len();
    // Two labels of which the last is ambiguous: checked before the list of public suffixes, which
    // is slower.
    if !has_path && !is_www && has_one_dot && UNCLEAR_COUNTRIES.contains(&last) {
        return false;
    }
    if !name.split('.').all(is_label) {
        return false;
    }
    // Either all in capitals or none, so that the first word of a sentence is not a suffix:
    // `end.It`.
    if has_capitals(last) && name.chars().any(char::is_lowercase) {
        return false;
    }
    let lower: Cow<'_, str> = if has_capitals(name) {
        name.to_lowercase().into()
    } else {
        name.into()
    };
    let Some(suffix) = psl::suffix(lower.as_bytes()).filter(|suffix| suffix.is_known()) else {
        return false;
    };
    let Ok(suffix) = std::str::from_utf8(suffix.as_bytes()) else {
        return false;
    };
    suffix.len() < lower.len() && (has_path || is_www || is_clear_suffix(suffix))
}

fn has_capitals(text: &str) -> bool {
    if text.is_ascii() {
        text.bytes().any(|byte| byte.is_ascii_uppercase())
    } else {
        text.chars().any(char::is_uppercase)
    }
}

fn is_clear_suffix(suffix: &str) -> bool {
    match suffix.contains('.') || !suffix.is_ascii() {
        true => true,
        false if suffix.len() == 2 => !UNCLEAR_COUNTRIES.contains(&suffix) || suffix == "co",
        false => CLEAR_GENERIC.contains(&suffix) || suffix.starts_with("xn--"),
    }
}

fn is_label(label: &str) -> bool {
    !label.is_empty()
        && label.len() <= LABEL_BYTES_MAX
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// The part of an authority that is a host if prose in another script follows directly; all of it
/// otherwise.
pub(super) fn without_prose(authority: &str) -> &str {
    let Some(cut) = authority.find(|character: char| !character.is_ascii()) else {
        return authority;
    };
    let lower = authority.to_lowercase();
    let is_known = psl::suffix(lower.as_bytes()).is_some_and(|suffix| suffix.is_known());
    let ascii = &authority[..cut];
    let is_host = |host: &str| {
        let host = host
            .rsplit('@')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        !host.ends_with('.')
            && psl::suffix(host.as_bytes())
                .is_some_and(|suffix| suffix.is_known() && suffix.as_bytes().len() < host.len())
    };
    if !is_known && is_host(ascii) {
        ascii
    } else {
        authority
    }
}
