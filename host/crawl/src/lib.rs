//! Crawls: from a seed over links to the pages of a site, under caps, paid page by page, written down as they go.
//!
//! [`Crawls`] is the front door: it begins crawls, shows them, stops them, and takes up again what a stopped server left.
//! `run` is the loop of one crawl; `frontier` decides what comes next, `page` takes one page from its address to the caller,
//! `gate` judges redirects, `recorder` writes down.

mod desk;
mod events;
mod frontier;
mod gate;
mod job;
mod page;
pub mod pipeline;
mod recorder;
mod run;
mod start;
pub mod webhooks;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use desk::{
    AtEnd, CrawlError, CrawlHandle, CrawlView, Crawls, CrawlsParts, Ending, NewCrawl, Replan,
};
pub use frontier::{Counts, Frontier, Lease, Leased};
pub use job::CrawlProgress;

/// A lock whose holders never leave things half changed, so that a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
