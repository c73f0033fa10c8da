//! Endpoints that start crawls, those that observe and control them, and maps of sites.

pub(crate) mod crawl;
pub(crate) mod links;
pub(crate) mod list;
pub(crate) mod map;
pub(crate) mod skipped;
pub(crate) mod start;
mod status;
pub(crate) mod stored_pages;
