//! The five `/pipeline/…` endpoints: a crawl with an analyst for each page, or a crawl of the URLs
//! in a text. Deprecated.

pub(crate) mod endpoints;
mod responses;
mod result;
