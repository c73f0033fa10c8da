//! Phone numbers of a page: candidates from cheap checks, validated against the numbering plan of
//! their country.

mod candidates;
pub(crate) mod hint;
mod labels;
mod number;
mod pattern;
mod region;
mod shapes;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::found::Phone;
use crate::page::Page;
pub(crate) use candidates::digits_of;
use candidates::{Candidate, Trust};
pub(crate) use number::Number;
pub(crate) use region::Region;

/// Maximum number of phone numbers on one page; the first ones are reported.
const PHONES_MAX: usize = 500;

/// Maximum number of candidates on one page that are validated.
const CANDIDATES_MAX: usize = 5_000;

/// Finds the phone numbers of a page in page order, those of links and structured data first.
pub(crate) fn find(page: &Page<'_>, homes: &[Region]) -> Vec<Phone> {
    let mut phones = Phones::default();
    for (value, kind) in page.declared_phones() {
        if let Some(candidate) = Candidate::declared(&value, kind) {
            phones.take(&candidate, homes);
        }
    }
    for candidate in candidates::of_text(page.text()).take(CANDIDATES_MAX) {
        phones.take(&candidate, homes);
    }
    phones.found
}

/// Phone numbers without duplicates, in the order found.
#[derive(Default)]
struct Phones {
    found: Vec<Phone>,
    places: HashMap<String, usize>,
}

impl Phones {
    fn take(&mut self, candidate: &Candidate, homes: &[Region]) {
        for (number, extension) in candidate.numbers(homes) {
            // `00 00 00 00` is a sample in a form.
            let digits = number.e164();
            let mut last = digits.bytes().rev();
            let first = last.next();
            if last.take(6).all(|digit| Some(digit) == first) {
                continue;
            }
            self.add(&number, extension, candidate.kind);
        }
    }

    fn add(&mut self, number: &Number, extension: Option<String>, kind: Option<&'static str>) {
        let value = number.e164();
        if let Some(&place) = self.places.get(&value) {
            let known = &mut self.found[place];
            known.extension = known.extension.take().or(extension);
            if kind == Some("fax") && known.kind.as_deref() != Some("mobile") && !known.is_labelled
            {
                known.kind = kind.map(str::to_owned);
            }
            return;
        }
        if self.found.len() >= PHONES_MAX {
            return;
        }
        self.places.insert(value.clone(), self.found.len());
        self.found.push(Phone {
            value,
            national: number.written(),
            country: (number.region != "001").then(|| number.region.to_owned()),
            kind: kind.or(number.kind).map(str::to_owned),
            extension,
            is_labelled: kind.is_some_and(|kind| kind != "fax"),
        });
    }
}

/// Reads a number from a declared value or from the answer of a model.
pub(crate) fn read(text: &str, homes: &[Region]) -> Option<Number> {
    let candidate = Candidate::declared(text, None)?;
    candidate
        .numbers(homes)
        .into_iter()
        .next()
        .map(|(number, _)| number)
}

impl Trust {
    /// Whether a number of the right length counts even if no numbering plan lists it.
    fn takes_possible(self) -> bool {
        matches!(self, Self::Declared | Self::Labelled)
    }
}
