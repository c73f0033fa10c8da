//! People in structured data.

use serde_json::{Map, Value};
use trawl_embedded::{has_type, string};

use crate::emails::verify::{Trust, address};
use crate::found::Person;
use crate::page::{Page, folded};
use crate::phones::{self, Region};

/// Maximum number of people on one page.
const PEOPLE_MAX: usize = 200;
/// Maximum length of a name or role, in bytes.
const TEXT_BYTES_MAX: usize = 120;

/// Finds the people that the structured data of a page names.
pub(crate) fn find(page: &Page<'_>, homes: &[Region]) -> Vec<Person> {
    let mut found: Vec<Person> = Vec::new();
    let objects = page
        .objects()
        .filter(|object| has_type(object, &["Person"]));
    for person in objects.filter_map(|object| person(object, homes)) {
        let is_new = found.iter().all(|own| own.name != person.name);
        if is_new && found.len() < PEOPLE_MAX {
            found.push(person);
        }
    }
    found
}

fn person(object: &Map<String, Value>, homes: &[Region]) -> Option<Person> {
    let text = |name: &str| {
        let text = object.get(name).and_then(string).map(folded);
        text.filter(|text| (2..=TEXT_BYTES_MAX).contains(&text.len()))
    };
    let email = text("email");
    let email = email
        .as_deref()
        .map(|email| email.trim_start_matches("mailto:"));
    let phone = text("telephone").and_then(|phone| phones::read(&phone, homes));
    Some(Person {
        name: text("name")?,
        role: text("jobTitle"),
        email: email.and_then(|email| address(email, Trust::Declared)),
        phone: phone.map(|number| number.e164()),
    })
}
