//! Imprint lines: company names with legal forms, tax and register numbers.

#[cfg(test)]
mod tests;

use super::NAME_BYTES_MAX;
use crate::found::Business;
use crate::phones::Region;

// `LABELS`: labels in front of numbers with the prefix of VAT numbers; `LEGAL_FORMS`.
include!(concat!(env!("OUT_DIR"), "/imprint.rs"));

/// Digits of a tax or register number.
const ID_DIGITS: std::ops::RangeInclusive<usize> = 5..=20;

/// A legal form as it is written at the end of a company name.
struct LegalForm {
    text: &'static str,
    /// Whether the name in front of it begins with a capital letter; otherwise the name may be in a
    /// script without capitals.
    is_capitalised: bool,
}

/// The kind of number that a label announces.
#[derive(Clone, Copy)]
enum Label {
    Vat,
    Tax,
    Registration,
}

/// Reads the numbers and the company name of an imprint line.
pub(super) fn imprint(line: &str, homes: &[Region], business: &mut Business) {
    let has_digits = line.bytes().filter(u8::is_ascii_digit).count() >= *ID_DIGITS.start();
    if has_digits {
        let lower = line.to_lowercase();
        // Lower-casing may change the length; offsets must match the original line.
        let lower = if lower.len() == line.len() {
            lower
        } else {
            line.to_ascii_lowercase()
        };
        for &(label, kind, country) in LABELS {
            if let Some(value) = value_of(line, &lower, label, matches!(kind, Label::Vat)) {
                take(kind, value, country, homes, business);
            }
        }
        register(line, business);
        bare_vat(line, business);
    }
    if business.legal_name.is_none() && may_have_form(line) {
        business.legal_name = legal_name(line);
    }
}

fn take(kind: Label, value: &str, country: &str, homes: &[Region], business: &mut Business) {
    match kind {
        Label::Vat if business.vat_id.is_none() => {
            let vat = compact(value);
            let has_country =
                vat.len() > 2 && vat.as_bytes()[..2].iter().all(u8::is_ascii_uppercase);
            let home = homes.first().map_or("", |home| home.code());
            let country = if country.is_empty() || (country == "PT" && home == "ES") {
                home
            } else {
                country
            };
            business.vat_id = Some(if has_country {
                vat
            } else {
                format!("{country}{vat}")
            });
        }
        Label::Tax if business.tax_id.is_none() => business.tax_id = Some(value.trim().to_owned()),
        Label::Registration if business.registration.is_none() => {
            business.registration = Some(value.trim().to_owned())
        }
        _ => {}
    }
}

/// The number after a label, which may contain letters, blanks and punctuation.
fn value_of<'l>(
    line: &'l str,
    lower: &str,
    label: &str,
    may_have_letters: bool,
) -> Option<&'l str> {
    let is_whole =
        |at: usize| label.len() > 3 || !lower[at + label.len()..].starts_with(char::is_alphabetic);
    let mut places = lower.match_indices(label).map(|(at, _)| at);
    let at = places.find(|&at| !lower[..at].ends_with(char::is_alphanumeric) && is_whole(at))?;
    let rest = line.get(at + label.len()..)?;
    number_in(after_label(rest), may_have_letters)
}

/// The text without the rest of a label at its start: `-Nummer:`, ` no.:`, ` intracommunautaire :`.
fn after_label(rest: &str) -> &str {
    let colon = rest
        .find([':', '：', '\t'])
        .filter(|&colon| colon < 30 && !rest[..colon].bytes().any(|byte| byte.is_ascii_digit()));
    let rest = colon.map_or(rest, |colon| {
        &rest[colon + rest[colon..].chars().next().map_or(1, char::len_utf8)..]
    });
    rest.trim_start_matches([' ', '.', '\u{a0}', '-', ':', 'n', 'r', '°', 'º', '#'])
}

/// The number near the start of a text, with the letters in front of it if it may have some.
fn number_in(rest: &str, may_have_letters: bool) -> Option<&str> {
    let first = rest.find(|c: char| c.is_ascii_digit())?;
    let start = rest[..first]
        .rfind(|c: char| !(c.is_ascii_uppercase() || matches!(c, ' ' | '-' | '\u{a0}')))
        .map_or(0, |at| {
            at + rest[at..].chars().next().map_or(1, char::len_utf8)
        });
    if first > 14 || (start > 0 && start + 6 < first) {
        return None;
    }
    let start = if may_have_letters {
        start
    } else {
        first.min(start)
    };
    let value = number_at(&rest[start..]);
    // A separate word of capitals at the end is the next label.
    let value = match value.rsplit_once(' ') {
        Some((number, last)) if last.bytes().all(|byte| byte.is_ascii_uppercase()) => number,
        _ => value,
    };
    let n_digits = value.bytes().filter(u8::is_ascii_digit).count();
    ID_DIGITS.contains(&n_digits).then_some(value)
}

/// The digits, capitals and separators at the start of a text.
fn number_at(body: &str) -> &str {
    let mut end = 0;
    let mut n_letters = 0;
    for (at, character) in body.char_indices() {
        let is_digit = character.is_ascii_digit();
        if is_digit || character.is_ascii_uppercase() {
            n_letters = if is_digit { 0 } else { n_letters + 1 };
            if n_letters > 4 {
                break;
            }
            end = at + 1;
        } else if !matches!(character, ' ' | '.' | '-' | '/' | '\u{a0}')
            || body[at..].starts_with(" - ")
            || body[at..].starts_with(". ")
        {
            break;
        }
    }
    body[..end].trim()
}

/// Reads a register entry such as `HRB 28741` or `FN 413258 k`, with the court that keeps the
/// register.
fn register(line: &str, business: &mut Business) {
    if business.registration.is_some() {
        return;
    }
    for mark in ["HRB ", "HRA ", "VR ", "FN ", "RCS ", "REA "] {
        let Some(at) = line
            .find(mark)
            .filter(|&at| !line[..at].ends_with(char::is_alphanumeric))
        else {
            continue;
        };
        let rest = &line[at + mark.len()..];
        let end = rest
            .find([',', ';', '|', '·', '\t', '('])
            .unwrap_or(rest.len());
        let rest = rest[..end].split(" - ").next().unwrap_or_default().trim();
        let n_digits = rest.bytes().filter(u8::is_ascii_digit).count();
        if !(4..=12).contains(&n_digits) || rest.len() > 40 {
            continue;
        }
        let court = line[..at]
            .rsplit(['.', ':', '|'])
            .next()
            .unwrap_or_default()
            .trim()
            .trim_end_matches(',');
        let court = if court.to_lowercase().contains("gericht") {
            format!("{court}, ")
        } else {
            String::new()
        };
        business.registration = Some(format!("{court}{}{rest}", mark));
        return;
    }
}

/// Reads VAT numbers that are recognisable without a label.
fn bare_vat(line: &str, business: &mut Business) {
    if business.vat_id.is_some() {
        return;
    }
    for word in line.split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | ';' | '(' | ')'))
    {
        let bare = word.trim_end_matches('.');
        let digits = |from: usize| {
            bare.len() > from && bare.as_bytes()[from..].iter().all(u8::is_ascii_digit)
        };
        let is_swiss =
            bare.starts_with("CHE-") && bare.bytes().filter(u8::is_ascii_digit).count() == 9;
        let is_austrian = bare.starts_with("ATU") && bare.len() == 11 && digits(3);
        if is_swiss || is_austrian {
            business.vat_id = Some(compact(bare));
            return;
        }
    }
}

/// Whether a word of the line may end a legal form: a cheap check that spares most lines the
/// search.
fn may_have_form(line: &str) -> bool {
    let is_end = |form: &str, word: &str| {
        let before = form.strip_suffix(word);
        before.is_some_and(|before| before.is_empty() || before.ends_with(' '))
    };
    let ends_one = |word: &str| {
        let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_odd = !word
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, '.' | '/'));
        if word.is_empty() || is_plain && word != "plc" || is_odd || word.len() > 20 {
            return false;
        }
        let bare = word.trim_end_matches('.');
        LEGAL_FORMS
            .iter()
            .any(|form| is_end(form.text, word) || !bare.is_empty() && is_end(form.text, bare))
    };
    let marks = [',', ';', ':', '(', ')', '|'];
    let mut words = line
        .split([' ', '\t', '\u{a0}'])
        .map(|word| word.trim_matches(marks));
    words.any(ends_one)
        || !line.is_ascii()
            && LEGAL_FORMS.iter().any(|form| {
                !form.is_capitalised && !form.text.is_ascii() && line.contains(form.text)
            })
}

/// The company name up to its legal form: `Holzbau Brandner GmbH`.
fn legal_name(line: &str) -> Option<String> {
    let part_end = [',', '|', '·', ';', '\t', '©', ':', '–', '•'];
    line.split(part_end).find_map(|part| {
        let part = part.trim();
        let form = LEGAL_FORMS
            .iter()
            .filter_map(|LegalForm { text: form, .. }| {
                let at = part.find(form)?;
                let (before, after) = (&part[..at], &part[at + form.len()..]);
                let is_apart = !form.is_ascii()
                    || !after.starts_with(|c: char| c.is_alphanumeric())
                        && before.ends_with([' ', ',']);
                is_apart.then_some((at, form.len()))
            });
        let (at, length) = form.max_by_key(|(_, length)| *length)?;
        let name = part[..at + length].trim();
        let name =
            name.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ' ' | '-' | '.'));
        let n_words = name.split(' ').count();
        let is_east_asian = !name.is_ascii()
            && !LEGAL_FORMS
                .iter()
                .any(|form| form.is_capitalised && part[at..].starts_with(form.text));
        let name = if at == 0 { part } else { name };
        let is_begun = name
            .chars()
            .next()
            .is_some_and(|c| c.is_uppercase() || is_east_asian);
        let is_name =
            is_begun && (2..=9).contains(&n_words) || is_east_asian && name.chars().count() > 4;
        (is_name && name.len() <= NAME_BYTES_MAX).then(|| name.to_owned())
    })
}

/// A number without blanks and punctuation, in capitals.
pub(super) fn compact(text: &str) -> String {
    text.chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_uppercase()
}
