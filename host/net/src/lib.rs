//! The network layer: per-host politeness, egress control over which IP addresses may be dialled,
//! and HTTP, robots.txt, sitemaps and signatures of requests on top of both.

pub mod egress;
pub mod fetch;
pub mod politeness;
pub mod robots;
pub mod signatures;
pub mod sitemap;
mod turns;

pub use turns::CpuTurns;
