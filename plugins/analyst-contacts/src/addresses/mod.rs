//! Postal addresses: from structured data, and from lines with a postal code of a country in
//! question.

mod forms;
mod lines;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};
use trawl_sdk::embedded::{has_type, string};

use crate::found::Address;
use crate::page::{Page, folded};
use crate::phones::{Region, digits_of, hint};
use lines::in_line;

/// Maximum number of addresses on one page.
const ADDRESSES_MAX: usize = 100;
/// Maximum length of a line that is searched, in bytes.
const LINE_BYTES_MAX: usize = 400;

/// Finds the postal addresses of a page.
pub(crate) fn find(page: &Page<'_>, homes: &[Region]) -> Vec<Address> {
    let mut found = Addresses::default();
    for object in page.objects() {
        if has_type(object, &["PostalAddress"]) || object.contains_key("streetAddress") {
            found.add(structured(object));
        }
    }
    let text = with_ascii_digits(page.text());
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    for (at, line) in lines.iter().enumerate() {
        let may_hold =
            line.len() <= LINE_BYTES_MAX && line.bytes().filter(u8::is_ascii_digit).count() >= 2;
        if may_hold {
            let above = at.checked_sub(1).map_or("", |above| lines[above]);
            let second = at.checked_sub(2).map_or("", |above| lines[above]);
            found.add(in_line(line, above, second, homes));
            for address in further_in_line(line, above, homes) {
                found.add(Some(address));
            }
        }
    }
    found.found
}

/// The text with the digits of other scripts converted to ASCII.
fn with_ascii_digits(text: &str) -> Cow<'_, str> {
    let is_other = |c: char| matches!(c, '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}' | '\u{966}'..='\u{96f}' | '\u{ff10}'..='\u{ff19}');
    if !text.contains(is_other) {
        return Cow::Borrowed(text);
    }
    let ascii = |c: char| match digits_of(c.encode_utf8(&mut [0; 4])).chars().next() {
        Some(digit) => digit,
        None => c,
    };
    Cow::Owned(text.chars().map(ascii).collect())
}

/// The further addresses of a line that lists several places.
fn further_in_line(line: &str, above: &str, homes: &[Region]) -> Vec<Address> {
    let parts: Vec<&str> = line.split(['|', '\u{b7}', ';', '–']).collect();
    if parts.len() < 2 {
        return Vec::new();
    }
    parts
        .into_iter()
        .filter_map(|part| in_line(part.trim(), above, "", homes))
        .collect()
}

fn structured(object: &Map<String, Value>) -> Option<Address> {
    let text = |name: &str| {
        object
            .get(name)
            .and_then(string)
            .map(folded)
            .filter(|text| text.len() < LINE_BYTES_MAX)
    };
    let country = object
        .get("addressCountry")
        .and_then(|country| string(country).or_else(|| string(country.get("name")?)));
    let address = Address {
        street: text("streetAddress"),
        postal_code: text("postalCode"),
        city: text("addressLocality"),
        region: text("addressRegion"),
        country: country.map(|country| hint::code_of(country).unwrap_or(country).to_owned()),
        ..Address::default()
    };
    let is_enough =
        address.street.is_some() || (address.postal_code.is_some() && address.city.is_some());
    is_enough.then(|| with_text(address))
}

fn with_text(mut address: Address) -> Address {
    let town = [&address.postal_code, &address.city]
        .into_iter()
        .flatten()
        .cloned()
        .collect::<Vec<_>>()
        .join(" ");
    let parts = [
        address.street.clone(),
        Some(town),
        address.region.clone(),
        address.country.clone(),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    address.text = parts.join(", ");
    address
}

/// Addresses without duplicates.
#[derive(Default)]
struct Addresses {
    found: Vec<Address>,
    seen: HashSet<String>,
}

/// The deduplication key of an address: postal code and digits of the street, which vary less than
/// the spelling; without them, all letters and digits.
pub(crate) fn key(address: &Address) -> String {
    let digits = |text: &Option<String>| {
        text.iter()
            .flat_map(|text| text.chars())
            .filter(|c| c.is_alphanumeric())
            .collect::<String>()
            .to_lowercase()
    };
    match (&address.postal_code, &address.street) {
        (Some(_), Some(street)) => {
            let numbers: String = street.chars().filter(char::is_ascii_digit).collect();
            format!("{} {numbers}", digits(&address.postal_code))
        }
        _ => address
            .text
            .chars()
            .filter(|c| c.is_alphanumeric())
            .collect::<String>()
            .to_lowercase(),
    }
}

impl Addresses {
    fn add(&mut self, address: Option<Address>) {
        if let Some(address) = address
            && self.found.len() < ADDRESSES_MAX
            && self.seen.insert(key(&address))
        {
            self.found.push(address);
        }
    }
}
