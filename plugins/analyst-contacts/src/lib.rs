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

use analyst_base::PageAnalyst;
use serde_json::Value;
use trawl_sdk::analyst::{Finding, Model, Question, Step};
use trawl_sdk::{Document, Failure, Info};

pub use found::{Address, Business, Email, Found, Person, Phone, Social};
use page::Page;
use phones::Region;

/// Finds contacts. A page yields [`Found`]; the findings of many pages are joined into one list
/// `contacts` of `{kind, value, details, pages}`.
///
/// Rules find what has a recognisable form. A model, if there is one, is asked once per page for
/// contacts in running text; its answers count only if they occur on the page.
pub struct Contacts;

trawl_sdk::export!(analyst: analyst_base::OnePage<Contacts>);

/// The options of a caller.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
pub struct Options {
    /// ISO 3166-1 alpha-2 code of the country of numbers without a calling code and of postal
    /// addresses, before those that the page suggests.
    pub country: Option<String>,
    /// What the caller looks for, passed to the model.
    pub prompt: Option<String>,
}

/// What a page says, with what a model's answer is checked against.
pub struct PageContacts {
    found: Found,
    /// The visible text.
    text: String,
    /// The countries that phone numbers and addresses may belong to.
    homes: Vec<Region>,
}

impl PageAnalyst for Contacts {
    type Options = Options;
    type Page = PageContacts;
    type Answer = ask::Answer;

    fn info() -> Info {
        Info::new(
            "contacts",
            env!("CARGO_PKG_VERSION"),
            "E-mail addresses, phone numbers, social profiles, postal addresses and business details",
        )
        .options_schema(
            r#"{"type":"object","properties":{"country":{"type":"string","pattern":"^[A-Za-z]{2}$","description":"ISO 3166-1 alpha-2 code of the country of numbers without a calling code and of postal addresses, before those that the page suggests"},"prompt":{"type":"string"}},"additionalProperties":false}"#,
        )
    }

    fn check(options: &Options) -> Result<(), Failure> {
        let Some(country) = &options.country else {
            return Ok(());
        };
        match Region::of(&country.to_ascii_uppercase()) {
            Some(_) => Ok(()),
            None => Err(Failure::invalid_option(
                "country",
                format!(
                    "`{country}` is not a country code: use an ISO 3166-1 alpha-2 code such as `DE`"
                ),
            )),
        }
    }

    fn read(document: &Document<'_>, options: &Options) -> PageContacts {
        let page = Page::read(document);
        let homes = phones::hint::homes(&page, options.country.as_deref());
        let found = Found {
            emails: emails::find(&page),
            phones: phones::find(&page, &homes),
            social: social::find(&page),
            people: people::find(&page, &homes),
            addresses: addresses::find(&page, &homes),
            business: business::find(&page),
        };
        PageContacts {
            found,
            text: page.text().to_owned(),
            homes,
        }
    }

    fn ask(page: &PageContacts, options: &Options, model: Model) -> Option<Question> {
        ask::question(&page.text, options, model)
    }

    fn merge(page: &mut PageContacts, _: &Options, _: Model, answer: ask::Answer) {
        ask::merge(&mut page.found, answer, &page.text, &page.homes);
    }

    fn answer(page: PageContacts, _: &Options, model: Option<Value>) -> Result<Step, Failure> {
        let step = Step::done(&page.found)?;
        Ok(match (step, model) {
            (Step::Done(mut answer), Some(note)) => {
                answer["model"] = note;
                Step::Done(answer)
            }
            (step, _) => step,
        })
    }

    fn join(findings: &[Finding], _: &Options) -> Result<Step, Failure> {
        Ok(Step::Done(join::join(findings)))
    }
}

/// Finds the contacts of a page by rules alone.
pub fn find(document: &Document<'_>, options: &Options) -> Found {
    Contacts::read(document, options).found
}
