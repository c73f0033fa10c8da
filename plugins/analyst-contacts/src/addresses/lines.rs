//! Postal addresses in lines of text, found by their postal codes.

use super::forms::{FORMS, Town, codes};
use super::with_text;
use crate::found::Address;
use crate::phones::Region;

/// Maximum length of a street and of a town, in bytes.
const STREET_BYTES_MAX: usize = 90;
const TOWN_BYTES_MAX: usize = 45;
/// Maximum length of a label in front of an address, in bytes.
const LABEL_BYTES_MAX: usize = 30;
/// Maximum number of parts between a street and its town: a quarter, a floor.
const PARTS_MAX: usize = 2;
/// The Japanese postal mark: `〒150-0002 東京都…` is an address on the pages of any country.
const JAPAN: &str = "〒";

/// The address in a line; the street may be in one of the two lines above.
pub(super) fn in_line(line: &str, above: &str, second: &str, homes: &[Region]) -> Option<Address> {
    if let Some((_, rest)) = line.split_once(JAPAN) {
        return japanese(rest);
    }
    if let Some(marked) = marked(line).or_else(|| taiwanese(line)) {
        return Some(marked);
    }
    let forms = homes.iter().flat_map(|home| {
        FORMS
            .iter()
            .filter(|form| form.countries.contains(&home.code()))
            .map(|form| (home.code(), form))
    });
    for (country, form) in forms {
        for (start, end) in codes(line, form.code) {
            let read = match form.town {
                Town::After => town_after(line, start, end, above, country),
                Town::Before => town_before(line, start, end, (above, second), country),
            };
            if read.is_some() {
                return read;
            }
        }
    }
    None
}

/// An address with a labelled postal code: `地址:… 邮编:200120`, `… (우) 06133`.
fn marked(line: &str) -> Option<Address> {
    let marks = [
        ("邮编", "CN"),
        ("邮政编码", "CN"),
        ("郵遞區號", "TW"),
        ("우편번호", "KR"),
        ("(우)", "KR"),
        ("우)", "KR"),
    ];
    let (at, mark, country) = marks
        .into_iter()
        .find_map(|(mark, country)| Some((line.find(mark)?, mark, country)))?;
    let rest = line[at + mark.len()..].trim_start_matches([' ', ':', '：', ')']);
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let place = line[..at]
        .rsplit([':', '：', '|', '\t'])
        .next()
        .unwrap_or_default();
    let place = place.trim().trim_end_matches(['(', '（', ' ']);
    let is_place = (5..=6).contains(&n_digits) && (6..STREET_BYTES_MAX * 2).contains(&place.len());
    is_place.then(|| Address {
        text: format!("{place} {}", &rest[..n_digits]),
        postal_code: Some(rest[..n_digits].to_owned()),
        country: Some(country.to_owned()),
        ..Address::default()
    })
}

/// A Taiwanese address: `106 台北市大安區青田里17號2樓`, postal code, county or city, house number.
fn taiwanese(line: &str) -> Option<Address> {
    let line = line.trim();
    let code = &line[..line.bytes().take_while(u8::is_ascii_digit).count()];
    let place = line[code.len()..].trim();
    let end = place.find(['縣', '市']).map(|at| at + '市'.len_utf8())?;
    let is_address = matches!(code.len(), 3 | 5 | 6)
        && end <= 4 * '市'.len_utf8()
        && place.contains(['號', '号'])
        && place.len() < STREET_BYTES_MAX * 2;
    is_address.then(|| Address {
        text: format!("{code} {place}"),
        street: Some(place[end..].to_owned()),
        postal_code: Some(code.to_owned()),
        city: Some(place[..end].to_owned()),
        region: None,
        country: Some("TW".to_owned()),
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
fn town_after(line: &str, start: usize, end: usize, above: &str, country: &str) -> Option<Address> {
    let town = town_of(line[end..].trim_start_matches([' ', '\u{a0}', ',', '–']))?;
    let mut before = line[..start].trim_end();
    // `CH-3012`
    if let Some(rest) = before.strip_suffix('-') {
        before = rest.trim_end_matches(|c: char| c.is_ascii_uppercase());
    }
    let before = before.trim_end_matches([' ', ',', '-', '–', '·', '|', '\u{a0}']);
    let before = without_code_label(before);
    let mut street =
        street_before(before).or_else(|| before.is_empty().then(|| street_before(above)).flatten());
    if street.is_none() {
        // The town may come first: `1052 Budapest, Váci utca 12.`
        street = street_after(&line[end..]);
    }
    // Without a street, a code with a word after it proves nothing.
    let is_marked = street.is_some() || line[..start].ends_with('-');
    (is_marked && !town.is_empty()).then(|| {
        with_text(Address {
            street,
            postal_code: Some(line[start..end].to_owned()),
            city: Some(town),
            country: Some(country.to_owned()),
            ..Address::default()
        })
    })
}

/// The text in front of a postal code, without a label such as `Postal code:`.
fn without_code_label(before: &str) -> &str {
    let bare = before.trim_end_matches([':', '.', ' ']);
    let label = ["CEP", "PLZ", "PSČ", "CAP", "C.P", "CP", "P.K"]
        .iter()
        .find_map(|label| bare.strip_suffix(label))
        .filter(|rest| !rest.ends_with(char::is_alphanumeric));
    label.map_or(before, |rest| {
        rest.trim_end_matches([' ', ',', '-', '–', '·'])
    })
}

/// An address such as `118 Commercial St, Suite 4, Portland, ME 04101`; parts of it may be in the
/// lines above.
fn town_before(
    line: &str,
    start: usize,
    end: usize,
    (above, second): (&str, &str),
    country: &str,
) -> Option<Address> {
    let marks = [' ', ',', '-', '–', '\u{a0}', '.', '('];
    let mut before = line[..start].trim_end_matches(marks);
    let mut region = None;
    let (rest, last) = before.rsplit_once([' ', ',', '(']).unwrap_or(("", before));
    let last_word = last.trim_end_matches(')');
    let is_state = (2..=3).contains(&last_word.len())
        && last_word.bytes().all(|byte| byte.is_ascii_uppercase());
    let needs_state = matches!(country, "US" | "AU");
    if is_state && country != "GB" {
        region = Some(last_word.to_owned());
        before = rest.trim_end_matches(marks);
    } else if needs_state {
        return None;
    }
    let mut parts = parts_of(before);
    if parts.len() < 2 {
        let above = [second, above]
            .into_iter()
            .filter(|line| !line.is_empty() && line.len() < STREET_BYTES_MAX);
        let own = std::mem::take(&mut parts);
        parts = above.flat_map(parts_of).chain(own).collect();
    }
    let mut town = parts.pop()?;
    let street = match parts.iter().rposition(|part| is_street(part)) {
        Some(at) => Some(street_from(&parts, at)),
        // The town may follow its street without a comma.
        None if is_street(&town) && region.is_some() => {
            let (street, last) = town.rsplit_once(' ')?;
            let street = street.to_owned();
            town = last.to_owned();
            Some(street)
        }
        None => None,
    };
    let town = town.trim();
    let is_town = town.len() <= TOWN_BYTES_MAX
        && town
            .chars()
            .next()
            .is_some_and(|c| c.is_alphabetic() && !c.is_lowercase())
        && !town.chars().any(|c| c.is_ascii_digit());
    let is_sure = street.is_some() || country == "GB" || country == "CA" || country == "IE";
    (is_town && is_sure).then(|| {
        with_text(Address {
            street,
            postal_code: Some(line[start..end].to_owned()),
            city: Some(town.to_owned()),
            region,
            country: Some(country.to_owned()),
            ..Address::default()
        })
    })
}

/// Splits an address at its commas; a house number stays with its street.
fn parts_of(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    // A number with a full stop ends the sentence in front of the address.
    let ends = text
        .match_indices(". ")
        .filter(|&(at, _)| text[..at].ends_with(|c: char| c.is_ascii_digit()));
    let text = ends.last().map_or(text, |(at, _)| &text[at + 2..]);
    // `Office: 126 W. Granite St., Butte`
    let text = match text.split_once(": ") {
        Some((label, rest)) if label.len() < LABEL_BYTES_MAX && !label.contains([',', '.']) => rest,
        _ => text,
    };
    for part in text
        .split([',', '،', '|', '·', '–'])
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

/// The street with the parts between it and the town: a suite, a floor.
fn street_from(parts: &[String], at: usize) -> String {
    let first = if at > 0 && is_street(&parts[at - 1]) {
        at - 1
    } else {
        at
    };
    parts[first..]
        .iter()
        .take(3)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ")
}

/// The last part of a text that is a street, with the parts after it.
fn street_before(text: &str) -> Option<String> {
    let mut street = last_part(text)?;
    for _ in 0..PARTS_MAX {
        if is_street(street) {
            return Some(street.to_owned());
        }
        let before = text[..street.as_ptr() as usize - text.as_ptr() as usize]
            .trim_end()
            .trim_end_matches([',', '·', '|']);
        let longer = last_part(before)?;
        street = &text[longer.as_ptr() as usize - text.as_ptr() as usize..];
        street = street.trim_end();
    }
    None
}

/// The street after a town and a comma.
fn street_after(text: &str) -> Option<String> {
    let (_, rest) = text.trim_start_matches([',', ' ']).split_once(',')?;
    let text = rest.trim_start();
    // `г. Санкт-Петербург, ул. Садовая, д. 12`
    let parts = text.split(',').map(str::trim).take(PARTS_MAX + 1);
    let mut street = String::new();
    for part in parts {
        if !street.is_empty() {
            street.push_str(", ");
        }
        // A number with a full stop ends the street and its sentence.
        let end = part.match_indices(". ").find(|&(at, _)| {
            part[..at].ends_with(|c: char| c.is_ascii_digit()) && part.contains(':')
        });
        let part = end.map_or(part, |(at, _)| &part[..at]);
        street.push_str(part.trim_end_matches('.'));
        if is_street(&street) {
            return Some(street);
        }
    }
    None
}

/// The town at the start of a text.
fn town_of(text: &str) -> Option<String> {
    let marks = ["г. ", "м. "];
    let bare = marks.iter().find_map(|mark| text.strip_prefix(mark));
    let text = bare.unwrap_or(text);
    let end = text
        .find([',', '.', ';', '|', '·', '(', '\t', '–', '/', ':', '<'])
        .unwrap_or(text.len());
    let text = text[..end].split(" - ").next().unwrap_or_default().trim();
    let words: Vec<&str> = text
        .split(' ')
        .take_while(|word| {
            let is_small = matches!(
                *word,
                "am" | "an"
                    | "der"
                    | "im"
                    | "in"
                    | "bei"
                    | "ob"
                    | "la"
                    | "de"
                    | "du"
                    | "sur"
                    | "en"
                    | "del"
                    | "do"
                    | "da"
                    | "das"
                    | "dos"
                    | "den"
                    | "v"
                    | "nad"
            );
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

/// The last part of a text, with the house number if a comma separates it from its street.
fn last_part(text: &str) -> Option<&str> {
    let mut end = text.len();
    loop {
        // The separator and the offset after it: `·` takes more than one byte.
        let (at, start) = text[..end]
            .rmatch_indices([',', '|', '·', ';', '\t', ':'])
            .next()
            .map_or((0, 0), |(at, separator)| (at, at + separator.len()));
        let part = text[start..].trim();
        let has_letters = part.chars().filter(|c| c.is_alphabetic()).count() > 2 || is_box(part);
        if has_letters || start == 0 {
            // `Vestergade 18, 2. sal`: the floor is not the street.
            let is_floor = part.starts_with(|c: char| c.is_ascii_digit())
                && (part.contains(". ") || part.contains('º'));
            if is_floor && start > 0 {
                end = at;
                continue;
            }
            return Some(part).filter(|part| !part.is_empty() && part.len() <= STREET_BYTES_MAX);
        }
        end = at;
    }
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
