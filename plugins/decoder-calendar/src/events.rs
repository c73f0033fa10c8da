//! Events, tasks and journal entries. Source: RFC 5545, 3.6.1 to 3.6.3.

use trawl_sdk::decoder::Html;

use crate::dates;
use crate::lines::{Component, Property};
use crate::write::{links, paragraphs, term};

/// Most attendees of an event.
const ATTENDEES_MAX: usize = 500;

/// Whether a component of a calendar is written; time zones and alarms are not.
pub(crate) fn is_item(component: &&Component) -> bool {
    matches!(component.name.as_str(), "VEVENT" | "VTODO" | "VJOURNAL")
}

/// Writes one of them.
pub(crate) fn write(html: &mut Html, item: &Component) {
    let title = item.text("SUMMARY");
    html.open("article");
    html.element("h2", title.as_deref().unwrap_or("(no title)"));
    html.open("dl");
    for (name, label) in [("DTSTART", "start"), ("DTEND", "end"), ("DUE", "due")] {
        if let Some(property) = item.all(name).next() {
            let date = dates::iso(property.value.trim());
            let shown = match property.parameter("TZID") {
                Some(zone) => format!("{date} {zone}"),
                None => date.clone(),
            };
            html.element("dt", label).open("dd");
            html.open_with("time", &[("datetime", &date)])
                .text(&shown)
                .close()
                .close();
        }
    }
    for (name, label) in [
        ("DURATION", "duration"),
        ("RRULE", "repeats"),
        ("LOCATION", "location"),
        ("STATUS", "status"),
        ("CATEGORIES", "categories"),
    ] {
        let values: Vec<String> = item.all(name).map(Property::text).collect();
        term(html, label, &values);
    }
    let organizer: Vec<String> = item.all("ORGANIZER").map(person).collect();
    term(html, "organizer", &organizer);
    let attendees = item.all("ATTENDEE").take(ATTENDEES_MAX).map(person);
    term(html, "attendees", &attendees.collect::<Vec<_>>());
    let urls = item.all("URL").chain(item.all("ATTACH"));
    let urls = urls.map(|url| url.value.trim().to_owned());
    let urls = urls.filter(|url| url.starts_with("https://") || url.starts_with("http://"));
    let urls: Vec<(String, String)> = urls.map(|url| (url.clone(), url)).collect();
    links(html, "links", &urls);
    html.close();
    paragraphs(html, &item.text("DESCRIPTION").unwrap_or_default());
    html.close();
}

/// A person by name and address: `Anna <anna@example.com>`.
fn person(property: &Property) -> String {
    let value = property.value.trim();
    let address = match value.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("mailto:") => &value[7..],
        _ => value,
    };
    match property.parameter("CN") {
        Some(name) if !name.is_empty() && name != address => format!("{name} <{address}>"),
        _ => address.to_owned(),
    }
}
