//! Cards of people and organisations, `vcard` (hCard) and `h-card`, converted to JSON-LD. Source:
//! microformats.org, "hCard", "h-card".

use serde_json::{Map, Value};
use trawl_sdk::{Element, Tag};

use super::{Item, folded};

/// Class names of both formats with the equivalent property of schema.org.
const PROPERTIES: [(&str, &str); 20] = [
    ("fn", "name"),
    ("p-name", "name"),
    ("email", "email"),
    ("u-email", "email"),
    ("title", "jobTitle"),
    ("p-job-title", "jobTitle"),
    ("role", "jobTitle"),
    ("p-role", "jobTitle"),
    ("street-address", "streetAddress"),
    ("p-street-address", "streetAddress"),
    ("postal-code", "postalCode"),
    ("p-postal-code", "postalCode"),
    ("locality", "addressLocality"),
    ("p-locality", "addressLocality"),
    ("region", "addressRegion"),
    ("p-region", "addressRegion"),
    ("country-name", "addressCountry"),
    ("p-country-name", "addressCountry"),
    ("org", "organization"),
    ("p-org", "organization"),
];

/// Properties of the postal address.
const ADDRESS: [&str; 5] = [
    "streetAddress",
    "postalCode",
    "addressLocality",
    "addressRegion",
    "addressCountry",
];

/// The card as an object; `None` for an empty one.
pub(super) fn item(card: Element<'_>) -> Option<Item> {
    let mut properties = Map::new();
    let mut address = Map::new();
    let mut phones = Vec::new();
    for element in card.descendants().filter_map(|node| node.as_element()) {
        for class in element.classes() {
            if matches!(class, "tel" | "p-tel") {
                phones.push(phone(element));
                continue;
            }
            let Some((_, name)) = PROPERTIES.iter().find(|(known, _)| *known == class) else {
                continue;
            };
            let place = if ADDRESS.contains(name) {
                &mut address
            } else {
                &mut properties
            };
            place
                .entry(*name)
                .or_insert_with(|| Value::from(value(element)));
        }
    }
    let organization = properties.remove("organization");
    let is_organization = match (properties.get("name"), organization) {
        (Some(name), Some(organization)) => *name == organization,
        (None, Some(organization)) => {
            properties.insert("name".to_owned(), organization);
            true
        }
        (Some(_), None) => !properties.contains_key("jobTitle") && !address.is_empty(),
        (None, None) => false,
    };
    for (text, is_fax) in phones {
        properties.insert(
            if is_fax { "faxNumber" } else { "telephone" }.to_owned(),
            Value::from(text),
        );
    }
    if properties.is_empty() && address.is_empty() {
        return None;
    }
    properties.insert(
        "@type".to_owned(),
        Value::from(if is_organization {
            "Organization"
        } else {
            "Person"
        }),
    );
    if !address.is_empty() {
        address.insert("@type".to_owned(), Value::from("PostalAddress"));
        properties.insert("address".to_owned(), Value::Object(address));
    }
    Some(Item {
        source: "hcard",
        value: Value::Object(properties),
    })
}

/// The number of a `tel` property, and whether its type is fax.
fn phone(element: Element<'_>) -> (String, bool) {
    let inner = |class: &str| {
        let mut inside = element.descendants().filter_map(|node| node.as_element());
        inside
            .find(|inner| inner.has_class(class))
            .map(|inner| value(inner))
    };
    let is_fax = inner("type").is_some_and(|kind| kind.eq_ignore_ascii_case("fax"));
    (inner("value").unwrap_or_else(|| value(element)), is_fax)
}

fn value(element: Element<'_>) -> String {
    let address = match element.tag() {
        Tag::A => element.attr("href"),
        Tag::Abbr => element.attr("title"),
        _ => None,
    };
    let is_address = |href: &&str| href.starts_with("mailto:") || href.starts_with("tel:");
    match address.filter(|address| element.tag() != Tag::A || is_address(address)) {
        Some(address) => address.to_owned(),
        None => folded(&element.visible_text()),
    }
}
