//! The HTTP interface. The only crate that uses axum, and the only one that knows status codes and
//! response headers.
//!
//! [`router`] builds the interface; [`Rooms`], [`Settings`] and [`Service`] are what it needs from
//! the server behind it. `router.rs` lists every route. `http/` handles what all requests share;
//! each other folder holds the endpoints of one kind.

mod account;
mod admin;
mod console;
mod crawls;
mod data;
mod http;
mod mcp;
mod openapi;
mod pages;
mod pipelines;
mod router;
mod service;
mod status;
mod unimplemented;
mod unlimited;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use crate::http::observe::{Served, loggable_path};
pub use crate::http::trace::TraceSettings;
pub use router::router;
pub use service::{
    Health, KeyDirectory, NewRun, Order, Outcomes, Rooms, Service, Settings, Snapshot,
};
pub use status::metrics::sample_metrics;

/// State that every handler receives.
#[derive(Clone)]
struct Api {
    service: Arc<dyn Service>,
    rooms: Arc<Rooms>,
    settings: Arc<Settings>,
    rate_limits: Arc<http::rate::RateLimits>,
    planning: Arc<http::planning::Planning>,
    queries: Arc<http::queries::Queries>,
    document: Arc<openapi::CurrentDocument>,
}
