//! The JSON of requests, mirrored in types, and the plan it becomes; and the JSON of costs.

mod costs;
mod fields;
mod ignored;
mod into_crawl;
mod into_plan;
mod pipeline;
mod plan_limits;
mod rendering;
mod request;
mod resume;
mod transform;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use costs::{Costs, dollars};
pub(crate) use into_crawl::{CrawlRequest, crawl_request};
pub(crate) use into_plan::{Ground, RequestError, Verb, scrape_plan};
pub(crate) use pipeline::{PipelineObject, shown_request};
pub(crate) use plan_limits::refuse_ai;
pub(crate) use request::ScrapeRequest;
pub(crate) use resume::with_secrets;
pub(crate) use transform::{TransformRequest, transform_plan};
