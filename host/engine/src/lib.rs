//! One page from plan to outcome, with everything it takes: page cache, routes, providers,
//! extraction, the language model, payment. And web searches, which find pages.

pub mod ai;
pub mod cache;
pub mod extract;
pub mod in_flight;
pub mod page;
pub mod page_budget;
pub mod providers;
pub mod routing;
pub mod scrape;
pub mod search;
