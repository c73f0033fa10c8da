//! The JSON of requests, mirrored in types, and the plan it becomes; and the JSON of costs.

mod costs;
mod fields;
mod ignored;
mod into_plan;
mod request;
mod transform;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use costs::Costs;
pub(crate) use into_plan::{Ground, RequestError, Verb, scrape_plan};
pub(crate) use request::ScrapeRequest;
pub(crate) use transform::{TransformRequest, transform_plan};
