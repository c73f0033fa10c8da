//! The business behind a page: from structured data, then from the lines of an imprint.

mod imprint;

use serde_json::{Map, Value};
use trawl_sdk::embedded::{has_type, string, types};

use crate::found::Business;
use crate::page::{Page, folded};
use crate::phones::Region;
use imprint::{compact, imprint};

/// Maximum length of a business name, in bytes.
const NAME_BYTES_MAX: usize = 120;
/// Maximum number of opening hours.
const HOURS_MAX: usize = 50;

/// Types of schema.org for businesses, besides those that end in one of [`TYPE_ENDS`].
const TYPES: [&str; 22] = [
    "Organization",
    "Corporation",
    "LocalBusiness",
    "Store",
    "NGO",
    "Restaurant",
    "Hotel",
    "Dentist",
    "Physician",
    "LegalService",
    "Attorney",
    "MedicalClinic",
    "RealEstateAgent",
    "ProfessionalService",
    "FinancialService",
    "TravelAgency",
    "Bakery",
    "Library",
    "School",
    "GovernmentOrganization",
    "EducationalOrganization",
    "Plumber",
];
const TYPE_ENDS: [&str; 8] = [
    "Business",
    "Organization",
    "Store",
    "Shop",
    "Service",
    "Restaurant",
    "Agency",
    "Clinic",
];

/// Finds the business of a page.
pub(crate) fn find(page: &Page<'_>, homes: &[Region]) -> Business {
    let mut business = Business::default();
    let objects = page.objects().filter(|object| is_business(object));
    // The most detailed object is the page's own business; others are brands and publishers.
    if let Some(object) = objects.max_by_key(|object| detail(object)) {
        structured(object, &mut business);
    }
    for line in page.text().lines().filter(|line| line.len() < 1_000) {
        imprint(line, homes, &mut business);
    }
    business
}

/// Whether an object is a business: by its type, or by properties that only businesses have, as
/// schema.org has too many types of shops to list.
fn is_business(object: &Map<String, Value>) -> bool {
    let is_known =
        |kind: &str| TYPES.contains(&kind) || TYPE_ENDS.iter().any(|end| kind.ends_with(end));
    let is_reached = object.contains_key("address") && object.contains_key("name");
    let is_registered = object.contains_key("vatID") || object.contains_key("legalName");
    types(object).any(is_known)
        || (is_reached || is_registered)
            && !has_type(object, &["Person", "Event", "JobPosting", "Patient"])
}

/// The level of detail of an object.
fn detail(object: &Map<String, Value>) -> (usize, bool) {
    let names = [
        "legalName",
        "vatID",
        "taxID",
        "address",
        "telephone",
        "email",
        "openingHours",
        "openingHoursSpecification",
        "url",
        "name",
    ];
    (
        names
            .iter()
            .filter(|name| object.contains_key(**name))
            .count(),
        object.contains_key("name"),
    )
}

fn structured(object: &Map<String, Value>, business: &mut Business) {
    let text = |name: &str| {
        object
            .get(name)
            .and_then(string)
            .map(folded)
            .filter(|text| text.len() <= NAME_BYTES_MAX * 2)
    };
    business.name = text("name");
    business.legal_name = text("legalName");
    business.vat_id = text("vatID").map(|vat| compact(&vat));
    business.tax_id = text("taxID");
    business.registration = text("iso6523Code").or_else(|| text("leiCode"));
    business.url = text("url");
    for name in ["openingHours", "openingHoursSpecification"] {
        if let Some(value) = object.get(name) {
            hours(value, &mut business.opening_hours);
        }
    }
}

fn hours(value: &Value, found: &mut Vec<String>) {
    if found.len() >= HOURS_MAX {
        return;
    }
    match value {
        Value::String(text) => found.push(folded(text)),
        Value::Array(values) => values.iter().for_each(|value| hours(value, found)),
        Value::Object(object) => {
            let days = object.get("dayOfWeek");
            let several = days
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice);
            let days: Vec<&str> = several
                .iter()
                .chain(days)
                .filter_map(Value::as_str)
                .map(|day| day.rsplit('/').next().unwrap_or(day))
                .collect();
            let time = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
            if !time("opens").is_empty() {
                let days: Vec<&str> = days.iter().map(|day| day.get(..2).unwrap_or(day)).collect();
                found.push(
                    format!("{} {}-{}", days.join(","), time("opens"), time("closes"))
                        .trim()
                        .to_owned(),
                );
            }
        }
        _ => {}
    }
}
