//! The HTTP interface: the only user of axum, status codes and the wire types.
//!
//! [`router`] is the door; [`Service`] is what it wants of the rooms behind it. One verb, one file.

mod auth;
mod catalog;
mod credits;
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

/// What every handler gets.
#[derive(Clone)]
struct Api {
    service: Arc<dyn Service>,
    rates: Arc<rate::Rates>,
}
