//! E-mail addresses spelled out in words: `name [at] domain dot com`, in many languages.

use super::text::{end_of, is_word, start_of, trimmed};
use super::verify::{Trust, address};
use crate::words::{AT_WORDS, BRACKETED_AT_WORDS, BRACKETED_DOT_WORDS, DOT_WORDS, Words};

/// The words for a sign.
pub(crate) struct SignWords {
    /// Words that are signs in running text as well.
    bare: &'static Words,
    /// Words that are signs in brackets only, such as `at`.
    bracketed: &'static Words,
}

/// Words for `@`.
pub(crate) static AT: SignWords = SignWords {
    bare: &AT_WORDS,
    bracketed: &BRACKETED_AT_WORDS,
};
/// Words for the dot.
pub(crate) static DOT: SignWords = SignWords {
    bare: &DOT_WORDS,
    bracketed: &BRACKETED_DOT_WORDS,
};
/// The only word for the dot in running English text.
static ENGLISH_DOT: Words = Words::new(&["dot"]);

impl SignWords {
    /// Whether a word, in brackets or not, is the sign.
    pub(crate) fn has(&self, word: &str, is_bracketed: bool) -> bool {
        self.bare.has(word) || is_bracketed && self.bracketed.has(word)
    }
}

/// Brackets and marks around a word for a sign.
pub(crate) const OPENING: [char; 9] = ['(', '[', '{', '<', '«', '|', '*', '（', '_'];
/// Maximum length of a word in brackets, in characters.
const WORD_CHARACTERS_MAX: usize = 14;
/// Bytes in front of a sign that are read: a local part has at most 64 characters, and its dots are
/// short words.
const BEFORE_BYTES: usize = 400;
/// Bytes in front of an e-mail address or a closing bracket that are searched for a word.
const WORD_BYTES: usize = 40;
/// Maximum number of dots on one side of an e-mail address.
const DOTS_MAX: usize = 6;

/// A sign spelled out in words.
struct Sign {
    /// Bytes of the word with brackets and blanks.
    length: usize,
    is_bracketed: bool,
    /// Whether the word has no other meaning in running text.
    is_bare: bool,
    /// Whether it is written in capitals: `AT`.
    is_shouted: bool,
}

/// Calls `found` with each e-mail address.
pub(super) fn scan(text: &str, found: &mut dyn FnMut(&str)) {
    for (at, character) in text.char_indices() {
        if !(OPENING.contains(&character) || character == ' ') {
            continue;
        }
        // The first of several blanks has already read past all of them.
        if character == ' ' && text[..at].ends_with(' ') {
            continue;
        }
        let Some(sign) = sign(&text[at..], &AT, AT.bare) else {
            continue;
        };
        if let Some(address) = around(&text[..at], &text[at + sign.length..], &sign) {
            found(&address);
        }
    }
}

/// The sign at the start of a text; `bare` are the words that count without brackets.
fn sign(text: &str, words: &SignWords, bare: &Words) -> Option<Sign> {
    let trimmed = text.trim_start_matches([' ', '\u{a0}']);
    let blanks = text.len() - trimmed.len();
    let first = trimmed.chars().next()?;
    if OPENING.contains(&first) {
        let inner = &trimmed[first.len_utf8()..];
        let closing = closing(first);
        let end = inner
            .char_indices()
            .take(WORD_CHARACTERS_MAX)
            .find(|(_, c)| *c == closing)?
            .0;
        let name = inner[..end]
            .trim()
            .trim_matches(['-', '_', '"', '\''])
            .to_lowercase();
        let mut length = blanks + first.len_utf8() + end + closing.len_utf8();
        if !words.has(&name, true) {
            return None;
        }
        length += blanks_of(&text[length..]);
        return Some(Sign {
            length,
            is_bracketed: true,
            is_bare: false,
            is_shouted: false,
        });
    }
    let word = start_of(trimmed, |c| c.is_alphabetic() || c == '-' || c == '@');
    let follows = &trimmed[word.len()..];
    let has_blanks = blanks > 0 && blanks_of(follows) > 0;
    // Cheap check first: most words are too long or too short, and lower-casing is expensive.
    if !(1..=WORD_CHARACTERS_MAX * 2).contains(&word.len()) || word.len() == 1 && word != "@" {
        return None;
    }
    let name = word.to_lowercase();
    let is_bare = bare.has(&name);
    let is_named = matches!(name.as_str(), "at" | "@") || is_bare;
    (has_blanks && is_named && words.has(&name, true)).then(|| Sign {
        length: blanks + word.len() + blanks_of(follows),
        is_bracketed: false,
        is_bare: is_bare || name == "@",
        is_shouted: word == "AT",
    })
}

fn closing(opening: char) -> char {
    match opening {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        '«' => '»',
        '（' => '）',
        same => same,
    }
}

fn blanks_of(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\u{a0}']).len()
}

/// The e-mail address around a sign.
fn around(before: &str, after: &str, sign: &Sign) -> Option<String> {
    let before = last_bytes(before, BEFORE_BYTES);
    let (local, place) = local_of(before)?;
    // `it was at one point in`: next to a bare English `at`, only the English `dot` counts.
    let is_english = !sign.is_bracketed && !sign.is_bare;
    let dots = if is_english { &ENGLISH_DOT } else { DOT.bare };
    let (domain, n_spoken) = domain_of(after, dots);
    let has_dot = n_spoken > 0;
    // `at` is an ordinary word: it needs brackets, a spelled-out dot, capitals or a label.
    let is_sure = sign.is_bracketed
        || sign.is_bare
        || has_dot
        || sign.is_shouted
        || is_announced(&before[..place]);
    if !is_sure {
        return None;
    }
    address(&format!("{local}@{domain}"), Trust::Shown)
}

/// Whether a label announces an e-mail address: `e-mail: info at acme.de`.
fn is_announced(before: &str) -> bool {
    let before = last_bytes(before.trim_end(), WORD_BYTES).to_lowercase();
    ["mail:", "email:", "correo:", "courriel :", "courriel:"]
        .iter()
        .any(|word| before.ends_with(word))
}

fn is_local(character: char) -> bool {
    character.is_ascii_alphanumeric() || "._+-".contains(character)
}

/// The end of a text, at least `n_bytes` long if the text is.
fn last_bytes(text: &str, n_bytes: usize) -> &str {
    &text[text.floor_char_boundary(text.len().saturating_sub(n_bytes))..]
}

/// The local part at the end of a text, its dots spelled out or not, and the offset of its start.
fn local_of(before: &str) -> Option<(String, usize)> {
    let mut place = before.len();
    let mut rest = before.trim_end_matches([' ', '\u{a0}']);
    let mut local = String::new();
    for _ in 0..DOTS_MAX {
        let part = end_of(rest, is_local).trim_start_matches(['.', '-']);
        if part.is_empty() {
            break;
        }
        local.insert_str(0, part);
        rest = &rest[..rest.len() - part.len()];
        place = rest.len();
        let Some(shorter) = without_dot(rest) else {
            break;
        };
        rest = shorter;
        local.insert(0, '.');
    }
    let local = local.trim_start_matches('.').to_owned();
    (!local.is_empty()).then_some((local, place))
}

/// The text without the spelled-out dot at its end; `None` without one.
fn without_dot(text: &str) -> Option<&str> {
    let trimmed = text.trim_end_matches([' ', '\u{a0}']);
    let last = trimmed.chars().next_back()?;
    let opening = OPENING
        .into_iter()
        .find(|&opening| closing(opening) == last);
    let (start, name) = match opening {
        Some(opening) => {
            let inner = &trimmed[..trimmed.len() - last.len_utf8()];
            let near = last_bytes(inner, WORD_BYTES);
            let start = inner.len() - near.len() + near.rfind(opening)?;
            (start, inner[start + opening.len_utf8()..].trim())
        }
        None => {
            let word = end_of(trimmed, char::is_alphabetic);
            let start = trimmed.len() - word.len();
            let is_apart = trimmed.len() < text.len() && trimmed[..start].ends_with(' ');
            (
                start,
                if is_apart && DOT.has(&word.to_lowercase(), false) {
                    word
                } else {
                    return None;
                },
            )
        }
    };
    let is_dot = DOT.has(&name.to_lowercase(), true);
    is_dot.then(|| trimmed[..start].trim_end_matches([' ', '\u{a0}']))
}

/// The domain at the start of a text, and how many of its dots are spelled out; `bare` are the
/// words for a dot that count without brackets.
fn domain_of(after: &str, bare: &Words) -> (String, usize) {
    let is_domain = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '.' | '-')
            || (!c.is_ascii() && c.is_alphanumeric() && is_word(c))
    };
    let mut rest = after.trim_start_matches([' ', '\u{a0}']);
    let (mut domain, mut n_spoken) = (String::new(), 0);
    for _ in 0..DOTS_MAX {
        let part = start_of(rest, is_domain);
        let label = trimmed(part);
        domain.push_str(label);
        rest = &rest[part.len()..];
        if label.is_empty() || label.len() < part.len() {
            break;
        }
        let Some(dot) = sign(rest, &DOT, bare) else {
            break;
        };
        rest = &rest[dot.length..];
        // A dot with nothing after it ends a sentence.
        if !rest.starts_with(is_domain) {
            break;
        }
        domain.push('.');
        n_spoken += 1;
    }
    (domain.trim_end_matches('.').to_owned(), n_spoken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_front_of_a_sign_is_cut_at_character_boundaries() {
        for (text, expected) in [
            ("é ann (punkt) lee at acme.de", ""),
            ("ééééééé ann [dot] lee at acme.de", ""),
            ("E-Mail: ann (dot) lee at acme.de", "ann.lee@acme.de"),
            ("E-Mail: info at acme.de", "info@acme.de"),
            ("Mail: info    at    acme.de", "info@acme.de"),
            ("ann (dot) lee (at) acme.de", "ann.lee@acme.de"),
        ] {
            let mut found = Vec::new();
            scan(text, &mut |address| found.push(address.to_owned()));
            found.dedup();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
}
