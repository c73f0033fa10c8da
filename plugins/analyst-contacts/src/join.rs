//! Joins the findings of all pages of a run into one list without duplicates.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use trawl_sdk::analyst::Finding;

use crate::addresses;
use crate::found::Found;
use crate::page::folded;

/// Maximum number of contacts of a run, and of pages listed for one: a footer is on all pages.
const CONTACTS_MAX: usize = 20_000;
const PAGES_MAX: usize = 1_000;

/// The kinds of contacts in the order of the answer.
const KINDS: [&str; 6] = ["business", "person", "email", "phone", "address", "social"];

/// The answer `{"contacts": [{kind, value, details, pages}]}`, by kind, then by number of pages.
pub(crate) fn join(findings: &[Finding]) -> Value {
    let mut contacts = Contacts::default();
    for finding in findings {
        // Findings of an older version, or of a page without any, are read as far as possible.
        let found: Found = serde_json::from_value(finding.value.clone()).unwrap_or_default();
        contacts.take(&finding.url, found);
    }
    let mut list = contacts.list;
    let rank = |contact: &Contact| KINDS.iter().position(|kind| *kind == contact.kind);
    list.sort_by(|one, other| {
        rank(one)
            .cmp(&rank(other))
            .then(other.pages.len().cmp(&one.pages.len()))
    });
    let list: Vec<Value> = list
        .into_iter()
        .map(|contact| json!({"kind": contact.kind, "value": contact.value, "details": contact.details, "pages": contact.pages}))
        .collect();
    json!({"contacts": list})
}

struct Contact {
    kind: &'static str,
    value: String,
    details: Map<String, Value>,
    pages: Vec<String>,
}

#[derive(Default)]
struct Contacts {
    list: Vec<Contact>,
    places: HashMap<(&'static str, String), usize>,
}

impl Contacts {
    fn take(&mut self, url: &str, found: Found) {
        for email in found.emails {
            let value = email.value.to_lowercase();
            self.add(("email", &value), &value, &email, url);
        }
        for phone in found.phones {
            self.add(("phone", &phone.value), &phone.value, &phone, url);
        }
        for social in found.social {
            let key = social.url.to_lowercase();
            self.add(("social", &key), &social.url, &social, url);
        }
        for person in found.people {
            let key = folded(&person.name).to_lowercase();
            self.add(("person", &key), &person.name, &person, url);
        }
        for address in found.addresses {
            let key = addresses::key(&address);
            self.add(("address", &key), &address.text, &address, url);
        }
        let business = found.business;
        let names = [&business.legal_name, &business.name, &business.vat_id];
        if let Some(name) = names.into_iter().flatten().next() {
            let key = folded(name).to_lowercase();
            self.add(("business", &key), name, &business, url);
        }
    }

    /// Adds a contact or merges it with the one of the same `key`: missing details are filled in,
    /// lists are joined.
    fn add(
        &mut self,
        (kind, key): (&'static str, &str),
        value: &str,
        details: &impl serde::Serialize,
        url: &str,
    ) {
        let Ok(Value::Object(mut details)) = serde_json::to_value(details) else {
            return;
        };
        for own in ["value", "text"] {
            details.remove(own);
        }
        details.retain(|_, value| !value.is_null());
        let key = (kind, key.to_owned());
        let Some(&place) = self.places.get(&key) else {
            if self.list.len() < CONTACTS_MAX && !value.is_empty() {
                self.places.insert(key, self.list.len());
                self.list.push(Contact {
                    kind,
                    value: value.to_owned(),
                    details,
                    pages: vec![url.to_owned()],
                });
            }
            return;
        };
        let contact = &mut self.list[place];
        if contact.pages.len() < PAGES_MAX && contact.pages.iter().all(|page| page != url) {
            contact.pages.push(url.to_owned());
        }
        for (name, value) in details {
            match (contact.details.get_mut(&name), value) {
                (Some(Value::Array(own)), Value::Array(more)) => {
                    for value in more {
                        if !own.contains(&value) {
                            own.push(value);
                        }
                    }
                }
                (Some(_), _) => {}
                (None, value) => {
                    contact.details.insert(name, value);
                }
            }
        }
    }
}
