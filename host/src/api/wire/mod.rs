//! The JSON of requests, mirrored in types, and what becomes of it.

mod fields;
mod ignored;
mod into_plan;
mod request;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use into_plan::{Ground, RequestError, Verb, scrape_plan};
pub(crate) use request::ScrapeRequest;
