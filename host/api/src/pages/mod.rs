//! Endpoints that return pages by their URLs or by a search, or transform HTML that the client
//! sends.

pub(crate) mod fetch;
mod reader;
pub(crate) mod scrape;
pub(crate) mod screenshot;
pub(crate) mod search;
pub(crate) mod transform;
pub(crate) mod unblocker;
