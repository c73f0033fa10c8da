//! The contacts of a whole run: each once, with the pages it stands on.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use trawl_sdk::analyst::Finding;

use crate::addresses;
use crate::found::Found;
use crate::page::folded;

/// Most contacts of a run, and most pages named for one: a footer stands on all of them.
const CONTACTS_MAX: usize = 20_000;
const PAGES_MAX: usize = 1_000;

/// Kinds in the order they are answered in.
const KINDS: [&str; 6] = ["business", "person", "email", "phone", "address", "social"];

/// `{"contacts": [{kind, value, details, pages}]}`; a contact on more pages comes before one on fewer of the same kind.
pub(crate) fn join(findings: &[Finding]) -> Value {
    let mut contacts = Contacts::default();
    for finding in findings {
        // What an older version answered, or a page without an answer, gives what can be read.
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
            let key = email.value.to_lowercase();
            self.add("email", key.clone(), key, &email, url);
        }
        for phone in found.phones {
            self.add(
                "phone",
                phone.value.clone(),
                phone.value.clone(),
                &phone,
                url,
            );
        }
        for social in found.social {
            self.add(
                "social",
                social.url.to_lowercase(),
                social.url.clone(),
                &social,
                url,
            );
        }
        for person in found.people {
            self.add(
                "person",
                folded(&person.name).to_lowercase(),
                person.name.clone(),
                &person,
                url,
            );
        }
        for address in found.addresses {
            self.add(
                "address",
                addresses::key(&address),
                address.text.clone(),
                &address,
                url,
            );
        }
        let name = found
            .business
            .legal_name
            .clone()
            .or_else(|| found.business.name.clone());
        let name = name.or_else(|| found.business.vat_id.clone());
        if let Some(name) = name {
            self.add(
                "business",
                folded(&name).to_lowercase(),
                name,
                &found.business,
                url,
            );
        }
    }

    /// Adds a contact that is one by `key`: details that an earlier page did not tell are taken over, lists joined.
    fn add(
        &mut self,
        kind: &'static str,
        key: String,
        value: String,
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
        let Some(&place) = self.places.get(&(kind, key.clone())) else {
            if self.list.len() < CONTACTS_MAX && !value.is_empty() {
                self.places.insert((kind, key), self.list.len());
                self.list.push(Contact {
                    kind,
                    value,
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
