//! The HTTP interface: the only user of axum, status codes and the wire types.
//!
//! [`router`] is the door; [`Service`] is what it wants of the rooms behind it. One verb, one file.

mod auth;
mod catalog;
mod crawl;
mod credits;
mod drain;
mod entry;
mod error;
mod health;
mod links;
mod metrics;
mod not_built;
mod observe;
mod openapi;
mod plugins;
mod post;
mod providers;
mod rate;
mod router;
mod scrape;
mod screenshot;
mod service;
mod stream;
mod transform;
mod unblocker;
mod wire;

#[cfg(test)]
mod tests;

pub use router::router;
pub use service::{Health, Order, Outcomes, Run, Service};

use std::sync::Arc;

use serde_json::Value;

use crate::page::PageOutcome;
use crate::plan::crawl::CrawlPlan;
use crate::plan::{Catalog, ConfiguredPool, PagePlan, RouterMode};

/// What a request object means, for callers inside the program: the command line asks in the interface's own words.
///
/// # Errors
/// [`wire::RequestError`] naming the parameter that is wrong.
pub fn plan(
    request: &Value,
    catalog: &dyn Catalog,
) -> Result<Vec<PagePlan>, impl std::error::Error + use<>> {
    let ground = wire::Ground {
        catalog,
        pools: &[],
        router: RouterMode::Off,
    };
    wire::scrape_plan(request.to_string().as_bytes(), wire::Verb::Scrape, ground)
        .map(|plan| plan.pages)
}

/// What a stored request of a crawl means. `verb` is `crawl` or `links`.
///
/// # Errors
/// The text that names the parameter which is wrong.
pub fn crawl_plan(
    request: &str,
    verb: &str,
    catalog: &dyn Catalog,
    pools: &[ConfiguredPool],
    router: RouterMode,
) -> Result<CrawlPlan, String> {
    let ground = wire::Ground {
        catalog,
        pools,
        router,
    };
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
