//! The analyst plugin `contacts`: e-mail addresses, phone numbers, social profiles, people, postal
//! addresses and business details.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")
)]

mod addresses;
mod ask;
mod business;
mod emails;
mod found;
mod grounding;
mod join;
mod page;
mod people;
mod phones;
mod social;
#[cfg(test)]
mod tests;
mod words;

use trawl_sdk::analyst::{Analyst, Reply, Step, Subject, Task, recall};
use trawl_sdk::{Document, Failure, Info, Needs};

pub use found::{Address, Business, Email, Found, Person, Phone, Social};
use page::{Page, decoys};

/// Finds contacts. A page yields [`Found`]; the findings of many pages are joined into one list
/// `contacts` of `{kind, value, details, pages}`.
///
/// Rules find everything that has a recognisable form. A model, if there is one, is asked once per
/// page for contacts in running text; its answers count only if they occur on the page.
pub struct Contacts;

trawl_sdk::export!(analyst: Contacts);

/// The options of a caller.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
pub struct Options {
    /// ISO 3166-1 alpha-2 code of the country assumed for numbers without a calling code.
    pub country: Option<String>,
    /// What the caller looks for, passed to the model.
    pub prompt: Option<String>,
}

impl Analyst for Contacts {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "contacts",
            env!("CARGO_PKG_VERSION"),
            "E-mail addresses, phone numbers, social profiles, people, postal addresses and business details",
        )
        .options_schema(
            r#"{"type":"object","properties":{"country":{"type":"string","pattern":"^[A-Za-z]{2}$","description":"ISO 3166-1 alpha-2 code of the country assumed for numbers without a calling code"},"prompt":{"type":"string"}},"additionalProperties":false}"#,
        )
        .needs(Needs::SOURCE)
    }

    fn start(task: &Task<'_, Options>) -> Result<Step, Failure> {
        check(&task.options)?;
        let (document, source) = match &task.subject {
            Subject::Pages(findings) => return Step::done(&join::join(findings)),
            Subject::Page { document, source } => (document, source),
        };
        decoys::without(document, |document| {
            let page = Page::read(document);
            let found = in_page(&page, &source.text, &task.options);
            match task.model {
                Some(model) => ask::question(&page, &found, &task.options, model),
                None => Step::done(&found),
            }
        })
    }

    fn resume(task: &Task<'_, Options>, memo: &[u8], reply: Reply<'_>) -> Result<Step, Failure> {
        let mut found: Found = recall(memo)?;
        let note = reply.note();
        if let (Reply::Answer(answer), Subject::Page { document, .. }) = (&reply, &task.subject) {
            decoys::without(document, |document| {
                let page = Page::read(document);
                let homes = phones::hint::homes(&page, task.options.country.as_deref());
                ask::merge(&mut found, answer, &page, &homes);
            });
        }
        let mut value = serde_json::to_value(&found).map_err(|error| {
            Failure::Failed(format!("the answer cannot be written as JSON: {error}"))
        })?;
        value["model"] = note;
        Ok(Step::Done(value))
    }
}

/// Finds the contacts of a page by rules alone. `source` is the page as served.
pub fn find(document: &Document<'_>, source: &str, options: &Options) -> Found {
    decoys::without(document, |document| {
        in_page(&Page::read(document), source, options)
    })
}

fn in_page(page: &Page<'_>, source: &str, options: &Options) -> Found {
    let homes = phones::hint::homes(page, options.country.as_deref());
    let emails = emails::find(page, source);
    let mut found = Found {
        phones: phones::find(page, &homes),
        social: social::find(page),
        people: people::find(page, &homes, &emails),
        addresses: addresses::find(page, &homes),
        business: business::find(page, &homes),
        emails,
    };
    name_emails(&mut found);
    found
}

/// Adds the names of people to their e-mail addresses.
fn name_emails(found: &mut Found) {
    for person in &found.people {
        let Some(email) = &person.email else {
            continue;
        };
        let own = found
            .emails
            .iter_mut()
            .find(|own| own.value.eq_ignore_ascii_case(email));
        if let Some(own) = own.filter(|own| own.name.is_none()) {
            own.name = Some(person.name.clone());
        }
    }
}

fn check(options: &Options) -> Result<(), Failure> {
    let Some(country) = &options.country else {
        return Ok(());
    };
    match phones::Region::of(&country.to_ascii_uppercase()) {
        Some(_) => Ok(()),
        None => Err(Failure::invalid_option(
            "country",
            format!(
                "`{country}` is not a country code: use an ISO 3166-1 alpha-2 code such as `DE`"
            ),
        )),
    }
}
