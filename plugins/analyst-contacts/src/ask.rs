//! The question to the model, and the merge of the answers that occur on the page.

use analyst_base::{Prompt, prompt_of};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use trawl_sdk::analyst::{Model, Question};

use crate::emails::verify::{Trust, address};
use crate::found::{Address, Business, Email, Found, Person, Phone};
use crate::grounding::Text;
use crate::phones::{self, Region};
use crate::{Options, addresses};

/// Maximum bytes of the page text in the prompt: contacts are short, and tokens cost money.
const TEXT_BYTES_MAX: usize = 24_000;
/// Lines of context around a line that may contain a contact.
const LINES_AROUND: usize = 2;
/// Maximum number of entries that are read from one list of the answer.
const ENTRIES_MAX: usize = 100;

const RULES: &str = "You extract contact facts from the text of one web page. Answer by the schema and with nothing else. \
    Take only what stands in the text, spelled as there; leave out what is not there, and never guess. E-mail addresses may \
    be said in words: write them as addresses.";

/// Signs that a contact is near.
const SIGNS: [&str; 16] = [
    "@", "mail", "tel", "phone", "fon", "fax", "contact", "kontakt", "director", "manager",
    "gesch", "ceo", "founder", "street", "str.", " at ",
];

/// The question about a page with this text; `None` if it has none.
pub(crate) fn question(text: &str, options: &Options, model: Model) -> Option<Question> {
    let request = match prompt_of(options.prompt.as_deref()) {
        Some(prompt) => format!("Find the contacts. What the caller is after: {prompt}"),
        None => "Find the contacts.".to_owned(),
    };
    let prompt = Prompt::new(model, RULES, request, schema(), model.answer_tokens);
    let text = excerpt(text, prompt.room.bytes().min(TEXT_BYTES_MAX));
    (!text.trim().is_empty()).then(|| prompt.about(&text))
}

/// The JSON schema of the answer.
fn schema() -> Value {
    let object = |names: &[&str], required: &[&str]| {
        let text = || json!({"type": "string", "maxLength": 300});
        let properties: Map<String, Value> = names
            .iter()
            .map(|name| ((*name).to_owned(), text()))
            .collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    };
    let list = |items: Value| json!({"type": "array", "maxItems": ENTRIES_MAX, "items": items});
    let address = ["street", "postal_code", "city", "region", "country"];
    let business = ["name", "legal_name", "vat_id", "tax_id", "registration"];
    json!({"type": "object", "additionalProperties": false,
    "required": ["emails", "phones", "people", "addresses", "business"],
    "properties": {
        "emails": list(object(&["value", "name"], &["value"])),
        "phones": list(object(&["value", "extension"], &["value"])),
        "people": list(object(&["name", "role", "email", "phone"], &["name"])),
        "addresses": list(object(&address, &[])),
        "business": object(&business, &[]),
    }})
}

/// The text, or only the lines around signs of contacts if it exceeds `room` bytes.
fn excerpt(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut is_selected = vec![false; lines.len()];
    for (at, line) in lines.iter().enumerate() {
        let lower = line.to_lowercase();
        let n_digits = line.bytes().filter(u8::is_ascii_digit).count();
        if n_digits > 4 || SIGNS.iter().any(|sign| lower.contains(sign)) {
            let last = (at + LINES_AROUND).min(lines.len() - 1);
            is_selected[at.saturating_sub(LINES_AROUND)..=last].fill(true);
        }
    }
    let mut excerpt = String::new();
    for (line, is_selected) in lines.iter().zip(is_selected) {
        let end = line.floor_char_boundary(line.len().min(500));
        if is_selected && excerpt.len() + end < room {
            excerpt.push_str(&line[..end]);
            excerpt.push('\n');
        }
    }
    excerpt
}

/// The answer of the model.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Answer {
    emails: Vec<Email>,
    phones: Vec<Phone>,
    people: Vec<Person>,
    addresses: Vec<Address>,
    business: Business,
}

/// Adds those parts of the answer that occur on the page and are not in the findings yet.
pub(crate) fn merge(found: &mut Found, answer: Answer, text: &str, homes: &[Region]) {
    let text = Text::of(text);
    for email in answer.emails.into_iter().take(ENTRIES_MAX) {
        add_email(found, &email, &text);
    }
    for phone in answer.phones.into_iter().take(ENTRIES_MAX) {
        add_phone(found, &phone, &text, homes);
    }
    for person in answer.people.into_iter().take(ENTRIES_MAX) {
        add_person(found, person, &text, homes);
    }
    for address in answer.addresses.into_iter().take(ENTRIES_MAX) {
        add_address(found, address, &text);
    }
    let (own, answered) = (&mut found.business, answer.business);
    for (own, part) in [
        (&mut own.name, answered.name),
        (&mut own.legal_name, answered.legal_name),
        (&mut own.vat_id, answered.vat_id),
        (&mut own.tax_id, answered.tax_id),
        (&mut own.registration, answered.registration),
    ] {
        if own.is_none() {
            *own = part.filter(|part| text.has(part));
        }
    }
}

fn add_email(found: &mut Found, email: &Email, text: &Text) {
    let Some(value) = address(&email.value, Trust::Shown).filter(|value| text.has_address(value))
    else {
        return;
    };
    let name = email.name.clone().filter(|name| text.has(name));
    match found
        .emails
        .iter_mut()
        .find(|own| own.value.eq_ignore_ascii_case(&value))
    {
        Some(own) => own.name = own.name.take().or(name),
        None => found.emails.push(Email {
            value,
            sources: vec!["model".to_owned()],
            name,
        }),
    }
}

fn add_phone(found: &mut Found, phone: &Phone, text: &Text, homes: &[Region]) {
    let number = phones::read(&phone.value, homes).filter(|number| number.kind.is_some());
    let Some(number) = number.filter(|number| text.has_digits(&number.national)) else {
        return;
    };
    let value = number.e164();
    let extension = phone
        .extension
        .clone()
        .filter(|extension| !extension.is_empty() && text.has(extension));
    match found.phones.iter_mut().find(|own| own.value == value) {
        Some(own) => own.extension = own.extension.take().or(extension),
        None => found.phones.push(Phone {
            value,
            national: number.written(),
            country: (number.region != "001").then(|| number.region.to_owned()),
            kind: number.kind.map(str::to_owned),
            extension,
            is_labelled: false,
        }),
    }
}

fn add_person(found: &mut Found, person: Person, text: &Text, homes: &[Region]) {
    if !text.has(&person.name) || person.name.trim().chars().count() < 2 {
        return;
    }
    let role = person.role.filter(|role| text.has(role));
    let email = person
        .email
        .and_then(|email| address(&email, Trust::Shown))
        .filter(|email| {
            let is_known = found
                .emails
                .iter()
                .any(|own| own.value.eq_ignore_ascii_case(email));
            is_known || text.has_address(email)
        });
    let phone = person
        .phone
        .and_then(|phone| phones::read(&phone, homes))
        .filter(|number| text.has_digits(&number.national));
    let phone = phone.map(|number| number.e164());
    match found
        .people
        .iter_mut()
        .find(|own| own.name.eq_ignore_ascii_case(person.name.trim()))
    {
        Some(own) => {
            own.role = own.role.take().or(role);
            own.email = own.email.take().or(email);
            own.phone = own.phone.take().or(phone);
        }
        None => found.people.push(Person {
            name: person.name.trim().to_owned(),
            role,
            email,
            phone,
        }),
    }
}

fn add_address(found: &mut Found, address: Address, text: &Text) {
    let grounded =
        |part: Option<String>| part.filter(|part| !part.trim().is_empty() && text.has(part));
    let mut address = Address {
        street: grounded(address.street),
        postal_code: grounded(address.postal_code),
        city: grounded(address.city),
        region: grounded(address.region),
        country: grounded(address.country),
        text: String::new(),
    };
    let is_enough =
        address.city.is_some() && (address.street.is_some() || address.postal_code.is_some());
    let parts = [
        &address.street,
        &address.postal_code,
        &address.city,
        &address.region,
        &address.country,
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    let is_new = found
        .addresses
        .iter()
        .all(|own| addresses::key(own) != addresses::key(&address));
    address.text = parts.join(", ");
    if is_enough && is_new {
        found.addresses.push(address);
    }
}
