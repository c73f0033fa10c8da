//! Tests at the rooms' front doors, one file a subject.
#![allow(
    clippy::unwrap_used,
    reason = "a test says what it expects and stops where it is not so"
)]

mod admin;
mod bundle;
mod cache;
mod crawl;
mod crawl_kill;
mod drain;
mod egress;
mod extraction;
mod fetch;
mod limits;
mod money;
mod outputs;
mod pipelines;
mod plugins;
mod providers;
mod reload;
mod render;
mod scrape;
mod site_manners;
mod surface;
mod unlimited;
