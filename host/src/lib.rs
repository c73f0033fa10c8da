//! Trawl: one server that fetches, renders and crawls web pages and returns them in formats made by plugins.
//!
//! The rooms in reading order; each `mod.rs` is a room's front door.

pub mod clock;
pub mod config;
pub mod lru;
pub mod model;
pub mod plan;
pub mod secret;

pub mod politeness;

pub mod egress;

pub mod fetch;
pub mod render;
pub mod robots;
pub mod sitemap;

pub mod cache;
pub mod document;
pub mod plugins;
pub mod store;

pub mod webhooks;

pub mod ai;
pub mod billing;
pub mod extract;
pub mod providers;
pub mod routing;

pub mod crawl;
pub mod page;
pub mod pipeline;
pub mod scrape;

pub mod api;
pub mod app;
pub mod cli;
pub mod control;
pub mod telemetry;
