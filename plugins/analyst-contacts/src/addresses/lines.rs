//! Postal addresses in lines of text, found by their postal codes.

use analyst_base::lists;

use super::forms::{BOX, Form, Town, codes};
use super::with_text;
use crate::found::Address;
use crate::phones::hint;
use crate::words::{FAXES, MOBILES, PHONES};

/// Maximum length of a street and of a town, in bytes.
const STREET_BYTES_MAX: usize = 90;
const TOWN_BYTES_MAX: usize = 45;
/// Maximum length of a label in front of an address, in bytes.
const LABEL_BYTES_MAX: usize = 30;
/// Maximum number of parts of a street: its number, a quarter, a floor.
const PARTS_MAX: usize = 3;
/// Words for a town in front of its name.
const TOWNS: [&str; 8] = ["м.", "г.", "с.", "смт", "пгт", "г ", "м ", "місто "];
/// Ends of the names of regions, which may stand between a code and its town.
const REGIONS: [&str; 7] = [
    "обл.",
    "область",
    "р-н",
    "район",
    "край",
    "обл",
    "республика",
];
/// Words for a post office box, in lower case.
const BOXES: [&str; 5] = ["p.o. box", "po box", "p.o.box", "p. o. box", "pobox"];
/// Words inside the names of towns that have no capital.
const SMALL_WORDS: &str = "am an der im in bei ob la de du sur en del do da das dos den v nad";
/// The Japanese postal mark: `〒150-0002 東京都…` is an address on the pages of any country.
const JAPAN: &str = "〒";

/// The address in a line; the street may be in one of the two lines above.
pub(super) fn in_line(line: &str, above: &str, second: &str, forms: &[Form]) -> Option<Address> {
    if let Some((_, rest)) = line.split_once(JAPAN) {
        return japanese(rest);
    }
    forms.iter().find_map(|form| {
        if form.code == BOX {
            return boxed(line, form.country);
        }
        codes(line, form.code).find_map(|code| match form.town {
            Town::AfterCode => town_after(line, code, above, form.country),
            Town::BeforeCode => town_before(line, code, (above, second), form),
            Town::BeforeStreet => town_first(line, code, form.country),
        })
    })
}

fn japanese(rest: &str) -> Option<Address> {
    let rest = rest.trim_start_matches([' ', '\u{3000}']);
    let code: String = rest
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '-')
        .collect();
    let place = rest[code.len()..]
        .trim()
        .split(['\t', '\n'])
        .next()
        .unwrap_or_default();
    let is_code = code.len() == 8 && code.as_bytes()[3] == b'-' && !place.is_empty();
    // The characters that end prefectures and towns delimit them.
    let end = place
        .char_indices()
        .find(|(at, c)| matches!(c, '市' | '区' | '町' | '村') && *at > 6)
        .map(|(at, c)| at + c.len_utf8());
    let (city, street) = place.split_at(end.unwrap_or(0));
    is_code.then(|| Address {
        text: format!("〒{code} {place}"),
        street: Some(street.trim().to_owned()).filter(|street| !street.is_empty()),
        postal_code: Some(code.clone()),
        city: Some(city.to_owned()).filter(|city| !city.is_empty()),
        region: None,
        country: Some("JP".to_owned()),
    })
}

/// An address such as `Lindenallee 14, 04109 Leipzig`; the street may be in the line above.
fn town_after(line: &str, code: (usize, usize), above: &str, country: &str) -> Option<Address> {
    let town = town_of(line[code.1..].trim_start_matches([' ', '\u{a0}', ',', '–']))?;
    // `Riyadh 11564, Saudi Arabia`; the town of `06600 México` is one.
    if hint::code_of(&town).is_some() && country != "MX" {
        return None;
    }
    let mut before = line[..code.0].trim_end();
    // `CH-3012`
    let is_marked = before.ends_with('-');
    if let Some(rest) = before.strip_suffix('-') {
        before = rest.trim_end_matches(|c: char| c.is_ascii_uppercase());
    }
    let before = before.trim_end_matches([' ', ',', '-', '–', '·', '|', '\u{a0}']);
    let street = street_in(&parts_of(if before.is_empty() { above } else { before }));
    // Without a street, a code with a word after it proves nothing.
    (street.is_some() || is_marked).then(|| {
        with_text(Address {
            street,
            postal_code: Some(line[code.0..code.1].to_owned()),
            city: Some(town),
            country: Some(country.to_owned()),
            ..Address::default()
        })
    })
}

/// An address such as `118 Commercial St, Suite 4, Portland, ME 04101`; parts of it may be in the
/// lines above.
fn town_before(
    line: &str,
    code: (usize, usize),
    (above, second): (&str, &str),
    form: &Form,
) -> Option<Address> {
    let marks = [' ', ',', '-', '–', '\u{a0}', '.', '('];
    let mut before = line[..code.0].trim_end_matches(marks);
    let (rest, last) = before.rsplit_once([' ', ',', '(']).unwrap_or(("", before));
    let last = last.trim_end_matches(')');
    let is_state = (2..=3).contains(&last.len())
        && last.bytes().all(|byte| byte.is_ascii_uppercase())
        && form.country != "GB";
    if is_state {
        before = rest.trim_end_matches(marks);
    } else if matches!(form.country, "US" | "AU") {
        return None;
    }
    let mut parts = parts_of(before);
    if parts.len() < 2 {
        let above = [second, above].into_iter();
        let above = above.filter(|line| !line.is_empty() && line.len() < STREET_BYTES_MAX);
        parts = above.flat_map(parts_of).chain(parts).collect();
    }
    let town = parts.pop()?;
    // The town may follow its street without a comma.
    let (street, town) = match (street_in(&parts), town.rsplit_once(' ')) {
        (None, Some((own, last))) if is_state && is_street(&town) => (Some(own.to_owned()), last),
        (street, _) => (street, town.trim()),
    };
    let is_named = |c: char| c.is_alphabetic() && !c.is_lowercase();
    let is_town = town.len() <= TOWN_BYTES_MAX
        && town.starts_with(is_named)
        && !town.contains(|c: char| c.is_ascii_digit());
    let is_distinct = matches!(form.country, "GB" | "CA" | "IE") && !form.is_foreign;
    (is_town && (street.is_some() || is_distinct)).then(|| {
        with_text(Address {
            street,
            postal_code: Some(line[code.0..code.1].to_owned()),
            city: Some(town.to_owned()),
            region: is_state.then(|| last.to_owned()),
            country: Some(form.country.to_owned()),
            ..Address::default()
        })
    })
}

/// An address such as `01001, м. Київ, вул. Хрещатик, 22`, in a line of its own or after a label.
fn town_first(line: &str, code: (usize, usize), country: &str) -> Option<Address> {
    let before = line[..code.0].trim_end();
    if !before.is_empty() && !before.ends_with(':') {
        return None;
    }
    let parts = parts_of(&line[code.1..]);
    let is_region = |part: &str| {
        let part = part.to_lowercase();
        REGIONS.iter().any(|end| part.ends_with(end)) || hint::code_of(&part).is_some()
    };
    let mut parts = parts.iter().skip_while(|part| is_region(part));
    let named = parts.next()?;
    let mut words = TOWNS.iter();
    let town = words.find_map(|word| named.strip_prefix(word));
    let town = town_of(town.unwrap_or(named).trim_start())?;
    let mut street = Vec::new();
    for part in parts.take(PARTS_MAX) {
        street.push(part.as_str());
        if part.contains(|c: char| c.is_ascii_digit()) {
            break;
        }
    }
    let street = Some(street.join(", ")).filter(|street| is_street(street))?;
    Some(with_text(Address {
        street: Some(street),
        postal_code: Some(line[code.0..code.1].to_owned()),
        city: Some(town),
        country: Some(country.to_owned()),
        ..Address::default()
    }))
}

/// An address such as `P.O. Box 12345, Dubai`.
fn boxed(line: &str, country: &str) -> Option<Address> {
    let lower = line.to_ascii_lowercase();
    let places = BOXES
        .iter()
        .filter_map(|word| Some((lower.find(word)?, word.len())));
    let (at, length) = places.min()?;
    if line[..at].ends_with(char::is_alphanumeric) {
        return None;
    }
    let rest = line[at + length..].trim_start_matches([' ', ':', '.', '#', '\u{a0}']);
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = rest.split_at_checked(n_digits).filter(|_| n_digits > 0)?;
    let rest = hint::before_name(rest);
    let after = town_of(rest.trim_start_matches([' ', ',', '-', '–', '|', '\u{a0}']));
    let mut parts = parts_of(&line[..at]);
    let town = match after.filter(|town| !is_label(town)) {
        Some(town) => town,
        // `Dubai, P.O. Box 12345, Tel. …`
        None => parts.pop().and_then(|part| town_of(&part))?,
    };
    parts.push(format!("{} {number}", &line[at..at + length]));
    Some(with_text(Address {
        street: Some(street_in(&parts)?),
        city: Some(town),
        country: Some(country.to_owned()),
        ..Address::default()
    }))
}

/// Whether a text is a label of what follows an address.
fn is_label(text: &str) -> bool {
    let text = text.to_lowercase();
    [PHONES, MOBILES, FAXES, "email e-mail"]
        .iter()
        .any(|words| lists(words, &text))
}

/// Splits an address at its commas; a house number stays with its street.
fn parts_of(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    // A number with a full stop ends the sentence in front of the address; `2. sal` is a floor.
    let ends = text.match_indices(". ").filter(|&(at, _)| {
        let digits = text[..at].bytes().rev().take_while(u8::is_ascii_digit);
        digits.count() > 2
    });
    let text = ends.last().map_or(text, |(at, _)| &text[at + 2..]);
    // `Office: 126 W. Granite St., Butte`
    let text = match text.split_once(": ") {
        Some((label, rest)) if label.len() < LABEL_BYTES_MAX && !label.contains([',', '.']) => rest,
        _ => text,
    };
    for part in text
        .split([',', '،', '|', '·', '–', ';', '\t'])
        .flat_map(|part| part.split(" - "))
        .map(str::trim)
    {
        let is_number = part.starts_with(|c: char| c.is_ascii_digit())
            && !part.chars().any(char::is_alphabetic);
        // `14, MG Road`: the house number may come first.
        let is_after_number = parts.len() == 1 && parts[0].bytes().all(|b| b.is_ascii_digit());
        match parts.last_mut() {
            _ if part.is_empty() => {}
            Some(last) if is_number || is_after_number => *last = format!("{last}, {part}"),
            _ => parts.push(part.to_owned()),
        }
    }
    parts
}

/// The last street of an address, with the parts between it and the town: a suite, a floor.
fn street_in(parts: &[String]) -> Option<String> {
    let at = parts.iter().rposition(|part| is_street(part))?;
    let is_second = at > 0 && is_street(&parts[at - 1]);
    let mut street = parts[if is_second { at - 1 } else { at }..].to_vec();
    street.truncate(PARTS_MAX);
    Some(street.join(", "))
}

/// The town at the start of a text.
fn town_of(text: &str) -> Option<String> {
    let end = text
        .find([',', '.', ';', '|', '·', '(', '\t', '–', '/', ':', '<'])
        .unwrap_or(text.len());
    let text = text[..end].split(" - ").next().unwrap_or_default().trim();
    let words: Vec<&str> = text
        .split(' ')
        .take_while(|word| {
            let is_small = lists(SMALL_WORDS, word);
            is_small
                || word
                    .chars()
                    .next()
                    .is_some_and(|c| c.is_uppercase() || c == '\'')
                || word.bytes().all(|byte| byte.is_ascii_digit()) && word.len() <= 2
        })
        .take(5)
        .collect();
    let is_code =
        |word: &str| word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_named = words.first().is_some_and(|word| {
        word.chars().filter(|c| c.is_alphabetic()).count() > 1 && !is_code(word)
    });
    let town = words.join(" ");
    (is_named && town.len() <= TOWN_BYTES_MAX).then_some(town)
}

/// Whether a text is a post office box.
fn is_box(text: &str) -> bool {
    ["PL ", "PB ", "BP ", "CP ", "PF "]
        .iter()
        .any(|word| text.starts_with(word))
}

/// Whether a text is a street with its house number, or a post office box.
fn is_street(text: &str) -> bool {
    let n_digits = text.bytes().filter(u8::is_ascii_digit).count();
    let n_letters = text.chars().filter(|c| c.is_alphabetic()).count();
    // `Badem Sokak No: 41`
    let has_label = text.contains(':') && !text.contains("No:");
    (1..=7).contains(&n_digits)
        && (n_letters >= 3 || is_box(text))
        && text.len() <= STREET_BYTES_MAX
        && !has_label
        && !text.contains(['@', '€', '$', '%'])
}
