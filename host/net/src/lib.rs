//! The way out: when a host may be contacted, which IP addresses may be dialled, and HTTP on top of both.

pub mod egress;
pub mod fetch;
pub mod politeness;
pub mod robots;
pub mod sitemap;
