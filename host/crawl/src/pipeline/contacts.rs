//! Joined contacts in the form in which they are stored: checked, limited in size, and by the
//! domains of their pages.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use trawl_model::clock::Timestamp;
use trawl_store::{CONTACT_PAGES_MAX, Contact};
use trawl_wire::Omitted;

/// Most contacts of one part of a crawl that are stored.
const CONTACTS_MAX: usize = 50_000;
/// Longest value of a contact, in bytes; contacts with longer ones are dropped.
const VALUE_BYTES_MAX: usize = 2_048;
/// Longest kind of a contact, in bytes.
const KIND_BYTES_MAX: usize = 64;
/// Most bytes of the details of a contact; larger ones are dropped.
const DETAILS_BYTES_MAX: usize = 16 << 10;
/// Why contacts are left out.
const TOO_LONG: &str = "a contact has a value of more than 2,048 bytes, or a kind of more than 64";
const TOO_MANY: &str = "the pages of a crawl have more than 50,000 contacts for each MiB";

/// A joined contact as the analyst returns it.
#[derive(Deserialize)]
struct Joined {
    kind: String,
    value: String,
    #[serde(default)]
    details: Map<String, Value>,
    #[serde(default)]
    pages: Vec<String>,
}

/// The contacts of a joined result; values of another shape are dropped. Those that are too long or
/// too many are counted in `left_out`.
pub(super) fn read(joined: &Value, now: Timestamp, left_out: &mut Omitted) -> Vec<Contact> {
    let listed = joined["contacts"].as_array().map_or(&[][..], Vec::as_slice);
    let read = listed
        .iter()
        .filter_map(|contact| Joined::deserialize(contact).ok())
        .filter(|contact| !contact.value.is_empty() && !contact.kind.is_empty());
    let mut contacts = Vec::new();
    for contact in read {
        if contact.value.len() > VALUE_BYTES_MAX || contact.kind.len() > KIND_BYTES_MAX {
            left_out.add_contacts(1, TOO_LONG);
        } else {
            contacts.extend(by_domain(contact, now));
        }
    }
    left_out.add_contacts(contacts.len().saturating_sub(CONTACTS_MAX) as u64, TOO_MANY);
    contacts.truncate(CONTACTS_MAX);
    contacts
}

/// One row for each domain.
fn by_domain(contact: Joined, now: Timestamp) -> Vec<Contact> {
    let mut pages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for page in contact.pages {
        if page.contains("://")
            && let Some(domain) = domain_of(&page)
        {
            pages.entry(domain).or_default().push(page);
        }
    }
    let details = match Value::Object(contact.details).to_string() {
        details if details.len() <= DETAILS_BYTES_MAX => details,
        _ => "{}".to_owned(),
    };
    let rows = pages.into_iter().map(|(domain, mut pages)| {
        pages.truncate(CONTACT_PAGES_MAX);
        Contact {
            domain,
            kind: contact.kind.clone(),
            value: contact.value.clone(),
            details: details.clone(),
            pages,
            first_seen: now,
            last_seen: now,
        }
    });
    rows.collect()
}

/// The registered domain of a URL or a host in lower case; the host itself where it has none, such
/// as an IP address. `None` when the text is neither a URL nor a host.
pub fn domain_of(text: &str) -> Option<String> {
    let url = if text.contains("://") {
        Url::parse(text)
    } else {
        Url::parse(&format!("http://{text}"))
    };
    let url = url.ok()?;
    let host = url.host_str().filter(|host| !host.is_empty())?;
    let domain = match url.host() {
        Some(url::Host::Domain(name)) => psl::domain_str(name).unwrap_or(name),
        _ => host,
    };
    Some(domain.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn domains_are_the_registered_ones() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(domain_of(text).as_deref(), expected, "{text}");
        };
        check("https://blog.Example.co.uk/a", Some("example.co.uk"));
        check("www.example.com", Some("example.com"));
        check("http://127.0.0.1:8080/x", Some("127.0.0.1"));
        check("http://[::1]/", Some("[::1]"));
        check("localhost", Some("localhost"));
        check("", None);
        check("https://", None);
    }

    #[test]
    fn contacts_are_split_by_domain_and_limited_in_size() {
        let pages = |host: &str, n: usize| -> Vec<String> {
            (0..n).map(|n| format!("https://{host}/{n}")).collect()
        };
        let mut everywhere = pages("a.com", 150);
        everywhere.extend(pages("b.com", 1));
        let joined = json!({"contacts": [
            {"kind": "email", "value": "x@a.com", "details": {"name": "X"}, "pages": everywhere},
            {"kind": "email", "value": "", "pages": ["https://a.com/"]},
            {"kind": "email", "value": "y".repeat(3_000), "pages": ["https://a.com/"]},
            {"kind": "person", "value": "Y", "details": {"x": "z".repeat(20_000)}, "pages": ["https://a.com/"]},
            {"kind": "nowhere", "value": "Y", "pages": ["nonsense:"]},
            {"kind": 3}, "x", null,
        ]});
        let mut left_out = Omitted::default();
        let found = read(&joined, Timestamp(7), &mut left_out);
        let rows: Vec<_> = found
            .iter()
            .map(|row| (row.domain.as_str(), row.kind.as_str(), row.pages.len()))
            .collect();
        let expected = [
            ("a.com", "email", 100),
            ("b.com", "email", 1),
            ("a.com", "person", 1),
        ];
        assert_eq!(rows, expected);
        assert_eq!(found[0].details, "{\"name\":\"X\"}");
        assert_eq!(
            (found[2].details.as_str(), found[2].first_seen),
            ("{}", Timestamp(7))
        );
        assert_eq!(left_out.contacts, Some(1), "the one that is too long");
        assert_eq!(left_out.reasons, [TOO_LONG]);
        let none = json!("no contacts");
        assert_eq!(read(&none, Timestamp(7), &mut left_out), []);
    }

    #[test]
    fn contacts_beyond_the_bound_are_counted() {
        let contact = |n: usize| json!({"kind": "email", "value": format!("{n}@a.com"), "pages": ["https://a.com/"]});
        let contacts: Vec<_> = (0..CONTACTS_MAX + 2).map(contact).collect();
        let mut left_out = Omitted::default();
        let found = read(&json!({"contacts": contacts}), Timestamp(7), &mut left_out);
        assert_eq!((found.len(), left_out.contacts), (CONTACTS_MAX, Some(2)));
    }
}
