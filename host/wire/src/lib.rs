//! The wire format: the JSON that callers send and receive.
//!
//! Inwards, a request body becomes a plan in two steps. `fields` reads a JSON object field by field
//! into a type that the tables of `trawl_parameters` make (`ScrapeRequest`, `TransformRequest`,
//! `PipelineRequest`). On the way `check` compares each value with its row, so that an error names
//! the path and unknown keys are listed. Then [`scrape_plan`], [`crawl_request`],
//! [`batch_request`] and [`transform_plan`] resolve defaults and check values; after them nothing
//! asks whether a parameter was set. What a request does not say comes from [`RequestDefaults`].
//! Parameters without effect are collected for the header `X-Ignored-Parameters` (`ignored`), or
//! left to the page.
//!
//! Outwards, [`PageEntry`] is the JSON of one page and [`Costs`] its price. Crawls store entries
//! and read them back through the same type.
//!
//! Secrets of a request are removed before it is stored (`secrets`) and merged in again by
//! [`with_secrets`].

mod batch;
mod body;
mod check;
mod checked_catalog;
mod costs;
mod crawl;
mod defaults;
mod entry;
mod error;
mod fetch;
mod fields;
mod final_entry;
mod headers;
mod ignored;
mod integers;
mod left_out;
mod map;
mod output;
mod pages;
mod pipeline;
mod plans;
mod rendering;
mod schema;
mod search;
mod secrets;
mod transform;
mod unlimited;
mod values;
mod verb;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod linear;
#[cfg(test)]
mod tests;

pub use batch::batch_request;
pub use costs::{Costs, dollars};
pub use crawl::{CrawlRequest, PlannedCrawl, crawl_request};
pub use defaults::{ConfiguredDefaults, ConfiguredModel, KnownModel, PlanContext, RequestDefaults};
pub use entry::{ContentForm, PageEntry, write_entry};
pub use error::RequestError;
pub use final_entry::FinalEntry;
pub use headers::header_value;
pub use left_out::Omitted;
pub use map::{
    MapAlternate, MapEnd, MapEntry, MapLine, MapRequest, MapStart, ReadSitemap, map_request,
};
pub use pages::{PagesToCome, scrape_plan};
pub use pipeline::{ShownRequest, shown_request};
pub use plans::{crawl_plan, plan, runs};
pub use schema::{header_parameters, request_schemas};
pub use search::{SearchAnswer, SearchHit, SearchRequest, SearchResponse, search_request};
pub use secrets::{kept_secrets, with_kept_secrets, with_secrets};
pub use transform::transform_plan;
pub use unlimited::refuse_ai;
pub use verb::Verb;
