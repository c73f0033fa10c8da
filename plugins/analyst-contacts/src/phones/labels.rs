//! What the words beside a number say of it.

use super::label_words::{FAX, OTHER, OTHER_TOO, PHONE};

/// Words before a number that are looked at, the nearest first.
const WORDS_MAX: usize = 4;

/// Words that only say that a number follows: what kind, the word before them says.
const NEUTRAL: &[&str] = &[
    "no", "nr", "nº", "n°", "№", "number", "nummer", "numéro", "número", "numero",
];

/// What a label makes of the number after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// A phone, with its kind where the word says it.
    Phone(Option<&'static str>),
    /// Some other number: a bank account, an order, a tax id.
    Other,
}

/// Bytes before a number in which its label is looked for.
pub(super) const LABEL_BYTES_MAX: usize = 64;

/// The label in the text before a number; `None` when no known word stands there.
pub(super) fn before(text: &str, is_international: bool) -> Option<Label> {
    let line = text.rsplit(['\n', '\r']).next().unwrap_or_default();
    // A table's label stands in the cell before.
    let line = line.trim_end();
    // `Mobile Ann (pool and stables) 333 4170926`: what is in brackets is said of the label.
    if let Some(open) = line
        .strip_suffix([')', '）'])
        .and_then(|rest| rest.rfind(['(', '（']))
        && said(&line[open..], is_international).is_none()
    {
        return said(&line[..open], is_international);
    }
    said(line, is_international)
}

fn said(line: &str, is_international: bool) -> Option<Label> {
    // A label is used up by the number that follows it.
    let line = &line[number_end(line)..];
    let lower = line.to_lowercase();
    let words: Vec<&str> = lower
        .split(|character: char| !is_word_character(character))
        .map(|word| word.trim_matches(['-', '.', '/']))
        .filter(|word| !word.is_empty() && !word.bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    // The nearest word that says something decides; words further away are about something else.
    let nearest = words.iter().enumerate().rev().take(WORDS_MAX);
    let mut is_numbered = false;
    for (at, word) in nearest {
        // A letter alone is a label only when it is written as one: `T:`.
        if word.len() == 1 && !is_international && !line.ends_with([':', '.', '|']) {
            continue;
        }
        match label_of(word) {
            _ if NEUTRAL.contains(word) => is_numbered = true,
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

/// Digits from which a run of them is a number of its own.
const OWN_DIGITS_MIN: usize = 5;

/// Where the last number of a line ends, 0 without one.
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

/// Whether the text right after a number says that it is something else: a unit, a currency, a percent sign.
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
    let units = [
        "eur", "euro", "euros", "usd", "chf", "gbp", "kr", "kč", "zł", "pln", "sek", "nok", "dkk",
        "m", "km", "cm", "mm", "kg", "g", "mb", "gb", "kb", "px", "ms", "acres", "sqft", "sq",
        "m²", "hours", "people", "users", "items", "views", "ft", "lei", "руб", "р", "tl", "rub",
        "ron",
    ];
    units.contains(&word.to_lowercase().as_str())
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric()
        || matches!(character, '-' | '/' | '°' | '№' | '€' | '$' | '£' | '¥')
}

fn label_of(word: &str) -> Option<Label> {
    if FAX
        .iter()
        .any(|fax| *fax == word || fax.chars().count() > 2 && word.ends_with(fax))
    {
        return Some(Label::Phone(Some("fax")));
    }
    if let Some((_, kind)) = PHONE.iter().find(|(phone, _)| is_like(word, phone)) {
        return Some(Label::Phone(*kind));
    }
    if OTHER.contains(&word) || OTHER_TOO.contains(&word) {
        return Some(Label::Other);
    }
    let parts = word.split(['-', '/']);
    let is_other = word.contains(['-', '/']) && parts.clone().any(|part| OTHER.contains(&part));
    let is_numbered = ["nummer", "nr", "number", "-no"]
        .iter()
        .any(|end| word.ends_with(end));
    (is_other || is_numbered).then_some(Label::Other)
}

/// Whether a word is the label, or one made from it: `Telefonzentrale`, `tel/fax`.
fn is_like(word: &str, label: &str) -> bool {
    word == label
        || label.len() > 3 && (word.starts_with(label) || label.len() > 4 && word.ends_with(label))
        || label.chars().count() > 2 && word.split(['/', '-']).any(|part| part == label)
        || !label.is_ascii() && word.ends_with(label)
}
