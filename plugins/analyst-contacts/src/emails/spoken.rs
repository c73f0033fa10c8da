//! Addresses said in words: `name [at] domain dot com`, in many languages.

use super::text::{end_of, is_word, start_of, trimmed};
use super::verify::{Trust, address};

/// What `@` is called. In brackets each will do; bare ones are words of sentences too.
pub(crate) const AT: [&str; 47] = [
    "alfakrøll",
    "miukumauku",
    "кльомба",
    "равлик",
    "песик",
    "ätmärk",
    "afna",
    "majmun",
    "kuyruklu",
    "שטרודל",
    "כרוכית",
    "골뱅이",
    "艾特",
    "アットマーク",
    "アット",
    "ät-merkki",
    "圈a",
    "小老鼠",
    "آت",
    "arond",
    "snabel",
    "at",
    "@",
    "ät",
    "a",
    "æt",
    "et",
    "arroba",
    "arobase",
    "arobas",
    "chiocciola",
    "klammeraffe",
    "affe",
    "apenstaartje",
    "małpa",
    "malpa",
    "zavináč",
    "zavinac",
    "kukac",
    "snabel-a",
    "snabela",
    "alfa-krøll",
    "krøllalfa",
    "собака",
    "собачка",
    "παπάκι",
    "at-sign",
];
/// Bare words for `@` that mean nothing else in a sentence.
pub(crate) const AT_ALONE: [&str; 34] = [
    "ät",
    "æt",
    "alfakrøll",
    "krøllalfa",
    "alfa-krøll",
    "miukumauku",
    "кльомба",
    "равлик",
    "песик",
    "ätmärk",
    "afna",
    "majmun",
    "kuyruklu",
    "שטרודל",
    "כרוכית",
    "골뱅이",
    "艾特",
    "アットマーク",
    "アット",
    "arroba",
    "arobase",
    "arobas",
    "chiocciola",
    "klammeraffe",
    "apenstaartje",
    "małpa",
    "zavináč",
    "zavinac",
    "kukac",
    "snabela",
    "snabel-a",
    "собака",
    "собачка",
    "παπάκι",
];
/// What a dot is called.
pub(crate) const DOT: [&str; 36] = [
    "крапка",
    "taškas",
    "punkts",
    "točka",
    "tačka",
    "tacka",
    "tocka",
    "נקודה",
    "닷",
    "점",
    "点",
    "點",
    "ドット",
    "نقطة",
    "titik",
    "chấm",
    "ponta",
    "pilka",
    ".",
    "dot",
    "punkt",
    "punto",
    "point",
    "ponto",
    "punct",
    "piste",
    "tečka",
    "bodka",
    "bod",
    "kropka",
    "nokta",
    "точка",
    "τελεία",
    "pont",
    "punt",
    "dott",
];
/// Bare words for a dot.
pub(crate) const DOT_ALONE: [&str; 30] = [
    "крапка",
    "taškas",
    "punkts",
    "točka",
    "tačka",
    "tacka",
    "tocka",
    "נקודה",
    "닷",
    "ドット",
    "نقطة",
    "titik",
    "chấm",
    "ponta",
    "pilka",
    "dot",
    "punkt",
    "punto",
    "point",
    "ponto",
    "punct",
    "piste",
    "tečka",
    "bodka",
    "kropka",
    "nokta",
    "точка",
    "τελεία",
    "pont",
    "punt",
];

/// What a word for a sign may stand in.
pub(crate) const OPENING: [char; 9] = ['(', '[', '{', '<', '«', '|', '*', '（', '_'];
/// Longest word in brackets, in characters.
const WORD_CHARACTERS_MAX: usize = 14;
/// Bytes before a sign that are looked at: a local part has at most 64 characters, and its dots are said in few.
const BEFORE_BYTES: usize = 400;
/// Bytes before an address, or before a bracket that closes, that are looked at for the word there.
const WORD_BYTES: usize = 40;
/// Most dots of an address.
const DOTS_MAX: usize = 6;

/// A sign said in words: where it ends, and whether it stood in brackets.
struct Sign {
    length: usize,
    is_bracketed: bool,
    is_word_alone: bool,
    is_shouted: bool,
}

/// Calls `found` with each address.
pub(super) fn scan(text: &str, found: &mut dyn FnMut(&str)) {
    for (at, character) in text.char_indices() {
        if !(OPENING.contains(&character) || character == ' ') {
            continue;
        }
        // The first of several blanks has read on to what stands behind them all.
        if character == ' ' && text[..at].ends_with(' ') {
            continue;
        }
        let Some(sign) = sign(&text[at..], &AT, &AT_ALONE) else {
            continue;
        };
        if let Some(address) = around(&text[..at], &text[at + sign.length..], &sign) {
            found(&address);
        }
    }
}

/// The sign that begins here.
fn sign(text: &str, names: &[&str], alone: &[&str]) -> Option<Sign> {
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
        if first == '<' && !names.contains(&name.as_str()) || !names.contains(&name.as_str()) {
            return None;
        }
        length += blanks_of(&text[length..]);
        return Some(Sign {
            length,
            is_bracketed: true,
            is_word_alone: false,
            is_shouted: false,
        });
    }
    let word = start_of(trimmed, |c| c.is_alphabetic() || c == '-' || c == '@');
    let follows = &trimmed[word.len()..];
    let has_blanks = blanks > 0 && blanks_of(follows) > 0;
    // Most words of a text are longer or shorter than these, and lower case takes long.
    if !(1..=WORD_CHARACTERS_MAX * 2).contains(&word.len()) || word.len() == 1 && word != "@" {
        return None;
    }
    let name = word.to_lowercase();
    let is_named = name == "at" || name == "@" || alone.contains(&name.as_str());
    (has_blanks && is_named && (names.contains(&name.as_str()))).then(|| Sign {
        length: blanks + word.len() + blanks_of(follows),
        is_bracketed: false,
        is_word_alone: alone.contains(&name.as_str()) || name == "@",
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

/// The address whose two sides stand around a sign.
fn around(before: &str, after: &str, sign: &Sign) -> Option<String> {
    let before = last_bytes(before, BEFORE_BYTES);
    let (local, place) = local_of(before)?;
    // `it was at one point in`: beside the English word, only the English one is a dot.
    let is_english = !sign.is_bracketed && !sign.is_word_alone;
    let dots = if is_english {
        &["dot"][..]
    } else {
        &DOT_ALONE[..]
    };
    let (domain, n_spoken) = domain_of(after, dots);
    let has_dot = n_spoken > 0;
    // `at` is a word of sentences: only a spoken dot, or capitals, make it a sign.
    let is_sure = sign.is_bracketed
        || sign.is_word_alone
        || has_dot
        || sign.is_shouted
        || is_announced(&before[..place]);
    if !is_sure {
        return None;
    }
    address(&format!("{local}@{domain}"), Trust::Shown)
}

/// Whether the words before say that an address follows: `e-mail: info at acme.de`.
fn is_announced(before: &str) -> bool {
    let before = last_bytes(before.trim_end(), WORD_BYTES).to_lowercase();
    ["mail:", "email:", "correo:", "courriel :", "courriel:"]
        .iter()
        .any(|word| before.ends_with(word))
}

fn is_local(character: char) -> bool {
    character.is_ascii_alphanumeric() || "._+-".contains(character)
}

/// What ends here, cut in front to about so many bytes.
fn last_bytes(text: &str, n_bytes: usize) -> &str {
    &text[text.floor_char_boundary(text.len().saturating_sub(n_bytes))..]
}

/// The local part that ends here, with dots said in words, and the byte where it begins.
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

/// The text without a dot said in words at its end.
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
                if is_apart && DOT_ALONE.contains(&word.to_lowercase().as_str()) {
                    word
                } else {
                    return None;
                },
            )
        }
    };
    let is_dot = DOT.contains(&name.to_lowercase().as_str());
    is_dot.then(|| trimmed[..start].trim_end_matches([' ', '\u{a0}']))
}

/// The domain that begins here, and how many of its dots are said in words; `alone` are the words that need no brackets.
fn domain_of(after: &str, alone: &[&str]) -> (String, usize) {
    let is_domain = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '.' | '-')
            || (!c.is_ascii() && c.is_alphanumeric() && is_word(c))
    };
    let mut rest = after.trim_start_matches([' ', '\u{a0}']);
    let (mut domain, mut n_spoken) = (String::new(), 0);
    for _ in 0..DOTS_MAX {
        let part = start_of(rest, is_domain);
        let kept = trimmed(part);
        domain.push_str(kept);
        rest = &rest[part.len()..];
        if kept.is_empty() || kept.len() < part.len() {
            break;
        }
        let Some(dot) = sign(rest, &DOT, alone) else {
            break;
        };
        rest = &rest[dot.length..];
        // A dot that nothing follows ended a sentence.
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
    fn what_stands_before_is_cut_between_characters() {
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
