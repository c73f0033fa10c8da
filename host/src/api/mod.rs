//! The HTTP interface: the only user of axum, status codes and the wire types.
//!
//! [`router`] is the door; [`Service`] is what it wants of the rooms behind it. One verb, one file.

mod account;
mod admin;
mod auth;
mod begin;
mod body;
mod catalog;
mod contacts;
mod crawl;
mod credits;
mod data;
mod drain;
mod entry;
mod error;
mod fetch;
mod health;
mod links;
mod metrics;
mod not_built;
mod observe;
mod openapi;
mod paging;
mod params;
mod pipeline;
mod plugins;
mod post;
mod providers;
mod rate;
mod router;
mod scrape;
mod screenshot;
mod service;
mod statement;
mod stream;
mod transform;
mod unblocker;
mod unlimited;
mod views;
mod wire;

#[cfg(test)]
mod tests;

pub use router::router;
pub use service::{Health, Order, Outcomes, Run, Service};

use std::sync::Arc;

use serde_json::Value;

use crate::model::{ModelSize, Terms};
use crate::page::PageOutcome;
use crate::plan::crawl::CrawlPlan;
use crate::plan::{Catalog, ConfiguredPool, PagePlan, RouterMode};

/// Which ways to a page there are for a request.
#[derive(Clone, Copy, Debug)]
pub struct Ways<'a> {
    /// The configured proxy pools.
    pub pools: &'a [ConfiguredPool],
    /// What a request without a `router` object means.
    pub router: RouterMode,
    /// On which terms it is asked.
    pub terms: Terms,
    /// The language model that pipelines may ask.
    pub model: Option<KnownModel<'a>>,
}

/// The configured language model, as far as a plan has to know it.
#[derive(Clone, Copy, Debug)]
pub struct KnownModel<'a> {
    /// Its name.
    pub name: &'a str,
    /// How much fits into it.
    pub size: ModelSize,
}

impl Default for Ways<'_> {
    fn default() -> Self {
        Self {
            pools: &[],
            router: RouterMode::Off,
            terms: Terms::PayAsYouGo,
            model: None,
        }
    }
}

/// What a request object means, for callers inside the program: the command line asks in the interface's own words.
///
/// # Errors
/// [`wire::RequestError`] naming the parameter that is wrong.
pub fn plan(
    request: &Value,
    catalog: &dyn Catalog,
) -> Result<Vec<PagePlan>, impl std::error::Error + use<>> {
    let ways = Ways::default();
    let ground = wire::Ground { catalog, ways };
    wire::scrape_plan(request.to_string().as_bytes(), wire::Verb::Scrape, ground)
        .map(|plan| plan.pages)
}

/// What a stored request of a crawl means. `verb` is `crawl`, `links` or the name of a pipeline.
///
/// # Errors
/// The text that names the parameter which is wrong.
pub fn crawl_plan(
    request: &str,
    verb: &str,
    catalog: &dyn Catalog,
    ways: Ways<'_>,
) -> Result<CrawlPlan, String> {
    let ground = wire::Ground { catalog, ways };
    let verb = wire::Verb::named(verb).ok_or("the crawl has an unknown verb")?;
    let request = wire::crawl_request(request.as_bytes(), verb, ground);
    let mut crawls = request.map_err(|error| error.to_string())?.crawls;
    match (crawls.pop(), crawls.is_empty()) {
        (Some(crawl), true) => Ok(crawl.plan),
        _ => Err("the crawl has more than one seed".to_owned()),
    }
}

/// Appends a page's entry as the interface writes it.
pub fn write_entry(outcome: &PageOutcome, entry: &mut Vec<u8>) {
    entry::write(outcome, entry);
}

/// What every handler gets.
#[derive(Clone)]
struct Api {
    service: Arc<dyn Service>,
    rates: Arc<rate::Rates>,
}
