//! The HTTP interface: the only user of axum, status codes and the wire types.
//!
//! [`router`] is the door; [`Service`] is what it wants of the rooms behind it. One verb, one file.

mod auth;
mod catalog;
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
mod rate;
mod router;
mod scrape;
mod service;
mod stream;
mod transform;
mod wire;

#[cfg(test)]
mod tests;

pub use router::router;
pub use service::{Health, Order, Outcomes, Run, Service};

use std::sync::Arc;

use serde_json::Value;

use crate::page::PageOutcome;
use crate::plan::{Catalog, PagePlan};

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
    };
    wire::scrape_plan(request.to_string().as_bytes(), wire::Verb::Scrape, ground)
        .map(|plan| plan.pages)
}

/// A page's entry as the interface would write it.
pub fn entry_json(outcome: &PageOutcome) -> Vec<u8> {
    let mut entry = Vec::new();
    entry::write(outcome, &mut entry);
    entry
}

/// What every handler gets.
#[derive(Clone)]
struct Api {
    service: Arc<dyn Service>,
    rates: Arc<rate::Rates>,
}
