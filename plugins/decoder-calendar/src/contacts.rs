//! Contacts. Source: RFC 6350, 6; RFC 2426 for version 3.

use trawl_sdk::decoder::Html;

use crate::dates;
use crate::lines::{Component, Property};
use crate::write::{links, paragraphs, term};

/// Writes a contact.
pub(crate) fn write(html: &mut Html, card: &Component) {
    html.open("article");
    html.element("h2", &name(card));
    html.open("dl");
    let joined = |name: &str, separator: &str| -> Vec<String> {
        let all = card.all(name);
        all.map(|property| listed(property).join(separator))
            .collect()
    };
    term(html, "organisation", &joined("ORG", ", "));
    for (name, label) in [
        ("TITLE", "title"),
        ("ROLE", "role"),
        ("NICKNAME", "nickname"),
    ] {
        let values: Vec<String> = card.all(name).map(Property::text).collect();
        term(html, label, &values);
    }
    links(html, "telephone", &linked(card, "TEL", "tel:"));
    links(html, "e-mail", &linked(card, "EMAIL", "mailto:"));
    term(html, "address", &joined("ADR", ", "));
    links(html, "url", &linked(card, "URL", ""));
    let birthday = card.all("BDAY").map(|day| dates::iso(&day.text()));
    term(html, "birthday", &birthday.collect::<Vec<_>>());
    html.close();
    for note in card.all("NOTE") {
        paragraphs(html, &note.text());
    }
    html.close();
}

/// The formatted name, else the parts of the name, given ones first.
fn name(card: &Component) -> String {
    let formatted = card.text("FN");
    let in_parts = || {
        let parts = card.all("N").next()?.parts(&[';']);
        let part = |index: usize| parts.get(index).map_or("", String::as_str);
        let ordered = [part(3), part(1), part(2), part(0), part(4)];
        let name: Vec<&str> = ordered.into_iter().filter(|it| !it.is_empty()).collect();
        (!name.is_empty()).then(|| name.join(" "))
    };
    let name = formatted.or_else(in_parts).or_else(|| card.text("ORG"));
    name.unwrap_or_else(|| "(no name)".to_owned())
}

/// The parts of a structured value that are not empty.
fn listed(property: &Property) -> Vec<String> {
    let parts = property.parts(&[';']).into_iter();
    let parts = parts.map(|part| part.replace('\n', ", "));
    parts.filter(|part| !part.is_empty()).collect()
}

/// Values as links of this scheme, unless they have it already, and as people read them.
fn linked(card: &Component, name: &str, scheme: &str) -> Vec<(String, String)> {
    let texts = card.all(name).map(Property::text);
    let texts = texts.filter(|text| !text.is_empty());
    let linked = texts.map(|text| match text.strip_prefix(scheme) {
        Some(shown) => (text.clone(), shown.to_owned()),
        None => (format!("{scheme}{}", text.replace(' ', "")), text),
    });
    linked.collect()
}
