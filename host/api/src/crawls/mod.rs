//! Endpoints that start crawls and batches, those that observe and control them, and maps of sites.

pub(crate) mod batch;
pub(crate) mod crawl;
pub(crate) mod links;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod map;
mod named;
pub(crate) mod skipped;
pub(crate) mod start;
mod status;
pub(crate) mod stored_pages;
