//! Endpoints that start crawls, and those that observe and control them.

pub(crate) mod crawl;
pub(crate) mod links;
pub(crate) mod list;
pub(crate) mod skipped;
pub(crate) mod start;
mod status;
pub(crate) mod stored_pages;
