//! Labels in front of numbers, such as `Tel.`, `Fax` or `IBAN`.

use analyst_base::lists;

use crate::words::{FAXES, MOBILES, NUMBERS, OTHERS, OTHERS_ALONE, PHONES, UNITS};

/// Maximum number of words in front of a number that are read, the nearest first.
const WORDS_MAX: usize = 4;

/// What a label says about the number that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// A phone number, with its kind if the word implies one.
    Phone(Option<&'static str>),
    /// Any other number: a bank account, an order, a tax ID.
    Other,
}

/// Bytes in front of a number that are searched for its label.
pub(super) const LABEL_BYTES_MAX: usize = 64;

/// The label at the end of a text that precedes a number; `None` without a known word.
pub(super) fn before(text: &str, is_international: bool) -> Option<Label> {
    let line = text.rsplit(['\n', '\r']).next().unwrap_or_default();
    label_at_end(line.trim_end(), is_international)
}

fn label_at_end(line: &str, is_international: bool) -> Option<Label> {
    // A label belongs to the first number that follows it.
    let line = &line[number_end(line)..];
    let lower = line.to_lowercase();
    let words: Vec<&str> = lower
        .split(|character: char| !is_word_character(character))
        .map(|word| word.trim_matches(['-', '.', '/']))
        .filter(|word| !word.is_empty() && !word.bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    // The nearest label wins; words further away belong to something else.
    let nearest = words.iter().enumerate().rev().take(WORDS_MAX);
    let mut is_numbered = false;
    for (at, word) in nearest {
        // A single letter is a label only with punctuation: `T:`.
        if word.len() == 1 && !is_international && !line.ends_with([':', '.', '|']) {
            continue;
        }
        // `Port. 06 …` is short for `portable`; without a full stop it is a harbour or a socket.
        if *word == "port"
            && lower
                .trim_end_matches([' ', ':', '\u{a0}'])
                .ends_with("port.")
        {
            return Some(Label::Phone(Some("mobile")));
        }
        match label_of(word) {
            _ if lists(NUMBERS, word) => is_numbered = true,
            Some(Label::Phone(Some("fax"))) if at > 0 && is_phone(words[at - 1]) => {
                // `Tel./Fax`
                return Some(Label::Phone(None));
            }
            Some(label) => return Some(label),
            None => {}
        }
    }
    is_numbered.then_some(Label::Other)
}

/// Minimum digits of a separate number.
const OWN_DIGITS_MIN: usize = 5;

/// The end of the last number of a line; 0 without one.
fn number_end(line: &str) -> usize {
    let (mut n_digits, mut end, mut last) = (0, 0, 0);
    for (at, character) in line.char_indices() {
        if character.is_ascii_digit() {
            n_digits += 1;
            last = at + 1;
        } else if character.is_alphabetic() || character == ',' {
            n_digits = 0;
        }
        if n_digits >= OWN_DIGITS_MIN {
            end = last;
        }
    }
    end
}

fn is_phone(word: &str) -> bool {
    matches!(label_of(word), Some(Label::Phone(kind)) if kind != Some("fax"))
}

/// Whether a unit, a currency or a percent sign follows a number.
pub(super) fn is_measure(after: &str) -> bool {
    let rest = after.trim_start_matches([' ', '\u{a0}', '\u{202f}']);
    let signs = [
        '%', '€', '$', '£', '¥', '°', '₹', '²', '³', '円', '元', '원', '年',
    ];
    if rest.starts_with(signs) {
        return true;
    }
    let word: String = rest
        .chars()
        .take_while(|character| character.is_alphabetic())
        .collect();
    lists(UNITS, &word.to_lowercase())
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric()
        || matches!(character, '-' | '/' | '°' | '№' | '€' | '$' | '£' | '¥')
}

fn label_of(word: &str) -> Option<Label> {
    let is_fax = |fax: &str| fax == word || fax.chars().count() > 2 && word.ends_with(fax);
    let has = |labels: &str| labels.split(' ').any(|label| is_like(word, label));
    if FAXES.split(' ').any(is_fax) {
        return Some(Label::Phone(Some("fax")));
    }
    if has(PHONES) {
        return Some(Label::Phone(None));
    }
    if has(MOBILES) {
        return Some(Label::Phone(Some("mobile")));
    }
    let is_part = |part: &str| lists(OTHERS, part);
    let is_numbered = ["nummer", "nr", "number", "-no"]
        .iter()
        .any(|end| word.ends_with(end));
    let is_other = is_part(word)
        || lists(OTHERS_ALONE, word)
        || word.contains(['-', '/']) && word.split(['-', '/']).any(is_part)
        || is_numbered;
    is_other.then_some(Label::Other)
}

/// Whether a word is the label or a compound with it: `Telefonzentrale`, `tel/fax`.
fn is_like(word: &str, label: &str) -> bool {
    word == label
        || label.len() > 3 && (word.starts_with(label) || label.len() > 4 && word.ends_with(label))
        || label.chars().count() > 2 && word.split(['/', '-']).any(|part| part == label)
        || !label.is_ascii() && word.ends_with(label)
}
