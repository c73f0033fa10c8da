//! The network layer: per-host politeness, egress control over which IP addresses may be dialled,
//! and HTTP, robots.txt and sitemaps on top of both.

pub mod egress;
pub mod fetch;
pub mod politeness;
pub mod robots;
pub mod sitemap;
mod turns;

pub use turns::{CpuTurn, CpuTurns};
