//! The HTTP interface: the only user of axum, status codes and the wire types.
//!
//! [`router`] is the door; [`Service`] is what it wants of the rooms behind it. One verb, one file.

mod account;
mod admin;
mod auth;
mod begin;
mod body;
mod contacts;
mod crawl;
mod credits;
mod data;
mod drain;
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
